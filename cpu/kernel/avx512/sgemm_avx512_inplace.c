/* sgemm_avx512_inplace: f32, small products read where they are, AVX-512.
 *
 * C is cut into strips of 32 columns, 16 if it is tall, and those into blocks of at most 14 rows
 * (20 for Y), as even as they come; each block lives in registers over the whole of k:
 *
 *      shape   columns   a row of B        accumulators      k step, rows = r
 *      Y        1 - 8     1 ymm             r ymm             r FMAs (half width)
 *      Z        9 - 16    1 zmm             r zmm             r FMAs
 *      ZY      17 - 24    1 zmm + 1 ymm     r zmm + r ymm     1.5 r
 *      ZZ      25 - 32    2 zmm             2 r zmm           2 r FMAs
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

enum { MR = 14, TALL = 20, NR = 32, VL = 16, HL = VL / 2, TALLEST_ZZ = 32 };
enum shape { Y, Z, ZY, ZZ };

struct args {
  int64_t k, rs_a, cs_a, rs_b, rs_c;
  float alpha, beta;
  __mmask16 last; /* columns of the last vector */
};

/* Offset of row i from base pointer i/5. */
static inline __attribute__((always_inline)) int64_t offset(const int i, int64_t rs, int64_t rs3)
{
  return i % 5 == 3 ? rs3 : (i % 5) * rs;
}

/* What becomes of the sums. */
enum scaling { PLAIN, ALPHA, ALPHA_BETA };

static inline __attribute__((always_inline)) void
store_zmm(float *c, __m512 r, __mmask16 mask, const enum scaling s, const struct args *x)
{
  const __m512 alpha = _mm512_set1_ps(x->alpha), beta = _mm512_set1_ps(x->beta);
  if (s == ALPHA) r = _mm512_mul_ps(alpha, r);
  if (s == ALPHA_BETA)
    r = _mm512_fmadd_ps(alpha, r, _mm512_mul_ps(beta, _mm512_maskz_loadu_ps(mask, c)));
  _mm512_mask_storeu_ps(c, mask, r);
}

static inline __attribute__((always_inline)) void
store_ymm(float *c, __m256 r, __mmask8 mask, const enum scaling s, const struct args *x)
{
  const __m256 alpha = _mm256_set1_ps(x->alpha), beta = _mm256_set1_ps(x->beta);
  if (s == ALPHA) r = _mm256_mul_ps(alpha, r);
  if (s == ALPHA_BETA)
    r = _mm256_fmadd_ps(alpha, r, _mm256_mul_ps(beta, _mm256_maskz_loadu_ps(mask, c)));
  _mm256_mask_storeu_ps(c, mask, r);
}

struct sums {
  __m512 z[MR], z2[MR];
  __m256 y[TALL];
};

static inline __attribute__((always_inline)) void store(const int rows, const enum shape s,
                                                        const enum scaling scaling, float *c,
                                                        const struct sums *t, const struct args *x)
{
  const __mmask16 m0 = s == Z ? x->last : (__mmask16)0xffff;
  const int64_t rs = x->rs_c;
#pragma GCC unroll 20
  for (int i = 0; i < rows; i++, c += rs) {
    if (s != Y) store_zmm(c, t->z[i], m0, scaling, x);
    if (s == ZZ) store_zmm(c + VL, t->z2[i], x->last, scaling, x);
    if (s == Y || s == ZY)
      store_ymm(c + (s == ZY ? VL : 0), t->y[i], (__mmask8)x->last, scaling, x);
  }
}

