/* dpack_avx2: f64 packing, AVX2.
 *
 *   is = 1   the source runs along the panel's rows: vectors of 4, the last one masked
 *   ps = 1   the source runs along k: squares of 4 x 4 are turned in registers (8 shuffles)
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

enum { VL = 4 };

/* The first `count` lanes, all of them from VL on, none up to 0. */
static inline __m256i lanes(int64_t count)
{
  static const int64_t ones[2 * VL] = {-1, -1, -1, -1};
  return _mm256_loadu_si256((const __m256i *)(ones + VL -
                                              (count >= VL ? VL
                                               : count < 0 ? 0
                                                           : count)));
}

/* One vector of a panel row. `room`: elements from dst to the end of what this call has still to
 * write in increasing order; a whole vector may be stored if it fits in there. */
static inline void put(double *dst, int64_t room, __m256d r)
{
  if (room >= VL)
    _mm256_storeu_pd(dst, r);
  else
    _mm256_maskstore_pd(dst, lanes(room), r);
}

static void along_rows(int64_t width, int64_t rows, int64_t k, const double *src, int64_t ps,
                       double *dst)
{
  if (rows == width && width == 2 * VL) {
    for (int64_t p = 0; p < k; p++, src += ps, dst += width) {
      _mm256_storeu_pd(dst, _mm256_loadu_pd(src));
      _mm256_storeu_pd(dst + VL, _mm256_loadu_pd(src + VL));
    }
    return;
  }
  int64_t room = k * width;
  for (int64_t p = 0; p < k; p++, src += ps, dst += width, room -= width)
    for (int64_t i = 0; i < width; i += VL)
      put(dst + i, room - i, _mm256_maskload_pd(src + (i < rows ? i : 0), lanes(rows - i)));
}

/* r[i] lane p becomes r[p] lane i. */
static inline __attribute__((always_inline)) void turn(__m256d r[VL])
{
  const __m256d t0 = _mm256_unpacklo_pd(r[0], r[1]), t1 = _mm256_unpackhi_pd(r[0], r[1]);
  const __m256d t2 = _mm256_unpacklo_pd(r[2], r[3]), t3 = _mm256_unpackhi_pd(r[2], r[3]);
  r[0] = _mm256_permute2f128_pd(t0, t2, 0x20);
  r[1] = _mm256_permute2f128_pd(t1, t3, 0x20);
  r[2] = _mm256_permute2f128_pd(t0, t2, 0x31);
  r[3] = _mm256_permute2f128_pd(t1, t3, 0x31);
}

/* Rows i0 .. i0+3 of the panel over k steps p0 .. p0+3. */
static inline void square(int64_t width, int64_t rows, int64_t k, const double *src, int64_t is,
                          double *dst, int64_t i0, int64_t p0)
{
  const int64_t steps = k - p0 < VL ? k - p0 : VL, there = rows - i0;
  const double *from = src + i0 * is + p0;
  __m256d r[VL];
  if (there >= VL && steps == VL) {
#pragma GCC unroll 4
    for (int i = 0; i < VL; i++) r[i] = _mm256_loadu_pd(from + i * is);
  } else {
    const __m256i in = lanes(steps);
#pragma GCC unroll 4
    for (int i = 0; i < VL; i++)
      r[i] = i < there ? _mm256_maskload_pd(from + i * is, in) : _mm256_setzero_pd();
  }
  turn(r);
  double *to = dst + p0 * width + i0;
  if (width - i0 >= VL && steps == VL) {
#pragma GCC unroll 4
    for (int p = 0; p < VL; p++) _mm256_storeu_pd(to + p * width, r[p]);
  } else {
    const int64_t room = (k - p0) * width - i0;
#pragma GCC unroll 4
    for (int p = 0; p < VL; p++)
      if (p < steps) put(to + p * width, room - p * width, r[p]);
  }
}

static void along_k(int64_t width, int64_t rows, int64_t k, const double *src, int64_t is,
                    double *dst)
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
  const double *src = src_p;
  double *dst = dst_p;
  if (is == 1) {
    along_rows(width, rows, k, src, ps, dst);
  } else if (ps == 1) {
    along_k(width, rows, k, src, is, dst);
  } else {
    for (int64_t p = 0; p < k; p++, dst += width)
      for (int64_t i = 0; i < width; i++) dst[i] = i < rows ? src[i * is + p * ps] : 0;
  }
}

const struct xg_ukr dpack_avx2 = {
    .name = "dpack_avx2",
    .isa = XG_ISA_AVX2,
    .kind = XG_UKR_PACK,
    .type = 'd',
    .priority = 10,
    .pack = pack,
};
