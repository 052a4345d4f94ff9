/* sstream_avx2: f32, a long matrix times a small one, AVX2 and FMA. The bodies and the picture are
 * in stream.h. */
#if !defined(__AVX2__) || !defined(__FMA__)
#error "compile this file with -mavx2 -mfma"
#endif
#include <immintrin.h>
#include "../../ukr.h"

enum { VL = 8 };
typedef float real;
typedef __m256 vec;

/* The first `n` lanes; 1 <= n <= VL. */
static inline __m256i lanes(int64_t n)
{
  static const int32_t ones[2 * VL] = {-1, -1, -1, -1, -1, -1, -1, -1};
  return _mm256_loadu_si256((const __m256i *)(ones + VL - n));
}

static inline vec load(const real *x)
{
  return _mm256_loadu_ps(x);
}

static inline vec load_part(const real *x, int64_t n)
{
  return _mm256_maskload_ps(x, lanes(n));
}

static inline void store(real *x, vec v)
{
  _mm256_storeu_ps(x, v);
}

static inline void store_part(real *x, vec v, int64_t n)
{
  if (n == VL)
    _mm256_storeu_ps(x, v);
  else
    _mm256_maskstore_ps(x, lanes(n), v);
}

static inline vec splat(real x)
{
  return _mm256_set1_ps(x);
}

static inline vec mul(vec x, vec y)
{
  return _mm256_mul_ps(x, y);
}

static inline vec add(vec x, vec y)
{
  return _mm256_add_ps(x, y);
}

static inline vec fmadd(vec x, vec y, vec z)
{
  return _mm256_fmadd_ps(x, y, z);
}

static inline real fused(real x, real y, real z)
{
  return __builtin_fmaf(x, y, z);
}

static inline real add_halves(vec v)
{
  __m128 x = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  x = _mm_add_ps(x, _mm_movehl_ps(x, x));
  return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
}

#include "stream.h"

const struct xg_ukr sstream_avx2 = {
    .name = "sstream_avx2",
    .isa = XG_ISA_AVX2,
    .kind = XG_UKR_STREAM,
    .type = 's',
    .mr = ROWS,
    .nr = VL,
    .priority = 10,
    .stream = &functions,
};
