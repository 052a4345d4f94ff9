/* dgemm_avx512_inplace: f64, small products read where they are, AVX-512.
 *
 * C is cut into strips of 16 columns, 8 if it is tall, and those into blocks of at most 14 rows (20
 * for Y), as even as they come; each block lives in registers over the whole of k:
 *
 *      shape   columns   a row of B        accumulators      k step, rows = r
 *      Y        1 - 4     1 ymm             r ymm             r FMAs (half width)
 *      Z        5 - 8     1 zmm             r zmm             r FMAs
 *      ZY       9 - 12    1 zmm + 1 ymm     r zmm + r ymm     1.5 r
 *      YYY      9 - 12    3 ymm             3 r ymm           3 r FMAs (half width)
 *      ZZ      13 - 16    2 zmm             2 r zmm           2 r FMAs
 *
 * YYY takes the place of ZY where FMA units are 256 bits wide: there zmm and ymm instructions side
 * by side cost an eighth more than their share. Its blocks have at most 9 rows.
 *
 * FMAs wait while the 28 stores at the end of a ZZ block drain (60 to 80 cycles), not for the 14 of
 * Z; but short products lose more by starting twice as many strips.
 *
 * The last vector of a strip is masked, so nothing outside the operands is touched. Elements of A
 * are broadcast from wherever they are: row i is reached as base[i/5] + (i%5)*rs, which x86
 * addressing does with three or four pointers and two index registers. Bound by the FMA units from
 * 8 rows of ZZ on; by FMA latency when r is small. The smallest products cost little more than the
 * way here: pointers travel in registers, what a block needs of the rest it loads once, and alpha =
 * 1, beta = 0 is stored as it is, without a multiplication in the FMA units' way.
 */
#ifndef __AVX512VL__
#error "compile this file with -mavx512f -mavx512vl -mavx512bw -mavx512dq -mfma"
#endif
#include <immintrin.h>
#include "../../ukr.h"

enum { MR = 14, TALL = 20, NR = 16, VL = 8, HL = VL / 2, TALLEST_ZZ = 32, SHORT = 9 };
enum shape { Y, Z, ZY, ZZ };

struct args {
  int64_t k, rs_a, cs_a, rs_b, rs_c;
  double alpha, beta;
  __mmask8 last; /* columns of the last vector */
};

/* Offset of row i from base pointer i/5. */
static inline __attribute__((always_inline)) int64_t offset(const int i, int64_t rs, int64_t rs3)
{
  return i % 5 == 3 ? rs3 : (i % 5) * rs;
}

/* What becomes of the sums. */
enum scaling { PLAIN, ALPHA, ALPHA_BETA };

static inline __attribute__((always_inline)) void
store_zmm(double *c, __m512d r, __mmask8 mask, const enum scaling s, const struct args *x)
{
  const __m512d alpha = _mm512_set1_pd(x->alpha), beta = _mm512_set1_pd(x->beta);
  if (s == ALPHA) r = _mm512_mul_pd(alpha, r);
  if (s == ALPHA_BETA)
    r = _mm512_fmadd_pd(alpha, r, _mm512_mul_pd(beta, _mm512_maskz_loadu_pd(mask, c)));
  _mm512_mask_storeu_pd(c, mask, r);
}

static inline __attribute__((always_inline)) void
store_ymm(double *c, __m256d r, __mmask8 mask, const enum scaling s, const struct args *x)
{
  const __m256d alpha = _mm256_set1_pd(x->alpha), beta = _mm256_set1_pd(x->beta);
  if (s == ALPHA) r = _mm256_mul_pd(alpha, r);
  if (s == ALPHA_BETA)
    r = _mm256_fmadd_pd(alpha, r, _mm256_mul_pd(beta, _mm256_maskz_loadu_pd(mask, c)));
  _mm256_mask_storeu_pd(c, mask, r);
}

struct sums {
  __m512d z[MR], z2[MR];
  __m256d y[TALL];
};

