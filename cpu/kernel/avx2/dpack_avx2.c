/* dpack_avx2: f64 packing, AVX2.
 *
 *   is = 1   the source runs along the panel's rows: vectors of 4 and 2
 *   ps = 1   the source runs along k: pieces of 4 and 2 rows by 2 steps of k are turned within the
 *            128-bit lanes; a line at a time, since the rows of a source whose leading dimension is
 *            a power of two evict one another
 *   else     an element at a time
 *
 * Bound by stores (two of 16 bytes a cycle), else by memory.
 */
#if !defined(__AVX2__) || !defined(__FMA__)
#error "compile this file with -mavx2 -mfma"
#endif
#include <immintrin.h>
#include "../../ukr.h"

enum { STEP = 2, LINE = 8 };

static inline __attribute__((always_inline)) void
copy_rows(const int64_t width, int64_t k, const double *src, int64_t ps, double *dst)
{
#pragma GCC unroll 2
  for (int64_t p = 0; p < k; p++, src += ps, dst += width) {
    int64_t i = 0;
#pragma GCC unroll 3
    for (; i + 4 <= width; i += 4) _mm256_storeu_pd(dst + i, _mm256_loadu_pd(src + i));
    if (i < width) _mm_storeu_pd(dst + i, _mm_loadu_pd(src + i));
  }
}

static void zero_rows(int64_t width, int64_t rows, int64_t k, double *dst)
{
  if (rows == width) return;
  for (int64_t p = 0; p < k; p++, dst += width)
    for (int64_t i = rows; i < width; i++) dst[i] = 0;
}

static void any(int64_t width, int64_t rows, int64_t k, const double *src, int64_t is, int64_t ps,
                double *dst)
{
  for (int64_t p = 0; p < k; p++, src += ps, dst += width)
    for (int64_t i = 0; i < rows; i++) dst[i] = src[i * is];
}

static void along_rows(int64_t width, int64_t rows, int64_t k, const double *src, int64_t ps,
                       double *dst)
{
  int64_t i = 0;
  switch (rows == width ? width : 0) {
  case 6:
    copy_rows(6, k, src, ps, dst);
    return;
  case 8:
    copy_rows(8, k, src, ps, dst);
    return;
  }
  for (; i + 4 <= rows; i += 4)
    for (int64_t p = 0; p < k; p++)
      _mm256_storeu_pd(dst + p * width + i, _mm256_loadu_pd(src + p * ps + i));
  any(width, rows - i, k, src + i, 1, ps, dst + i);
}

/* 4 rows by 2 steps: a vector holds 2 steps of rows i and i+2, one in each lane. */
static inline __attribute__((always_inline)) __m256d pair(const double *src, int64_t is)
{
  return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(src)), _mm_loadu_pd(src + 2 * is),
                              1);
}

static inline void turn_4(int64_t width, const double *src, int64_t is, double *dst)
{
  const __m256d r0 = pair(src, is), r1 = pair(src + is, is);
  _mm256_storeu_pd(dst, _mm256_unpacklo_pd(r0, r1));
  _mm256_storeu_pd(dst + width, _mm256_unpackhi_pd(r0, r1));
}

static inline void turn_2(int64_t width, const double *src, int64_t is, double *dst)
{
  const __m128d r0 = _mm_loadu_pd(src), r1 = _mm_loadu_pd(src + is);
  _mm_storeu_pd(dst, _mm_unpacklo_pd(r0, r1));
  _mm_storeu_pd(dst + width, _mm_unpackhi_pd(r0, r1));
}

typedef void turn_fn(int64_t width, const double *src, int64_t is, double *dst);

static inline __attribute__((always_inline)) void turn(turn_fn *fn, const int64_t rows,
                                                       int64_t width, int64_t k, const double *src,
                                                       int64_t is, double *dst)
{
  int64_t p = 0;
  for (; p + STEP <= k; p += STEP) fn(width, src + p, is, dst + p * width);
  if (p < k) any(width, rows, k - p, src + p, is, 1, dst + p * width);
}

/* Steps from src to the end of its line. */
static int64_t in_line(const double *src)
{
  return LINE - (int64_t)((uintptr_t)src / sizeof *src % LINE);
}

static void along_k(int64_t width, int64_t rows, int64_t k, const double *src, int64_t is,
                    double *dst)
{
  for (int64_t n; k > 0; k -= n, src += n, dst += n * width) {
    const double *from = src;
    double *to = dst;
    int64_t i = 0;
    n = in_line(src) < k ? in_line(src) : k;
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

const struct xg_ukr dpack_avx2 = {
    .name = "dpack_avx2",
    .isa = XG_ISA_AVX2,
    .kind = XG_UKR_PACK,
    .type = 'd',
    .priority = 10,
    .pack = pack,
};
