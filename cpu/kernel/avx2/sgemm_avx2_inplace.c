/* sgemm_avx2_inplace: f32, small products read where they are, AVX2 and FMA.
 *
 * C is cut into strips of 16 columns and those into blocks of at most 6 rows, as even as they come;
 * each block lives in registers over the whole of k:
 *
 *      shape   columns   a row of B    accumulators     k step, rows = r
 *      1        1 - 8    1 ymm         r                r FMAs
 *      2        9 - 16   2 ymm         2 r              2 r FMAs
 *
 * The last vector of a strip is loaded under a mask and stored in pieces (masked stores are slow on
 * several CPUs), so nothing outside the operands is touched. Elements of A are broadcast from
 * wherever they are: row i is base[i/3] + (i%3)*rs, two pointers and one index register. Bound by
 * the FMA units at 6 rows of shape 2; by FMA latency when r is small.
 */
#if !defined(__AVX2__) || !defined(__FMA__)
#error "compile this file with -mavx2 -mfma"
#endif
#include <immintrin.h>
#include "../../ukr.h"

enum { MR = 6, NR = 16, VL = 8 };

struct args {
  int64_t k, rs_a, cs_a, rs_b, rs_c;
  const float *a, *b;
  float *c, alpha, beta;
  int64_t last; /* columns of the last vector */
};

/* The first `count` lanes; 1 <= count <= VL. */
static inline __m256i lanes(int64_t count)
{
  static const int32_t ones[2 * VL] = {-1, -1, -1, -1, -1, -1, -1, -1};
  return _mm256_loadu_si256((const __m256i *)(ones + VL - count));
}

/* The first `count` elements, in pieces of 4, 2 and 1. */
static inline void store_part(float *c, __m256 r, int64_t count)
{
  __m128 piece = _mm256_castps256_ps128(r);
  if (count & 4) {
    _mm_storeu_ps(c, piece);
    piece = _mm256_extractf128_ps(r, 1);
    c += 4;
  }
  if (count & 2) {
    _mm_storel_pi((__m64 *)c, piece);
    piece = _mm_movehl_ps(piece, piece);
    c += 2;
  }
  if (count & 1) _mm_store_ss(c, piece);
}

static inline __attribute__((always_inline)) void update(float *c, __m256 sum, int64_t count,
                                                         __m256i mask, const struct args *x)
{
  __m256 r = _mm256_mul_ps(_mm256_set1_ps(x->alpha), sum);
  if (x->beta != 0) {
    const __m256 old = count == VL ? _mm256_loadu_ps(c) : _mm256_maskload_ps(c, mask);
    r = _mm256_fmadd_ps(_mm256_set1_ps(x->alpha), sum, _mm256_mul_ps(_mm256_set1_ps(x->beta), old));
  }
  if (count == VL)
    _mm256_storeu_ps(c, r);
  else
    store_part(c, r, count);
}

static inline __attribute__((always_inline)) void block(const int rows, const int vecs,
                                                        const struct args *x)
{
  const __m256i mask = lanes(x->last);
  __m256 acc[MR][2];
#pragma GCC unroll 6
  for (int i = 0; i < rows; i++) acc[i][0] = acc[i][1] = _mm256_setzero_ps();
  const int64_t rs = x->rs_a, cs = x->cs_a;
  const float *a[2] = {x->a, x->a + 3 * rs}, *b = x->b;
#pragma GCC unroll 1
  for (int64_t p = x->k; p > 0; p--) {
    const __m256 b0 = vecs == 2 ? _mm256_loadu_ps(b) : _mm256_maskload_ps(b, mask);
    const __m256 b1 = vecs == 2 ? _mm256_maskload_ps(b + VL, mask) : b0;
#pragma GCC unroll 6
    for (int i = 0; i < rows; i++) {
      const __m256 ai = _mm256_broadcast_ss(a[i / 3] + (i % 3) * rs);
      acc[i][0] = _mm256_fmadd_ps(ai, b0, acc[i][0]);
      if (vecs == 2) acc[i][1] = _mm256_fmadd_ps(ai, b1, acc[i][1]);
    }
    a[0] += cs, a[1] += cs;
    b += x->rs_b;
  }

  float *c = x->c;
#pragma GCC unroll 6
  for (int i = 0; i < rows; i++, c += x->rs_c) {
    if (vecs == 2) update(c, acc[i][0], VL, mask, x);
    update(c + (vecs - 1) * VL, acc[i][vecs - 1], x->last, mask, x);
  }
}

static inline __attribute__((always_inline)) void rows_of(const int vecs, int64_t rows,
                                                          const struct args *x)
{
  switch (rows) {
  case 1:
    block(1, vecs, x);
    break;
  case 2:
    block(2, vecs, x);
    break;
  case 3:
    block(3, vecs, x);
    break;
  case 4:
    block(4, vecs, x);
    break;
  case 5:
    block(5, vecs, x);
    break;
  default:
    block(6, vecs, x);
    break;
  }
}

typedef void shape_fn(int64_t rows, const struct args *x);

static __attribute__((noinline)) void shape_1(int64_t rows, const struct args *x)
{
  rows_of(1, rows, x);
}
static __attribute__((noinline)) void shape_2(int64_t rows, const struct args *x)
{
  rows_of(2, rows, x);
}

/* One strip: blocks of rows as even as they come, so that none is left with a row or two. */
static inline void strip(int64_t m, shape_fn *fn, const struct args *strip_args)
{
  struct args x = *strip_args;
  if (m <= MR) {
    fn(m, &x);
    return;
  }
  const int64_t blocks = (m + MR - 1) / MR, base = m / blocks, longer = m % blocks;
  for (int64_t i = 0; i < blocks; i++) {
    const int64_t rows = base + (i < longer);
    fn(rows, &x);
    x.a += rows * x.rs_a;
    x.c += rows * x.rs_c;
  }
}

static void kernel(int64_t m, int64_t n, int64_t k, const void *alpha, const void *a, int64_t rs_a,
                   int64_t cs_a, const void *b, int64_t rs_b, const void *beta, void *c,
                   int64_t rs_c)
{
  struct args x = {k, rs_a, cs_a, rs_b, rs_c, a, b, c, *(const float *)alpha, *(const float *)beta,
                   VL};
  for (; n > NR; n -= NR) {
    strip(m, shape_2, &x);
    x.b += NR;
    x.c += NR;
  }
  x.last = n > VL ? n - VL : n;
  strip(m, n > VL ? shape_2 : shape_1, &x);
}

const struct xg_ukr sgemm_avx2_inplace = {
    .name = "sgemm_avx2_inplace",
    .isa = XG_ISA_AVX2,
    .kind = XG_UKR_INPLACE,
    .type = 's',
    .mr = MR,
    .nr = NR,
    .flags = XG_UKR_MASKED,
    .priority = 10,
    .inplace = kernel,
};