static inline __attribute__((always_inline)) void block(const int rows, const enum shape s,
                                                        const struct args *x, const float *a0,
                                                        const float *b, float *c)
{
  const int has_z = s != Y, has_y = s == Y || s == ZY, has_z2 = s == ZZ;
  const __mmask16 m0 = s == Z ? x->last : (__mmask16)0xffff, m1 = x->last;
  const __mmask8 my = (__mmask8)x->last;
  const int y_at = s == ZY ? VL : 0;
  struct sums t;
#pragma GCC unroll 20
  for (int i = 0; i < rows; i++) {
    if (has_z) t.z[i] = _mm512_setzero_ps();
    if (has_z2) t.z2[i] = _mm512_setzero_ps();
    if (has_y) t.y[i] = _mm256_setzero_ps();
  }
  const int64_t rs = x->rs_a, rs3 = 3 * rs, cs = x->cs_a, rs_b = x->rs_b;
  const float *a[4] = {a0, a0 + 5 * rs, a0 + 10 * rs, a0 + 15 * rs};
#pragma GCC unroll 1
  for (int64_t p = x->k; p > 0; p--) {
    __m512 bz, bz2;
    __m256 by;
    if (has_z) bz = _mm512_maskz_loadu_ps(m0, b);
    if (has_z2) bz2 = _mm512_maskz_loadu_ps(m1, b + VL);
    if (has_y) by = _mm256_maskz_loadu_ps(my, b + y_at);
#pragma GCC unroll 20
    for (int i = 0; i < rows; i++) {
      const float *ai = a[i / 5] + offset(i, rs, rs3);
      if (has_z) {
        const __m512 v = _mm512_set1_ps(*ai);
        t.z[i] = _mm512_fmadd_ps(v, bz, t.z[i]);
        if (has_z2) t.z2[i] = _mm512_fmadd_ps(v, bz2, t.z2[i]);
        if (has_y) t.y[i] = _mm256_fmadd_ps(_mm512_castps512_ps256(v), by, t.y[i]);
      } else {
        t.y[i] = _mm256_fmadd_ps(_mm256_set1_ps(*ai), by, t.y[i]);
      }
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) a[i] += cs;
    b += rs_b;
  }
  if (x->beta != 0)
    store(rows, s, ALPHA_BETA, c, &t, x);
  else if (x->alpha != 1)
    store(rows, s, ALPHA, c, &t, x);
  else
    store(rows, s, PLAIN, c, &t, x);
}

/* Blocks of `least` to `most` rows. */
static inline __attribute__((always_inline)) void rows_of(const enum shape s, const int least,
                                                          const int most, int64_t rows,
                                                          const struct args *x, const float *a,
                                                          const float *b, float *c)
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

typedef void shape_fn(int64_t rows, const struct args *x, const float *a, const float *b, float *c);

#define SHAPE(name, s, least, most)                                                                \
  static __attribute__((noinline)) void name(int64_t rows, const struct args *x, const float *a,   \
                                             const float *b, float *c)                             \
  {                                                                                                \
    rows_of(s, least, most, rows, x, a, b, c);                                                     \
  }
SHAPE(shape_y_few, Y, 1, 4) /* with few registers to save */
SHAPE(shape_y_many, Y, 5, TALL)
SHAPE(shape_z, Z, 1, MR)
SHAPE(shape_zy, ZY, 1, MR)
SHAPE(shape_zz, ZZ, 1, MR)
#undef SHAPE

static void shape_y(int64_t rows, const struct args *x, const float *a, const float *b, float *c)
{
  (rows <= 4 ? shape_y_few : shape_y_many)(rows, x, a, b, c);
}

/* One strip: blocks of rows as even as they come, so that none is left with a row or two. */
static inline void strip(int64_t m, int64_t mr, shape_fn *fn, const struct args *x, const float *a,
                         const float *b, float *c)
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
  x->last = (__mmask16)(((1u << width) - 1) >> (HL * (s + 1) - (unsigned)n));
  return s;
}

static shape_fn *const shapes[] = {shape_y, shape_z, shape_zy, shape_zz};

static __attribute__((noinline)) void strips(int64_t m, int64_t n, struct args *x, const float *a,
                                             const float *b, float *c)
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

/* A single block goes straight to its shape: the way there is half of what the smallest cost. */
static void kernel(int64_t m, int64_t n, int64_t k, const void *alpha, const void *a, int64_t rs_a,
                   int64_t cs_a, const void *b, int64_t rs_b, const void *beta, void *c,
                   int64_t rs_c)
{
  struct args x = {k, rs_a, cs_a, rs_b, rs_c, *(const float *)alpha, *(const float *)beta, 0xffff};
  if (m <= MR && n <= NR)
    shapes[last_shape(n, &x)](m, &x, a, b, c);
  else
    strips(m, n, &x, a, b, c);
}

/* ---------------------------------------------------------------- B that lies along k
 *
 * A piece of 16 rows and 4 steps of k, turned: a vector gathers the 128-bit pieces of rows s, s+4,
 * ... by loads that merge a lane each, then 4 x 4 squares are turned within the lanes. The shuffles
 * across lanes that turning a whole square of registers would need are spared. */

enum { E = 16 / sizeof(float) };

static inline __attribute__((always_inline)) __m512 gather_zmm(const float *src, int64_t is)
{
  __m512 r = _mm512_castps128_ps512(_mm_loadu_ps(src));
  r = _mm512_mask_broadcast_f32x4(r, 0xf << 4, _mm_loadu_ps(src + E * is));
  r = _mm512_mask_broadcast_f32x4(r, 0xf << 8, _mm_loadu_ps(src + 2 * E * is));
  return _mm512_mask_broadcast_f32x4(r, 0xf << 12, _mm_loadu_ps(src + 3 * E * is));
}

