/* dgemm_avx512_inplace: f64, small products read where they are, AVX-512.
 *
 * C is cut into strips of 16 columns, 8 if it is tall, and those into blocks of at most 14 rows (20
 * for Y), as even as they come; each block lives in registers over the whole of k:
 *
 *      shape   columns   a row of B        accumulators      k step, rows = r
 *      Y        1 - 4     1 ymm             r ymm             r FMAs (half width)
 *      Z        5 - 8     1 zmm             r zmm             r FMAs
 *      ZY       9 - 12    1 zmm + 1 ymm     r zmm + r ymm     1.5 r
 *      ZZ      13 - 16    2 zmm             2 r zmm           2 r FMAs
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

enum { MR = 14, TALL = 20, NR = 16, VL = 8, HL = VL / 2, TALLEST_ZZ = 32 };
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
SHAPE(shape_zy, ZY, 1, MR)
SHAPE(shape_zz, ZZ, 1, MR)
#undef SHAPE

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
  strip(m, s == Y ? TALL : MR, shapes[s], x, a, b, c);
}

/* ---------------------------------------------------------------- few rows
 *
 * Strips of four vectors: so few rows leave registers for them, and one row of A keeps the FMA
 * units busy. The strips follow one another without a call between them, which at a k of two or
 * three would cost more than the strip. */

enum { FEW = 4, WIDE = 4 };

/* The last vector is masked, unless the strip is whole. */
static inline __attribute__((always_inline)) void wide_block(const int rows, const int vectors,
                                                             const int whole, const struct args *x,
                                                             const double *a, const double *b,
                                                             double *c)
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
  if (x->beta != 0)
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
    wide_block(rows, WIDE, 1, x, a, b, c);
  if (n > 3 * VL)
    wide_block(rows, 4, 0, x, a, b, c);
  else if (n > 2 * VL)
    wide_block(rows, 3, 0, x, a, b, c);
  else if (n > VL)
    wide_block(rows, 2, 0, x, a, b, c);
  else if (n > 0)
    wide_block(rows, 1, 0, x, a, b, c);
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

/* A single block goes straight to its shape: the way there is half of what the smallest cost. */
static void kernel(int64_t m, int64_t n, int64_t k, const void *alpha, const void *a, int64_t rs_a,
                   int64_t cs_a, const void *b, int64_t rs_b, const void *beta, void *c,
                   int64_t rs_c)
{
  struct args x = {k, rs_a, cs_a, rs_b, rs_c, *(const double *)alpha, *(const double *)beta, 0xff};
  if (m <= MR && n <= NR)
    shapes[last_shape(n, &x)](m, &x, a, b, c);
  else if (m <= FEW)
    few_rows(m, n, &x, a, b, c);
  else
    strips(m, n, &x, a, b, c);
}

#include "dinplace_turn.h"

/* While a block computes, the next strip of B is turned by loads and stores of single elements:
 * they take nothing from the FMA units, whereas shuffles do, wherever in the loop they are. A block
 * turns `columns` of them, one element of each in a step. */
typedef uint64_t __attribute__((may_alias)) bits;

static inline __attribute__((always_inline)) void
turning(const int rows, const int columns, const struct args *x, const double *a0, const double *b,
        double *to, const double *from, int64_t cs_b, double *c)
{
  struct sums t;
#pragma GCC unroll 14
  for (int i = 0; i < rows; i++) t.z[i] = _mm512_setzero_pd();
  /* In bytes, and hidden in the loop, or multiples of them would take the registers it needs. */
  enum { SIZE = sizeof(double) };
  int64_t rs = x->rs_a * SIZE, rs3 = 3 * rs, ld = cs_b * SIZE, ld3 = 3 * ld;
  const int64_t cs = x->cs_a * SIZE;
  const char *a[3] = {(const char *)a0, (const char *)a0 + 5 * rs, (const char *)a0 + 10 * rs};
  const char *q[2] = {(const char *)from, (const char *)from + 4 * ld};
#pragma GCC unroll 1
  for (int64_t p = x->k; p > 0; p--, b += VL, to += VL) {
    __asm__("" : "+r"(rs), "+r"(rs3), "+r"(ld), "+r"(ld3));
    const __m512d bz = _mm512_load_pd(b);
#pragma GCC unroll 14
    for (int i = 0; i < rows; i++) {
      const double *ai = (const double *)(a[i / 5] + offset(i, rs, rs3));
      t.z[i] = _mm512_fmadd_pd(_mm512_set1_pd(*ai), bz, t.z[i]);
    }
#pragma GCC unroll 8
    for (int j = 0; j < columns; j++) {
      bits e = *(const bits *)(q[j / 4] + (j % 4 == 3 ? ld3 : j % 4 * ld));
      __asm__("" : "+r"(e)); /* not through vectors */
      *(bits *)(to + j) = e;
    }
    q[0] += SIZE, q[1] += SIZE;
    a[0] += cs, a[1] += cs, a[2] += cs;
  }
  store_scaled(rows, Z, c, &t, x);
}

