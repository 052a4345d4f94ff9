/* dstream_avx2: f64, a long matrix times a small one, AVX2 and FMA. The bodies and the picture are
 * in stream.h. */
#if !defined(__AVX2__) || !defined(__FMA__)
#error "compile this file with -mavx2 -mfma"
#endif
#include <immintrin.h>
#include "../../ukr.h"

enum { VL = 4 };
typedef double real;
typedef __m256d vec;

/* The first `n` lanes; 1 <= n <= VL. */
static inline __m256i lanes(int64_t n)
{
  static const int64_t ones[2 * VL] = {-1, -1, -1, -1};
  return _mm256_loadu_si256((const __m256i *)(ones + VL - n));
}

static inline vec load(const real *x)
{
  return _mm256_loadu_pd(x);
}

static inline vec load_part(const real *x, int64_t n)
{
  return _mm256_maskload_pd(x, lanes(n));
}

static inline void store(real *x, vec v)
{
  _mm256_storeu_pd(x, v);
}

static inline void store_part(real *x, vec v, int64_t n)
{
  if (n == VL)
    _mm256_storeu_pd(x, v);
  else
    _mm256_maskstore_pd(x, lanes(n), v);
}

static inline vec splat(real x)
{
  return _mm256_set1_pd(x);
}

static inline vec mul(vec x, vec y)
{
  return _mm256_mul_pd(x, y);
}

static inline vec add(vec x, vec y)
{
  return _mm256_add_pd(x, y);
}

static inline vec fmadd(vec x, vec y, vec z)
{
  return _mm256_fmadd_pd(x, y, z);
}

static inline real fused(real x, real y, real z)
{
  return __builtin_fma(x, y, z);
}

static inline real add_halves(vec v)
{
  const __m128d x = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));
  return _mm_cvtsd_f64(_mm_add_sd(x, _mm_unpackhi_pd(x, x)));
}

#include "stream.h"

const struct xg_ukr dstream_avx2 = {
    .name = "dstream_avx2",
    .isa = XG_ISA_AVX2,
    .kind = XG_UKR_STREAM,
    .type = 'd',
    .mr = ROWS,
    .nr = VL,
    .priority = 10,
    .stream = &functions,
};