static inline __attribute__((always_inline)) __m256 gather_ymm(const float *src, int64_t is)
{
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(src)), _mm_loadu_ps(src + E * is),
                              1);
}

static inline __attribute__((always_inline)) void turn_zmm(int64_t width, const float *src,
                                                           int64_t is, float *dst)
{
  __m512 r[4], t[4];
#pragma GCC unroll 4
  for (int s = 0; s < 4; s++) r[s] = gather_zmm(src + s * is, is);
  t[0] = _mm512_unpacklo_ps(r[0], r[1]), t[1] = _mm512_unpackhi_ps(r[0], r[1]);
  t[2] = _mm512_unpacklo_ps(r[2], r[3]), t[3] = _mm512_unpackhi_ps(r[2], r[3]);
#pragma GCC unroll 2
  for (int h = 0; h < 2; h++) {
    const __m512d lo = _mm512_castps_pd(t[h]), hi = _mm512_castps_pd(t[2 + h]);
    _mm512_storeu_pd(dst + 2 * h * width, _mm512_unpacklo_pd(lo, hi));
    _mm512_storeu_pd(dst + (2 * h + 1) * width, _mm512_unpackhi_pd(lo, hi));
  }
}

static inline __attribute__((always_inline)) void turn_ymm(int64_t width, const float *src,
                                                           int64_t is, float *dst)
{
  __m256 r[4], t[4];
#pragma GCC unroll 4
  for (int s = 0; s < 4; s++) r[s] = gather_ymm(src + s * is, is);
  t[0] = _mm256_unpacklo_ps(r[0], r[1]), t[1] = _mm256_unpackhi_ps(r[0], r[1]);
  t[2] = _mm256_unpacklo_ps(r[2], r[3]), t[3] = _mm256_unpackhi_ps(r[2], r[3]);
#pragma GCC unroll 2
  for (int h = 0; h < 2; h++) {
    const __m256d lo = _mm256_castps_pd(t[h]), hi = _mm256_castps_pd(t[2 + h]);
    _mm256_storeu_pd((double *)(dst + 2 * h * width), _mm256_unpacklo_pd(lo, hi));
    _mm256_storeu_pd((double *)(dst + (2 * h + 1) * width), _mm256_unpackhi_pd(lo, hi));
  }
}

/* The first E steps of a row, or as many as the mask says. */
static inline __m128 part_of_row(__mmask8 mask, const float *row, int here)
{
  return _mm_maskz_loadu_ps(here ? mask : 0, row);
}

/* Half a vector of rows, E steps, or as many of both as there are; zeros for rows that are not. */
static __attribute__((noinline)) void turn_part(int64_t width, int64_t rows, int64_t steps,
                                                const float *src, int64_t is, float *dst)
{
  const __mmask8 mask = steps >= E ? (1u << E) - 1 : (__mmask8)((1u << steps) - 1);
  __m256 r[E], t[4];
#pragma GCC unroll 4
  for (int s = 0; s < E; s++)
    r[s] = _mm256_insertf128_ps(_mm256_castps128_ps256(part_of_row(mask, src + s * is, s < rows)),
                                part_of_row(mask, src + (s + E) * is, s + E < rows), 1);
  t[0] = _mm256_unpacklo_ps(r[0], r[1]), t[1] = _mm256_unpackhi_ps(r[0], r[1]);
  t[2] = _mm256_unpacklo_ps(r[2], r[3]), t[3] = _mm256_unpackhi_ps(r[2], r[3]);
#pragma GCC unroll 4
  for (int s = 0; s < E; s++) {
    const __m256d lo = _mm256_castps_pd(t[s / 2]), hi = _mm256_castps_pd(t[2 + s / 2]);
    const __m256d step = s % 2 ? _mm256_unpackhi_pd(lo, hi) : _mm256_unpacklo_pd(lo, hi);
    if (s < steps) _mm256_storeu_pd((double *)(dst + s * width), step);
  }
}