static inline __attribute__((always_inline)) void store(const int rows, const enum shape s,
                                                        const enum scaling scaling, double *c,
                                                        const struct sums *t, const struct args *x)
{
  const __mmask8 m0 = s == Z ? x->last : (__mmask8)0xff;
  const int64_t rs = x->rs_c;
#pragma GCC unroll 20
  for (int i = 0; i < rows; i++, c += rs) {
    if (s != Y) store_zmm(c, t->z[i], m0, scaling, x);
    if (s == ZZ) store_zmm(c + VL, t->z2[i], x->last, scaling, x);
    if (s == Y || s == ZY)
      store_ymm(c + (s == ZY ? VL : 0), t->y[i], (__mmask8)x->last, scaling, x);
  }
}

static inline __attribute__((always_inline)) void store_scaled(const int rows, const enum shape s,
                                                               double *c, const struct sums *t,
                                                               const struct args *x)
{
  if (x->beta != 0)
    store(rows, s, ALPHA_BETA, c, t, x);
  else if (x->alpha != 1)
    store(rows, s, ALPHA, c, t, x);
  else
    store(rows, s, PLAIN, c, t, x);
}

static inline __attribute__((always_inline)) void block(const int rows, const enum shape s,
                                                        const struct args *x, const double *a0,
                                                        const double *b, double *c)
{
  const int has_z = s != Y, has_y = s == Y || s == ZY, has_z2 = s == ZZ;
  const __mmask8 m0 = s == Z ? x->last : (__mmask8)0xff, m1 = x->last;
  const __mmask8 my = (__mmask8)x->last;
  const int y_at = s == ZY ? VL : 0;
  struct sums t;
#pragma GCC unroll 20
  for (int i = 0; i < rows; i++) {
    if (has_z) t.z[i] = _mm512_setzero_pd();
    if (has_z2) t.z2[i] = _mm512_setzero_pd();
    if (has_y) t.y[i] = _mm256_setzero_pd();
  }
  const int64_t rs = x->rs_a, rs3 = 3 * rs, cs = x->cs_a, rs_b = x->rs_b;
  const double *a[4] = {a0, a0 + 5 * rs, a0 + 10 * rs, a0 + 15 * rs};
#pragma GCC unroll 1
  for (int64_t p = x->k; p > 0; p--) {
    __m512d bz, bz2;
    __m256d by;
    if (has_z) bz = _mm512_maskz_loadu_pd(m0, b);
    if (has_z2) bz2 = _mm512_maskz_loadu_pd(m1, b + VL);
    if (has_y) by = _mm256_maskz_loadu_pd(my, b + y_at);
#pragma GCC unroll 20
    for (int i = 0; i < rows; i++) {
      const double *ai = a[i / 5] + offset(i, rs, rs3);
      if (has_z) {
        const __m512d v = _mm512_set1_pd(*ai);
        t.z[i] = _mm512_fmadd_pd(v, bz, t.z[i]);
        if (has_z2) t.z2[i] = _mm512_fmadd_pd(v, bz2, t.z2[i]);
        if (has_y) t.y[i] = _mm256_fmadd_pd(_mm512_castpd512_pd256(v), by, t.y[i]);
      } else {
        t.y[i] = _mm256_fmadd_pd(_mm256_set1_pd(*ai), by, t.y[i]);
      }
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) a[i] += cs;
    b += rs_b;
  }
  store_scaled(rows, s, c, &t, x);
}

