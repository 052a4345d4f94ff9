/* dstream_avx512: f64, a long matrix times a small one, AVX-512. The bodies and the picture are in
 * stream.h. */
#ifndef __AVX512VL__
#error "compile this file with -mavx512f -mavx512vl -mavx512bw -mavx512dq -mfma"
#endif
#include <immintrin.h>
#include "../../ukr.h"

enum { VL = 8 };
typedef double real;
typedef __m512d vec;
typedef __m256d half;

static inline __mmask8 lanes(int64_t n)
{
  return (__mmask8)((1u << n) - 1);
}

static inline vec load(const real *x)
{
  return _mm512_loadu_pd(x);
}

static inline vec load_part(const real *x, int64_t n)
{
  return _mm512_maskz_loadu_pd(lanes(n), x);
}

static inline void store(real *x, vec v)
{
  _mm512_storeu_pd(x, v);
}

static inline void store_part(real *x, vec v, int64_t n)
{
  _mm512_mask_storeu_pd(x, lanes(n), v);
}

static inline vec splat(real x)
{
  return _mm512_set1_pd(x);
}

static inline vec mul(vec x, vec y)
{
  return _mm512_mul_pd(x, y);
}

static inline vec add(vec x, vec y)
{
  return _mm512_add_pd(x, y);
}

static inline vec fmadd(vec x, vec y, vec z)
{
  return _mm512_fmadd_pd(x, y, z);
}

static inline half load_half(const real *x)
{
  return _mm256_loadu_pd(x);
}

static inline void store_half(real *x, half v)
{
  _mm256_storeu_pd(x, v);
}

static inline half splat_half(real x)
{
  return _mm256_set1_pd(x);
}

static inline half add_half(half x, half y)
{
  return _mm256_add_pd(x, y);
}

static inline half fmadd_half(half x, half y, half z)
{
  return _mm256_fmadd_pd(x, y, z);
}

static inline real fused(real x, real y, real z)
{
  return __builtin_fma(x, y, z);
}

static inline real add_halves(vec v)
{
  const __m256d y = _mm256_add_pd(_mm512_castpd512_pd256(v), _mm512_extractf64x4_pd(v, 1));
  const __m128d x = _mm_add_pd(_mm256_castpd256_pd128(y), _mm256_extractf128_pd(y, 1));
  return _mm_cvtsd_f64(_mm_add_sd(x, _mm_unpackhi_pd(x, x)));
}

#include "stream.h"

const struct xg_ukr dstream_avx512 = {
    .name = "dstream_avx512",
    .isa = XG_ISA_AVX512,
    .kind = XG_UKR_STREAM,
    .type = 'd',
    .mr = ROWS,
    .nr = VL,
    .priority = 10,
    .stream = &functions,
};