typedef void turning_fn(int64_t rows, const struct args *x, const double *a, const double *b,
                        double *to, const double *from, int64_t cs_b, double *c);

#define CASE(r, columns)                                                                           \
  case r:                                                                                          \
    turning(r, columns, x, a, b, to, from, cs_b, c);                                               \
    break;
#define SEVEN(r, n)                                                                                \
  CASE(r, n)                                                                                       \
  CASE(r + 1, n) CASE(r + 2, n) CASE(r + 3, n) CASE(r + 4, n) CASE(r + 5, n) CASE(r + 6, n)
#define TURNING(name, columns)                                                                     \
  static __attribute__((noinline)) void name(int64_t rows, const struct args *x, const double *a,  \
                                             const double *b, double *to, const double *from,      \
                                             int64_t cs_b, double *c)                              \
  {                                                                                                \
    switch (rows) {                                                                                \
      SEVEN(1, columns)                                                                            \
      SEVEN(8, columns)                                                                            \
    }                                                                                              \
  }
TURNING(turning_quarter, VL / 4)
TURNING(turning_half, HL)
#undef TURNING
#undef SEVEN
#undef CASE

/* A strip whose copy is at b, and meanwhile a copy of the next one, `from`. */
static void turning_strip(int64_t m, const struct args *x, const double *a, const double *b,
                          double *to, const double *from, int64_t cs_b, double *c)
{
  const int64_t blocks = (m + MR - 1) / MR, step = blocks < 4 ? HL : VL / 4;
  turning_fn *fn = blocks < 4 ? turning_half : turning_quarter;
  for (int64_t j = 0; j < VL; j += step) {
    const int64_t left = blocks - j / step, rows = (m + left - 1) / left;
    fn(rows, x, a, b, to + j, from + j * cs_b, cs_b, c);
    a += rows * x->rs_a;
    c += rows * x->rs_c;
    m -= rows;
  }
  if (m > 0) strip(m, MR, shape_z, x, a, b, c);
}

/* Blocks of fewer rows would be over before so many stores are through. */
enum { LEAST_AHEAD = 20 };

/* The contract's `turned`. */
static void turned(int64_t m, int64_t n, int64_t k, const void *alpha, const void *a, int64_t rs_a,
                   int64_t cs_a, const void *b_p, int64_t cs_b, const void *beta, void *c_p,
                   int64_t rs_c)
{
  _Alignas(64) double copies[2][XG_RUN * VL];
  struct args x = {k, rs_a, cs_a, VL, rs_c, *(const double *)alpha, *(const double *)beta, 0xff};
  const double *b = b_p;
  double *c = c_p;
  int now = 0;
  const int ahead = m >= LEAST_AHEAD;
  if (ahead && n >= VL) turn(VL, VL, k, b, cs_b, copies[now]);
  for (; n >= VL; n -= VL, b += VL * cs_b, c += VL, now ^= ahead) {
    if (!ahead) turn(VL, VL, k, b, cs_b, copies[now]);
    if (ahead && n >= 2 * VL)
      turning_strip(m, &x, a, copies[now], copies[!now], b + VL * cs_b, cs_b, c);
    else
      strip(m, MR, shape_z, &x, a, copies[now], c);
  }
  if (n == 0) return;
  const enum shape s = last_shape(n, &x);
  x.rs_b = s == Y ? HL : VL;
  turn(x.rs_b, n, k, b, cs_b, copies[now]);
  strip(m, s == Y ? TALL : MR, shapes[s], &x, a, copies[now], c);
}

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
