/* Parts of a vector, for the AVX2 kernels: the first 1 to 8 (f32) or 4 (f64) lanes. Stores go in
 * pieces, since masked ones are slow on several CPUs. */
#ifndef XG_AVX2_PART_H
#define XG_AVX2_PART_H

#include <immintrin.h>
#include <stdint.h>

static inline __m256i lanes_f32(int64_t count)
{
  static const int32_t ones[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
  return _mm256_loadu_si256((const __m256i *)(ones + 8 - count));
}

static inline __m256i lanes_f64(int64_t count)
{
  static const int64_t ones[8] = {-1, -1, -1, -1};
  return _mm256_loadu_si256((const __m256i *)(ones + 4 - count));
}

static inline void store_part_f32(float *c, __m256 r, int64_t count)
{
  __m128 piece = _mm256_castps256_ps128(r);
  if (count & 8) {
    _mm256_storeu_ps(c, r);
    return;
  }
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

static inline void store_part_f64(double *c, __m256d r, int64_t count)
{
  __m128d piece = _mm256_castpd256_pd128(r);
  if (count & 4) {
    _mm256_storeu_pd(c, r);
    return;
  }
  if (count & 2) {
    _mm_storeu_pd(c, piece);
    piece = _mm256_extractf128_pd(r, 1);
    c += 2;
  }
  if (count & 1) _mm_store_sd(c, piece);
}

#endif
