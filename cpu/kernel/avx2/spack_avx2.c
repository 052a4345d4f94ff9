/* spack_avx2: f32 packing, AVX2.
 *
 *   is = 1   the source runs along the panel's rows: vectors of 8, 4 and 2
 *   ps = 1   the source runs along k: pieces of 8, 4 and 2 rows by 4 steps of k are turned within
 *            the 128-bit lanes; a line at a time, since the rows of a source whose leading
 *            dimension is a power of two evict one another
 *   else     an element at a time
 *
 * Bound by stores (two of 16 bytes a cycle), else by memory.
 */
#if !defined(__AVX2__) || !defined(__FMA__)
#error "compile this file with -mavx2 -mfma"
#endif
#include <immintrin.h>
#include "../../ukr.h"

enum { STEP = 4, LINE = 16 };

static inline __attribute__((always_inline)) void
copy_rows(const int64_t width, int64_t k, const float *src, int64_t ps, float *dst)
{
#pragma GCC unroll 2
  for (int64_t p = 0; p < k; p++, src += ps, dst += width) {
    int64_t i = 0;
#pragma GCC unroll 3
    for (; i + 8 <= width; i += 8) _mm256_storeu_ps(dst + i, _mm256_loadu_ps(src + i));
    if (i + 4 <= width) _mm_storeu_ps(dst + i, _mm_loadu_ps(src + i)), i += 4;
    if (i < width) _mm_storel_epi64((__m128i *)(dst + i), _mm_loadl_epi64((const void *)(src + i)));
  }
}

static void zero_rows(int64_t width, int64_t rows, int64_t k, float *dst)
{
  if (rows == width) return;
  for (int64_t p = 0; p < k; p++, dst += width)
    for (int64_t i = rows; i < width; i++) dst[i] = 0;
}

static void any(int64_t width, int64_t rows, int64_t k, const float *src, int64_t is, int64_t ps,
                float *dst)
{
  for (int64_t p = 0; p < k; p++, src += ps, dst += width)
    for (int64_t i = 0; i < rows; i++) dst[i] = src[i * is];
}

static void along_rows(int64_t width, int64_t rows, int64_t k, const float *src, int64_t ps,
                       float *dst)
{
  int64_t i = 0;
  switch (rows == width ? width : 0) {
  case 6:
    copy_rows(6, k, src, ps, dst);
    return;
  case 16:
    copy_rows(16, k, src, ps, dst);
    return;
  }
  for (; i + 8 <= rows; i += 8)
    for (int64_t p = 0; p < k; p++)
      _mm256_storeu_ps(dst + p * width + i, _mm256_loadu_ps(src + p * ps + i));
  any(width, rows - i, k, src + i, 1, ps, dst + i);
}

/* 8 rows by 4 steps: a vector holds 4 steps of rows i and i+4, one in each lane. */
static inline __attribute__((always_inline)) __m256 pair(const float *src, int64_t is)
{
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(src)), _mm_loadu_ps(src + 4 * is),
                              1);
}

static inline void turn_8(int64_t width, const float *src, int64_t is, float *dst)
{
  const __m256 r0 = pair(src, is), r1 = pair(src + is, is);
  const __m256 r2 = pair(src + 2 * is, is), r3 = pair(src + 3 * is, is);
  const __m256 t0 = _mm256_unpacklo_ps(r0, r1), t1 = _mm256_unpacklo_ps(r2, r3);
  const __m256 t2 = _mm256_unpackhi_ps(r0, r1), t3 = _mm256_unpackhi_ps(r2, r3);
  _mm256_storeu_ps(dst, _mm256_shuffle_ps(t0, t1, 0x44));
  _mm256_storeu_ps(dst + width, _mm256_shuffle_ps(t0, t1, 0xee));
  _mm256_storeu_ps(dst + 2 * width, _mm256_shuffle_ps(t2, t3, 0x44));
  _mm256_storeu_ps(dst + 3 * width, _mm256_shuffle_ps(t2, t3, 0xee));
}

static inline void turn_4(int64_t width, const float *src, int64_t is, float *dst)
{
  __m128 r0 = _mm_loadu_ps(src), r1 = _mm_loadu_ps(src + is);
  __m128 r2 = _mm_loadu_ps(src + 2 * is), r3 = _mm_loadu_ps(src + 3 * is);
  _MM_TRANSPOSE4_PS(r0, r1, r2, r3);
  _mm_storeu_ps(dst, r0);
  _mm_storeu_ps(dst + width, r1);
  _mm_storeu_ps(dst + 2 * width, r2);
  _mm_storeu_ps(dst + 3 * width, r3);
}

static inline void turn_2(int64_t width, const float *src, int64_t is, float *dst)
{
  const __m128 r0 = _mm_loadu_ps(src), r1 = _mm_loadu_ps(src + is);
  const __m128 low = _mm_unpacklo_ps(r0, r1), high = _mm_unpackhi_ps(r0, r1);
  _mm_storel_pi((__m64 *)dst, low);
  _mm_storeh_pi((__m64 *)(dst + width), low);
  _mm_storel_pi((__m64 *)(dst + 2 * width), high);
  _mm_storeh_pi((__m64 *)(dst + 3 * width), high);
}

typedef void turn_fn(int64_t width, const float *src, int64_t is, float *dst);

static inline __attribute__((always_inline)) void turn(turn_fn *fn, const int64_t rows,
                                                       int64_t width, int64_t k, const float *src,
                                                       int64_t is, float *dst)
{
  int64_t p = 0;
  for (; p + STEP <= k; p += STEP) fn(width, src + p, is, dst + p * width);
  if (p < k) any(width, rows, k - p, src + p, is, 1, dst + p * width);
}

/* Steps from src to the end of its line. */
static int64_t in_line(const float *src)
{
  return LINE - (int64_t)((uintptr_t)src / sizeof *src % LINE);
}

static void along_k(int64_t width, int64_t rows, int64_t k, const float *src, int64_t is,
                    float *dst)
{
  for (int64_t n; k > 0; k -= n, src += n, dst += n * width) {
    const float *from = src;
    float *to = dst;
    int64_t i = 0;
    n = in_line(src) < k ? in_line(src) : k;
    for (; i + 8 <= rows; i += 8, from += 8 * is, to += 8) turn(turn_8, 8, width, n, from, is, to);
    for (; i + 4 <= rows; i += 4, from += 4 * is, to += 4) turn(turn_4, 4, width, n, from, is, to);
    for (; i + 2 <= rows; i += 2, from += 2 * is, to += 2) turn(turn_2, 2, width, n, from, is, to);
    if (i < rows) any(width, 1, n, from, is, 1, to);
  }
}

static void pack(int64_t width, int64_t rows, int64_t k, const void *src, int64_t is, int64_t ps,
                 void *dst)
{
  if (is == 1)
    along_rows(width, rows, k, src, ps, dst);
  else if (ps == 1)
    along_k(width, rows, k, src, is, dst);
  else
    any(width, rows, k, src, is, ps, dst);
  zero_rows(width, rows, k, dst);
}

const struct xg_ukr spack_avx2 = {
    .name = "spack_avx2",
    .isa = XG_ISA_AVX2,
    .kind = XG_UKR_PACK,
    .type = 's',
    .priority = 10,
    .pack = pack,
};