/* The contract of PACK routines (ukr.h). */
static void turn(int64_t width, int64_t rows, int64_t k, const void *src_p, int64_t is, int64_t ps,
                 void *dst_p)
{
  const float *src = src_p;
  float *dst = dst_p;
  const int64_t whole = k - k % E;
  int64_t i = 0;
  while (ps == 1 && i + HL <= width) {
    const int64_t left = rows - i, step = left >= VL ? VL : HL;
    const float *from = src + i * is;
    int64_t p = 0;
    if (left >= VL)
      for (; p < whole; p += E) turn_zmm(width, from + p, is, dst + p * width + i);
    else if (left >= HL)
      for (; p < whole; p += E) turn_ymm(width, from + p, is, dst + p * width + i);
    for (; p < k; p += E)
      for (int64_t h = 0; h < step; h += HL)
        turn_part(width, left - h, k - p, from + h * is + p, is, dst + p * width + i + h);
    i += step;
  }
  for (; i < width; i++)
    for (int64_t p = 0; p < k; p++) dst[p * width + i] = i < rows ? src[i * is + p * ps] : 0;
}

/* ---------------------------------------------------------------- few columns, A along k
 *
 * Vectors run along k. B is turned so that its columns do; four rows of A at a time. */

enum { DOT_ROWS = 4, DOT_N = NR / 8 };

/* Half a vector of steps of B, whose n columns lie side by side, or as many as there are. */
static inline __attribute__((always_inline)) void
columns_apart(int64_t n, int64_t steps, const float *b, int64_t rs_b, float *to)
{
  const __mmask8 mask = (__mmask8)((1u << n) - 1);
  __m256 r[E], t[4];
#pragma GCC unroll 4
  for (int s = 0; s < E; s++)
    r[s] = _mm256_insertf128_ps(_mm256_castps128_ps256(part_of_row(mask, b + s * rs_b, s < steps)),
                                part_of_row(mask, b + (s + E) * rs_b, s + E < steps), 1);
  t[0] = _mm256_unpacklo_ps(r[0], r[1]), t[1] = _mm256_unpackhi_ps(r[0], r[1]);
  t[2] = _mm256_unpacklo_ps(r[2], r[3]), t[3] = _mm256_unpackhi_ps(r[2], r[3]);
#pragma GCC unroll 4
  for (int j = 0; j < E; j++) {
    const __m256d lo = _mm256_castps_pd(t[j / 2]), hi = _mm256_castps_pd(t[2 + j / 2]);
    const __m256d column = j % 2 ? _mm256_unpackhi_pd(lo, hi) : _mm256_unpacklo_pd(lo, hi);
    if (j < n) _mm256_store_pd((double *)(to + j * XG_DOT_K), column);
  }
}

/* B^T, its rows XG_DOT_K apart and filled with zeros to whole vectors. */
static inline __attribute__((always_inline)) void
turn_columns(const int n, int64_t k, const float *b, int64_t rs_b, int64_t cs_b, float *to)
{
  for (int64_t p = 0; p < k; p += VL) {
    const int64_t steps = k - p < VL ? k - p : VL;
    const float *from = b + p * rs_b;
    if (rs_b == 1) {
#pragma GCC unroll 4
      for (int j = 0; j < n; j++)
        _mm512_store_ps(
            to + j * XG_DOT_K + p,
            _mm512_maskz_loadu_ps((__mmask16)(0xffff >> (VL - steps)), from + j * cs_b));
    } else if (cs_b == 1) {
      columns_apart(n, steps, from, rs_b, to + p);
      columns_apart(n, steps - HL, from + HL * rs_b, rs_b, to + p + HL);
    } else {
      for (int j = 0; j < n; j++)
        for (int s = 0; s < VL; s++)
          to[j * XG_DOT_K + p + s] = s < steps ? from[s * rs_b + j * cs_b] : 0;
    }
  }
}

/* The lanes of four rows' sums added by halves down to a quarter, a 128-bit lane for each row. */
static inline __attribute__((always_inline)) __m512 quarters(const __m512 *t)
{
  const __m512 x =
      _mm512_add_ps(_mm512_shuffle_f32x4(t[0], t[1], 0x44), _mm512_shuffle_f32x4(t[0], t[1], 0xee));
  const __m512 y =
      _mm512_add_ps(_mm512_shuffle_f32x4(t[2], t[3], 0x44), _mm512_shuffle_f32x4(t[2], t[3], 0xee));
  return _mm512_add_ps(_mm512_shuffle_f32x4(x, y, 0x88), _mm512_shuffle_f32x4(x, y, 0xdd));
}