/* Three ymm. */
static inline __attribute__((always_inline)) void
yyy_block(const int rows, const struct args *x, const double *a0, const double *b, double *c)
{
  const __mmask8 all = (__mmask8)0xf, last = (__mmask8)x->last;
  const int64_t rs = x->rs_a, rs3 = 3 * rs, cs = x->cs_a, rs_b = x->rs_b;
  const double *a[2] = {a0, a0 + 5 * rs};
  __m256d t[SHORT][3];
#pragma GCC unroll 9
  for (int i = 0; i < rows; i++) t[i][0] = t[i][1] = t[i][2] = _mm256_setzero_pd();
#pragma GCC unroll 1
  for (int64_t p = x->k; p > 0; p--, b += rs_b) {
    const __m256d v[3] = {_mm256_loadu_pd(b), _mm256_loadu_pd(b + HL),
                          _mm256_maskz_loadu_pd(last, b + VL)};
#pragma GCC unroll 9
    for (int i = 0; i < rows; i++) {
      const __m256d ai = _mm256_set1_pd(*(a[i / 5] + offset(i, rs, rs3)));
#pragma GCC unroll 3
      for (int j = 0; j < 3; j++) t[i][j] = _mm256_fmadd_pd(ai, v[j], t[i][j]);
    }
    a[0] += cs, a[1] += cs;
  }
#define STORE(scaling)                                                                             \
  _Pragma("GCC unroll 9") for (int i = 0; i < rows; i++)                                           \
      _Pragma("GCC unroll 3") for (int j = 0; j < 3; j++)                                          \
          store_ymm(c + i * x->rs_c + j * HL, t[i][j], j == 2 ? last : all, scaling, x)
  if (x->beta != 0)
    STORE(ALPHA_BETA);
  else if (x->alpha != 1)
    STORE(ALPHA);
  else
    STORE(PLAIN);
#undef STORE
}

/* Blocks of `least` to `most` rows. */
static inline __attribute__((always_inline)) void rows_of(const enum shape s, const int least,
                                                          const int most, int64_t rows,
                                                          const struct args *x, const double *a,
                                                          const double *b, double *c)
{
#define CASE(r)                                                                                    \
  case r:                                                                                          \
    if ((r) >= least && (r) <= most) block(r, s, x, a, b, c);                                      \
    break;
#define FOUR(r) CASE(r) CASE((r) + 1) CASE((r) + 2) CASE((r) + 3)
  switch (rows) {
    FOUR(1)
    FOUR(5)
    FOUR(9)
    FOUR(13)
    FOUR(17)
  }
#undef FOUR
#undef CASE
}

typedef void shape_fn(int64_t rows, const struct args *x, const double *a, const double *b,
                      double *c);

#define SHAPE(name, s, least, most)                                                                \
  static __attribute__((noinline)) void name(int64_t rows, const struct args *x, const double *a,  \
                                             const double *b, double *c)                           \
  {                                                                                                \
    rows_of(s, least, most, rows, x, a, b, c);                                                     \
  }
SHAPE(shape_y_few, Y, 1, 4) /* with few registers to save */
SHAPE(shape_y_many, Y, 5, TALL)
SHAPE(shape_z, Z, 1, MR)
SHAPE(shape_z_y, ZY, 1, MR)
SHAPE(shape_zz, ZZ, 1, MR)
#undef SHAPE

static __attribute__((noinline)) void shape_yyy(int64_t rows, const struct args *x, const double *a,
                                                const double *b, double *c)
{
#define CASE(r)                                                                                    \
  case r:                                                                                          \
    yyy_block(r, x, a, b, c);                                                                      \
    break;
  switch (rows) {
    CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8) CASE(9)
  }
#undef CASE
}

static void shape_y(int64_t rows, const struct args *x, const double *a, const double *b, double *c)
{
  (rows <= 4 ? shape_y_few : shape_y_many)(rows, x, a, b, c);
}

/* One strip: blocks of rows as even as they come, so that none is left with a row or two. */
static inline void strip(int64_t m, int64_t mr, shape_fn *fn, const struct args *x, const double *a,
                         const double *b, double *c)
{
  int64_t blocks = (m + mr - 1) / mr;
  for (; m > mr; blocks--) {
    /* in 32 bits, where division is quick, whenever that will do */
    const int64_t rows = m <= UINT32_MAX ? (uint32_t)(m + blocks - 1) / (uint32_t)blocks : mr;
    fn(rows, x, a, b, c);
    a += rows * x->rs_a;
    c += rows * x->rs_c;
    m -= rows;
  }
  fn(m, x, a, b, c);
}

