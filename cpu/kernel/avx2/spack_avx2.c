/* spack_avx2: f32 packing, AVX2.
 *
 *   is = 1   the source runs along the panel's rows: vectors of 8, the last one masked
 *   ps = 1   the source runs along k: squares of 8 x 8 are turned in registers (24 shuffles)
 *   else     an element at a time
 *
 * A panel row of 6 is stored as 8, the 2 elements beyond being overwritten by the next row; only
 * the very last row is stored under a mask (slow on several CPUs). Bound by the shuffle units when
 * turning, else by memory.
 */
#if !defined(__AVX2__) || !defined(__FMA__)
#error "compile this file with -mavx2 -mfma"
#endif
#include <immintrin.h>
#include "../../ukr.h"

enum { VL = 8 };

/* The first `count` lanes, all of them from VL on, none up to 0. */
static inline __m256i lanes(int64_t count)
{
  static const int32_t ones[2 * VL] = {-1, -1, -1, -1, -1, -1, -1, -1};
  return _mm256_loadu_si256((const __m256i *)(ones + VL -
                                              (count >= VL ? VL
                                               : count < 0 ? 0
                                                           : count)));
}

/* One vector of a panel row. `room`: elements from dst to the end of what this call has still to
 * write in increasing order; a whole vector may be stored if it fits in there. */
static inline void put(float *dst, int64_t room, __m256 r)
{
  if (room >= VL)
    _mm256_storeu_ps(dst, r);
  else
    _mm256_maskstore_ps(dst, lanes(room), r);
}

static void along_rows(int64_t width, int64_t rows, int64_t k, const float *src, int64_t ps,
                       float *dst)
{
  if (rows == width && width == 2 * VL) {
    for (int64_t p = 0; p < k; p++, src += ps, dst += width) {
      _mm256_storeu_ps(dst, _mm256_loadu_ps(src));
      _mm256_storeu_ps(dst + VL, _mm256_loadu_ps(src + VL));
    }
    return;
  }
  int64_t room = k * width;
  for (int64_t p = 0; p < k; p++, src += ps, dst += width, room -= width)
    for (int64_t i = 0; i < width; i += VL)
      put(dst + i, room - i, _mm256_maskload_ps(src + (i < rows ? i : 0), lanes(rows - i)));
}

/* r[i] lane p becomes r[p] lane i. */
static inline __attribute__((always_inline)) void turn(__m256 r[VL])
{
  __m256 t[VL];
#pragma GCC unroll 4
  for (int i = 0; i < VL; i += 2) {
    t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
#pragma GCC unroll 2
  for (int q = 0; q < VL; q += 4) {
#pragma GCC unroll 2
    for (int h = 0; h < 2; h++) {
      r[q + 2 * h] = _mm256_shuffle_ps(t[q + h], t[q + 2 + h], 0x44);
      r[q + 2 * h + 1] = _mm256_shuffle_ps(t[q + h], t[q + 2 + h], 0xee);
    }
  }
#pragma GCC unroll 4
  for (int s = 0; s < 4; s++) {
    t[s] = _mm256_permute2f128_ps(r[s], r[4 + s], 0x20);
    t[4 + s] = _mm256_permute2f128_ps(r[s], r[4 + s], 0x31);
  }
#pragma GCC unroll 8
  for (int p = 0; p < VL; p++) r[p] = t[p];
}

/* Rows i0 .. i0+7 of the panel over k steps p0 .. p0+7. */
static inline void square(int64_t width, int64_t rows, int64_t k, const float *src, int64_t is,
                          float *dst, int64_t i0, int64_t p0)
{
  const int64_t steps = k - p0 < VL ? k - p0 : VL, there = rows - i0;
  const float *from = src + i0 * is + p0;
  __m256 r[VL];
  if (there >= VL && steps == VL) {
#pragma GCC unroll 8
    for (int i = 0; i < VL; i++) r[i] = _mm256_loadu_ps(from + i * is);
  } else {
    const __m256i in = lanes(steps);
#pragma GCC unroll 8
    for (int i = 0; i < VL; i++)
      r[i] = i < there ? _mm256_maskload_ps(from + i * is, in) : _mm256_setzero_ps();
  }
  turn(r);
  float *to = dst + p0 * width + i0;
  if (width - i0 >= VL && steps == VL) {
#pragma GCC unroll 8
    for (int p = 0; p < VL; p++) _mm256_storeu_ps(to + p * width, r[p]);
  } else {
    const int64_t room = (k - p0) * width - i0;
#pragma GCC unroll 8
    for (int p = 0; p < VL; p++)
      if (p < steps) put(to + p * width, room - p * width, r[p]);
  }
}

static void along_k(int64_t width, int64_t rows, int64_t k, const float *src, int64_t is,
                    float *dst)
{
  for (int64_t p = 0; p < k; p += VL) {
    /* The last square of a row of squares may spill into the first of the next k step: it goes
     * first. */
    for (int64_t i = (width - 1) / VL * VL; i >= 0; i -= VL)
      square(width, rows, k, src, is, dst, i, p);
  }
}

static void pack(int64_t width, int64_t rows, int64_t k, const void *src_p, int64_t is, int64_t ps,
                 void *dst_p)
{
  const float *src = src_p;
  float *dst = dst_p;
  if (is == 1) {
    along_rows(width, rows, k, src, ps, dst);
  } else if (ps == 1) {
    along_k(width, rows, k, src, is, dst);
  } else {
    for (int64_t p = 0; p < k; p++, dst += width)
      for (int64_t i = 0; i < width; i++) dst[i] = i < rows ? src[i * is + p * ps] : 0;
  }
}

const struct xg_ukr spack_avx2 = {
    .name = "spack_avx2",
    .isa = XG_ISA_AVX2,
    .kind = XG_UKR_PACK,
    .type = 's',
    .priority = 10,
    .pack = pack,
};
