/* dgemm_avx512_inplace: f64, small products read where they are, AVX-512.
 *
 * C is cut into strips of 16 columns and those into blocks of at most 14 rows, as even as they
 * come; each block lives in registers over the whole of k:
 *
 *      shape   columns   a row of B        accumulators      k step, rows = r
 *      Y        1 - 4    1 ymm             r ymm             r FMAs (half width)
 *      Z        5 - 8    1 zmm             r zmm             r FMAs
 *      ZY       9 - 12   1 zmm + 1 ymm     r zmm + r ymm     1.5 r
 *      ZZ      13 - 16   2 zmm             2 r zmm           2 r FMAs
 *
 * The last vector of a strip is masked, so nothing outside the operands is touched. Elements of A
 * are broadcast from wherever they are: row i is reached as base[i/5] + (i%5)*rs, which x86
 * addressing does with three pointers and two index registers. Bound by the FMA units from 8 rows
 * of ZZ on; by FMA latency when r is small.
 */
#ifndef __AVX512VL__
#error "compile this file with -mavx512f -mavx512vl -mavx512bw -mavx512dq -mfma"
#endif
#include <immintrin.h>
#include "../../ukr.h"

enum { MR = 14, NR = 16, VL = 8, HL = VL / 2 };
enum shape { Y, Z, ZY, ZZ };

struct args {
  int64_t k, rs_a, cs_a, rs_b, rs_c;
  const double *a, *b;
  double *c, alpha, beta;
  __mmask8 last; /* columns of the last vector */
};

/* Offset of row i from base pointer i/5. */
static inline __attribute__((always_inline)) int64_t offset(const int i, int64_t rs, int64_t rs3)
{
  return i % 5 == 3 ? rs3 : (i % 5) * rs;
}

static inline __attribute__((always_inline)) void store_zmm(double *c, __m512d sum, __mmask8 mask,
                                                            const struct args *x)
{
  __m512d r = _mm512_mul_pd(_mm512_set1_pd(x->alpha), sum);
  if (x->beta != 0) {
    const __m512d old = _mm512_mul_pd(_mm512_set1_pd(x->beta), _mm512_maskz_loadu_pd(mask, c));
    r = _mm512_fmadd_pd(_mm512_set1_pd(x->alpha), sum, old);
  }
  _mm512_mask_storeu_pd(c, mask, r);
}

static inline __attribute__((always_inline)) void store_ymm(double *c, __m256d sum, __mmask8 mask,
                                                            const struct args *x)
{
  __m256d r = _mm256_mul_pd(_mm256_set1_pd(x->alpha), sum);
  if (x->beta != 0) {
    const __m256d old = _mm256_mul_pd(_mm256_set1_pd(x->beta), _mm256_maskz_loadu_pd(mask, c));
    r = _mm256_fmadd_pd(_mm256_set1_pd(x->alpha), sum, old);
  }
  _mm256_mask_storeu_pd(c, mask, r);
}

static inline __attribute__((always_inline)) void block(const int rows, const enum shape s,
                                                        const struct args *x)
{
  const int has_z = s != Y, has_y = s == Y || s == ZY, has_z2 = s == ZZ;
  const __mmask8 m0 = s == Z ? x->last : (__mmask8)0xff, m1 = x->last;
  const __mmask8 my = (__mmask8)x->last;
  const int y_at = s == ZY ? VL : 0;
  __m512d z[MR], z2[MR];
  __m256d y[MR];
#pragma GCC unroll 14
  for (int i = 0; i < rows; i++) {
    z[i] = z2[i] = _mm512_setzero_pd();
    y[i] = _mm256_setzero_pd();
  }
  const int64_t rs = x->rs_a, rs3 = 3 * rs, cs = x->cs_a;
  const double *a[3] = {x->a, x->a + 5 * rs, x->a + 10 * rs}, *b = x->b;
#pragma GCC unroll 1
  for (int64_t p = x->k; p > 0; p--) {
    __m512d bz, bz2;
    __m256d by;
    if (has_z) bz = _mm512_maskz_loadu_pd(m0, b);
    if (has_z2) bz2 = _mm512_maskz_loadu_pd(m1, b + VL);
    if (has_y) by = _mm256_maskz_loadu_pd(my, b + y_at);
#pragma GCC unroll 14
    for (int i = 0; i < rows; i++) {
      const double *ai = a[i / 5] + offset(i, rs, rs3);
      if (has_z) {
        const __m512d v = _mm512_set1_pd(*ai);
        z[i] = _mm512_fmadd_pd(v, bz, z[i]);
        if (has_z2) z2[i] = _mm512_fmadd_pd(v, bz2, z2[i]);
        if (has_y) y[i] = _mm256_fmadd_pd(_mm512_castpd512_pd256(v), by, y[i]);
      } else {
        y[i] = _mm256_fmadd_pd(_mm256_set1_pd(*ai), by, y[i]);
      }
    }
    a[0] += cs, a[1] += cs, a[2] += cs;
    b += x->rs_b;
  }

  double *c = x->c;
#pragma GCC unroll 14
  for (int i = 0; i < rows; i++, c += x->rs_c) {
    if (has_z) store_zmm(c, z[i], m0, x);
    if (has_z2) store_zmm(c + VL, z2[i], m1, x);
    if (has_y) store_ymm(c + y_at, y[i], my, x);
  }
}

static inline __attribute__((always_inline)) void rows_of(const enum shape s, int64_t rows,
                                                          const struct args *x)
{
  switch (rows) {
  case 1:
    block(1, s, x);
    break;
  case 2:
    block(2, s, x);
    break;
  case 3:
    block(3, s, x);
    break;
  case 4:
    block(4, s, x);
    break;
  case 5:
    block(5, s, x);
    break;
  case 6:
    block(6, s, x);
    break;
  case 7:
    block(7, s, x);
    break;
  case 8:
    block(8, s, x);
    break;
  case 9:
    block(9, s, x);
    break;
  case 10:
    block(10, s, x);
    break;
  case 11:
    block(11, s, x);
    break;
  case 12:
    block(12, s, x);
    break;
  case 13:
    block(13, s, x);
    break;
  default:
    block(14, s, x);
    break;
  }
}

typedef void shape_fn(int64_t rows, const struct args *x);

static __attribute__((noinline)) void shape_y(int64_t rows, const struct args *x)
{
  rows_of(Y, rows, x);
}
static __attribute__((noinline)) void shape_z(int64_t rows, const struct args *x)
{
  rows_of(Z, rows, x);
}
static __attribute__((noinline)) void shape_zy(int64_t rows, const struct args *x)
{
  rows_of(ZY, rows, x);
}
static __attribute__((noinline)) void shape_zz(int64_t rows, const struct args *x)
{
  rows_of(ZZ, rows, x);
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
  static shape_fn *const shapes[] = {shape_y, shape_z, shape_zy, shape_zz};
  struct args x = {
      k, rs_a, cs_a, rs_b, rs_c, a, b, c, *(const double *)alpha, *(const double *)beta, 0};
  for (x.last = 0xff; n > NR; n -= NR) {
    strip(m, shape_zz, &x);
    x.b += NR;
    x.c += NR;
  }
  const int64_t s = (n - 1) / HL;
  x.last = (__mmask8)((1u << (s % 2 ? VL : HL)) - 1) >> (HL * (s + 1) - n);
  strip(m, shapes[s], &x);
}

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
};