/* Any number of rows. */
static void shape_zy(int64_t m, const struct args *x, const double *a, const double *b, double *c)
{
  if (atomic_load_explicit(&xg_ukr_half_units, memory_order_relaxed))
    strip(m, SHORT, shape_yyy, x, a, b, c);
  else
    strip(m, MR, shape_z_y, x, a, b, c);
}

/* The last strip, n <= NR, has its own shape; sets the mask of its last vector. */
static inline enum shape last_shape(int64_t n, struct args *x)
{
  const unsigned s = (unsigned)(n - 1) / HL, width = s % 2 ? VL : HL;
  x->last = (__mmask8)(((1u << width) - 1) >> (HL * (s + 1) - (unsigned)n));
  return s;
}

static shape_fn *const shapes[] = {shape_y, shape_z, shape_zy, shape_zz};

static __attribute__((noinline)) void strips(int64_t m, int64_t n, struct args *x, const double *a,
                                             const double *b, double *c)
{
  const int64_t step = m > TALLEST_ZZ ? VL : NR;
  for (; n > step; n -= step) {
    strip(m, MR, step == NR ? shape_zz : shape_z, x, a, b, c);
    b += step;
    c += step;
  }
  const enum shape s = last_shape(n, x);
  strip(m, s == Y ? TALL : s == ZY ? m : MR, shapes[s], x, a, b, c);
}

/* ---------------------------------------------------------------- few rows
 *
 * Strips of four vectors: so few rows leave registers for them, and one row of A keeps the FMA
 * units busy. The strips follow one another without a call between them, which at a k of two or
 * three would cost more than the strip. */

enum { FEW = 4, WIDE = 4 };

/* The last vector is masked, unless the strip is whole. `plain`: alpha = 1, beta = 0. */
static inline __attribute__((always_inline)) void wide_block(const int rows, const int vectors,
                                                             const int whole, const int plain,
                                                             const struct args *x, const double *a,
                                                             const double *b, double *c)
{
  const __mmask8 all = (__mmask8)0xff, last = whole ? all : x->last;
  const int64_t rs = x->rs_a;
  __m512d t[FEW][WIDE], v[WIDE];
#pragma GCC unroll 4
  for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
    for (int j = 0; j < vectors; j++) t[i][j] = _mm512_setzero_pd();
#pragma GCC unroll 1
  for (int64_t p = x->k; p > 0; p--, a += x->cs_a, b += x->rs_b) {
#pragma GCC unroll 4
    for (int j = 0; j < vectors; j++) {
      v[j] = _mm512_maskz_loadu_pd(j == vectors - 1 ? last : all, b + j * VL);
      __asm__("" : "+v"(v[j])); /* once, not again by the FMAs of each row */
    }
#pragma GCC unroll 4
    for (int i = 0; i < rows; i++) {
      const __m512d ai = _mm512_set1_pd(a[i * rs]);
#pragma GCC unroll 4
      for (int j = 0; j < vectors; j++) t[i][j] = _mm512_fmadd_pd(ai, v[j], t[i][j]);
    }
  }
#define STORE(scaling)                                                                             \
  _Pragma("GCC unroll 4") for (int i = 0; i < rows; i++)                                           \
      _Pragma("GCC unroll 4") for (int j = 0; j < vectors; j++)                                    \
          store_zmm(c + i * x->rs_c + j * VL, t[i][j], j == vectors - 1 ? last : all, scaling, x)
  if (plain)
    STORE(PLAIN);
  else if (x->beta != 0)
    STORE(ALPHA_BETA);
  else if (x->alpha != 1)
    STORE(ALPHA);
  else
    STORE(PLAIN);
#undef STORE
}

static inline __attribute__((always_inline)) void wide_strips(const int rows, int64_t n,
                                                              const struct args *x, const double *a,
                                                              const double *b, double *c)
{
#pragma GCC unroll 1
  for (; n >= WIDE * VL; n -= WIDE * VL, b += WIDE * VL, c += WIDE * VL)
    wide_block(rows, WIDE, 1, 0, x, a, b, c);
  if (n > 3 * VL)
    wide_block(rows, 4, 0, 0, x, a, b, c);
  else if (n > 2 * VL)
    wide_block(rows, 3, 0, 0, x, a, b, c);
  else if (n > VL)
    wide_block(rows, 2, 0, 0, x, a, b, c);
  else if (n > 0)
    wide_block(rows, 1, 0, 0, x, a, b, c);
}

