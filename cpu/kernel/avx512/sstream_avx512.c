/* sstream_avx512: f32, a long matrix times a small one, AVX-512. The bodies and the picture are in
 * stream.h. */
#ifndef __AVX512VL__
#error "compile this file with -mavx512f -mavx512vl -mavx512bw -mavx512dq -mfma"
#endif
#include <immintrin.h>
#include "../../ukr.h"

enum { VL = 16 };
typedef float real;
typedef __m512 vec;
typedef __m256 half;

static inline __mmask16 lanes(int64_t n)
{
  return (__mmask16)((1u << n) - 1);
}

static inline vec load(const real *x)
{
  return _mm512_loadu_ps(x);
}

static inline vec load_part(const real *x, int64_t n)
{
  return _mm512_maskz_loadu_ps(lanes(n), x);
}

static inline void store(real *x, vec v)
{
  _mm512_storeu_ps(x, v);
}

static inline void store_part(real *x, vec v, int64_t n)
{
  _mm512_mask_storeu_ps(x, lanes(n), v);
}

static inline vec splat(real x)
{
  return _mm512_set1_ps(x);
}

static inline vec mul(vec x, vec y)
{
  return _mm512_mul_ps(x, y);
}

static inline vec add(vec x, vec y)
{
  return _mm512_add_ps(x, y);
}

static inline vec fmadd(vec x, vec y, vec z)
{
  return _mm512_fmadd_ps(x, y, z);
}

static inline half load_half(const real *x)
{
  return _mm256_loadu_ps(x);
}

static inline void store_half(real *x, half v)
{
  _mm256_storeu_ps(x, v);
}

static inline half splat_half(real x)
{
  return _mm256_set1_ps(x);
}

static inline half add_half(half x, half y)
{
  return _mm256_add_ps(x, y);
}

static inline half fmadd_half(half x, half y, half z)
{
  return _mm256_fmadd_ps(x, y, z);
}

static inline real fused(real x, real y, real z)
{
  return __builtin_fmaf(x, y, z);
}

static inline real add_halves(vec v)
{
  const __m256 y = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
  __m128 x = _mm_add_ps(_mm256_castps256_ps128(y), _mm256_extractf128_ps(y, 1));
  x = _mm_add_ps(x, _mm_movehl_ps(x, x));
  return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
}

#include "stream.h"

const struct xg_ukr sstream_avx512 = {
    .name = "sstream_avx512",
    .isa = XG_ISA_AVX512,
    .kind = XG_UKR_STREAM,
    .type = 's',
    .mr = ROWS,
    .nr = VL,
    .priority = 10,
    .stream = &functions,
};
