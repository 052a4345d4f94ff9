/* sstrip_avx512: f32, strips of C for small k and for small m and n, AVX-512. The bodies and the
 * picture are in strip.h. */
#ifndef __AVX512VL__
#error "compile this file with -mavx512f -mavx512vl -mavx512bw -mavx512dq -mfma"
#endif
#include <immintrin.h>
#include "../../ukr.h"

enum { VL = 16 };
typedef float real;
typedef __m512 vec;

/* 1 to VL of them */
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

static inline void store_past(real *x, vec v)
{
  _mm512_stream_ps(x, v);
}

static inline vec splat(real x)
{
  return _mm512_set1_ps(x);
}

static inline vec add(vec x, vec y)
{
  return _mm512_add_ps(x, y);
}

static inline vec mul(vec x, vec y)
{
  return _mm512_mul_ps(x, y);
}

static inline vec fmadd(vec x, vec y, vec z)
{
  return _mm512_fmadd_ps(x, y, z);
}

#include "strip.h"

const struct xg_ukr sstrip_avx512 = {
    .name = "sstrip_avx512",
    .isa = XG_ISA_AVX512,
    .kind = XG_UKR_STRIP,
    .type = 's',
    .mr = MR,
    .nr = VL,
    .priority = 10,
    .strip = &functions,
};