static __attribute__((noinline)) void few_rows(int64_t m, int64_t n, struct args *x,
                                               const double *a, const double *b, double *c)
{
  x->last = (__mmask8)((__mmask8)0xff >> (-n & (VL - 1)));
  if (m == 1)
    wide_strips(1, n, x, a, b, c);
  else if (m == 2)
    wide_strips(2, n, x, a, b, c);
  else if (m == 3)
    wide_strips(3, n, x, a, b, c);
  else
    wide_strips(4, n, x, a, b, c);
}

/* Where k is short and rows are long, FMAs wait for stores, and the longer the more of them follow
 * one another at the end of a strip: strips of one or two vectors, then, of which several are under
 * way at a time. */
enum { SHORT_K = 4, LONG_N = 16 * VL, LEAST_K_4 = 1 };

static inline int is_brief(int64_t m, int64_t n, const struct args *x)
{
  return x->k <= SHORT_K && n >= LONG_N && x->alpha == 1 && x->beta == 0 && m > 1 &&
         (m < 4 || x->k >= LEAST_K_4);
}

static inline __attribute__((always_inline)) void brief(const int rows, const int vectors,
                                                        int64_t n, const struct args *given,
                                                        const double *a, const double *b, double *c)
{
  struct args copy = *given, *x = &copy; /* in registers: C might alias *given */
#pragma GCC unroll 1
  for (; n > vectors * VL; n -= vectors * VL, b += vectors * VL, c += vectors * VL)
    wide_block(rows, vectors, 1, 1, x, a, b, c);
  x->last = (__mmask8)((__mmask8)0xff >> (-n & (VL - 1)));
  if (n <= VL)
    wide_block(rows, 1, 0, 1, x, a, b, c);
  else
    wide_block(rows, vectors, 0, 1, x, a, b, c);
}

/* Each by itself: together they would keep counters in vector registers. */
#define BRIEF(name, rows, vectors)                                                                 \
  static __attribute__((noinline)) void name(int64_t n, const struct args *x, const double *a,     \
                                             const double *b, double *c)                           \
  {                                                                                                \
    brief(rows, vectors, n, x, a, b, c);                                                           \
  }
BRIEF(brief_2, 2, 2)
BRIEF(brief_3, 3, 1)
BRIEF(brief_4, 4, 1)
#undef BRIEF

/* A single block goes straight to its shape: the way there is half of what the smallest cost. */
static void kernel(int64_t m, int64_t n, int64_t k, const void *alpha, const void *a, int64_t rs_a,
                   int64_t cs_a, const void *b, int64_t rs_b, const void *beta, void *c,
                   int64_t rs_c)
{
  struct args x = {k, rs_a, cs_a, rs_b, rs_c, *(const double *)alpha, *(const double *)beta, 0xff};
  if (m <= MR && n <= NR)
    shapes[last_shape(n, &x)](m, &x, a, b, c);
  else if (m <= FEW && is_brief(m, n, &x))
    (m == 2 ? brief_2 : m == 3 ? brief_3 : brief_4)(n, &x, a, b, c);
  else if (m <= FEW)
    few_rows(m, n, &x, a, b, c);
  else
    strips(m, n, &x, a, b, c);
}

#include "dinplace_turn.h"
#include "dinplace_dot.h"

const struct xg_ukr dgemm_avx512_inplace = {
    .name = "dgemm_avx512_inplace",
    .isa = XG_ISA_AVX512,
    .kind = XG_UKR_INPLACE,
    .type = 'd',
    .mr = MR,
    .nr = NR,
    .flags = XG_UKR_MASKED,
    .priority = 10,
    .inplace = kernel,
    .turned = turned,
    .dot = dot,
};