/* And down to one: a 128-bit lane for each row, in it the columns. */
static inline __attribute__((always_inline)) __m512 rows_of_sums(const int n,
                                                                 __m512 t[DOT_N][DOT_ROWS])
{
  __m512 h[2];
#pragma GCC unroll 2
  for (int j = 0; j < n; j += 2) {
    const __m512d x = _mm512_castps_pd(quarters(t[j]));
    const __m512d y = j + 1 < n ? _mm512_castps_pd(quarters(t[j + 1])) : x;
    h[j / 2] = _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(x, y)),
                             _mm512_castpd_ps(_mm512_unpackhi_pd(x, y)));
  }
  const __m512 last = n > 2 ? h[1] : h[0];
  return _mm512_add_ps(_mm512_shuffle_ps(h[0], last, 0x88), _mm512_shuffle_ps(h[0], last, 0xdd));
}

static inline __attribute__((always_inline)) void store_row(float *c, __m128 r, __mmask8 mask,
                                                            const struct args *x)
{
  const __m128 alpha = _mm_set1_ps(x->alpha), beta = _mm_set1_ps(x->beta);
  if (x->beta != 0)
    r = _mm_fmadd_ps(alpha, r, _mm_mul_ps(beta, _mm_maskz_loadu_ps(mask, c)));
  else
    r = _mm_mul_ps(alpha, r);
  _mm_mask_storeu_ps(c, mask, r);
}

/* A block of up to four rows; in place of those that are not, the last one again. */
static inline __attribute__((always_inline)) void
dot_block(const int n, int64_t rows, const struct args *x, const float *a, const float *b, float *c)
{
  const float *r[DOT_ROWS];
  __m512 t[DOT_N][DOT_ROWS];
#pragma GCC unroll 4
  for (int i = 0; i < DOT_ROWS; i++) {
    r[i] = a + (i < rows ? i : rows - 1) * x->rs_a;
#pragma GCC unroll 4
    for (int j = 0; j < n; j++) t[j][i] = _mm512_setzero_ps();
  }
#pragma GCC unroll 1
  for (int64_t p = 0; p < x->k; p += VL) {
    const __mmask16 mask = x->k - p < VL ? x->last : (__mmask16)0xffff;
    __m512 v[DOT_ROWS];
#pragma GCC unroll 4
    for (int i = 0; i < DOT_ROWS; i++) v[i] = _mm512_maskz_loadu_ps(mask, r[i] + p);
#pragma GCC unroll 4
    for (int j = 0; j < n; j++) {
      const __m512 w = _mm512_load_ps(b + j * XG_DOT_K + p);
#pragma GCC unroll 4
      for (int i = 0; i < DOT_ROWS; i++) t[j][i] = _mm512_fmadd_ps(v[i], w, t[j][i]);
    }
  }
  const __m512 sums = rows_of_sums(n, t);
  const __mmask8 columns = (__mmask8)((1 << n) - 1);
#define ROW(i)                                                                                     \
  if (i < rows) store_row(c + i * x->rs_c, _mm512_extractf32x4_ps(sums, i), columns, x)
  ROW(0);
  ROW(1);
  ROW(2);
  ROW(3);
#undef ROW
}

static inline __attribute__((always_inline)) void dots(const int n, int64_t m, const struct args *x,
                                                       const float *a, const float *b, int64_t cs_b,
                                                       float *c)
{
  _Alignas(64) float turned[DOT_N * XG_DOT_K];
  turn_columns(n, x->k, b, x->rs_b, cs_b, turned);
#pragma GCC unroll 1
  for (; m > 0; m -= DOT_ROWS, a += DOT_ROWS * x->rs_a, c += DOT_ROWS * x->rs_c)
    dot_block(n, m < DOT_ROWS ? m : DOT_ROWS, x, a, turned, c);
}

static void dot(int64_t m, int64_t n, int64_t k, const void *alpha, const void *a, int64_t rs_a,
                const void *b, int64_t rs_b, int64_t cs_b, const void *beta, void *c, int64_t rs_c)
{
  const __mmask16 last = (__mmask16)(0xffff >> (-k & (VL - 1)));
  const struct args x = {k, rs_a, 1, rs_b, rs_c, *(const float *)alpha, *(const float *)beta, last};
  if (n == 1)
    dots(1, m, &x, a, b, cs_b, c);
  else if (n == 2)
    dots(2, m, &x, a, b, cs_b, c);
  else if (n == 3)
    dots(3, m, &x, a, b, cs_b, c);
  else
    dots(4, m, &x, a, b, cs_b, c);
}

const struct xg_ukr sgemm_avx512_inplace = {
    .name = "sgemm_avx512_inplace",
    .isa = XG_ISA_AVX512,
    .kind = XG_UKR_INPLACE,
    .type = 's',
    .mr = MR,
    .nr = NR,
    .flags = XG_UKR_MASKED,
    .priority = 10,
    .inplace = kernel,
    .pack = turn,
    .dot = dot,
};
