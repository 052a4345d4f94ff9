/* dpack_avx512: f64 packing, AVX-512.
 *
 *   is = 1   the source runs along the panel's rows: one masked load and store for each 8 of them
 *   ps = 1   the source runs along k: squares of 8 x 8 are turned in registers
 *
 *               8 rows of 8 k      --->    8 steps of k, 8 rows each
 *               unpack 64-bit, 2 rounds of 128-bit shuffles: 24 shuffles, 3 a k step
 *   else     an element at a time
 *
 * Bound by the shuffle unit when turning (2.7 elements a cycle), else by memory.
 */
#ifndef __AVX512F__
#error "compile this file with -mavx512f -mavx512vl -mavx512bw -mavx512dq -mfma"
#endif
#include <immintrin.h>
#include "../../ukr.h"

enum { VL = 8, AHEAD = 4 * VL }; /* source elements called for ahead of their use */

/* The first `count` lanes, all of them from VL on, none up to 0. */
static inline __mmask8 lanes(int64_t count)
{
  return count >= VL ? 0xff : count <= 0 ? 0 : (__mmask8)((1u << count) - 1);
}

static void along_rows(int64_t width, int64_t rows, int64_t k, const double *src, int64_t ps,
                       double *dst)
{
  if (width <= VL) {
    const __mmask8 in = lanes(rows), out = lanes(width);
    for (int64_t p = 0; p < k; p++, src += ps, dst += width) {
      _mm_prefetch((const char *)(src + AHEAD), _MM_HINT_T1);
      _mm512_mask_storeu_pd(dst, out, _mm512_maskz_loadu_pd(in, src));
    }
    return;
  }
  if (rows == 3 * VL && width == rows) {
    for (int64_t p = 0; p < k; p++, src += ps, dst += width) {
#pragma GCC unroll 3
      for (int64_t i = 0; i < 3 * VL; i += VL) {
        _mm_prefetch((const char *)(src + i + AHEAD), _MM_HINT_T1);
        _mm512_storeu_pd(dst + i, _mm512_loadu_pd(src + i));
      }
    }
    return;
  }
  const int64_t whole = rows / VL * VL;
  for (int64_t p = 0; p < k; p++, src += ps, dst += width) {
    for (int64_t i = 0; i < whole; i += VL) {
      _mm_prefetch((const char *)(src + i + AHEAD), _MM_HINT_T1);
      _mm512_storeu_pd(dst + i, _mm512_loadu_pd(src + i));
    }
    for (int64_t i = whole; i < width; i += VL)
      _mm512_mask_storeu_pd(dst + i, lanes(width - i),
                            _mm512_maskz_loadu_pd(lanes(rows - i), src + i));
  }
}

/* r[i] lane p becomes r[p] lane i. */
static inline __attribute__((always_inline)) void turn(__m512d r[VL])
{
  __m512d t[VL];
#pragma GCC unroll 4
  for (int i = 0; i < VL; i += 2) {
    t[i] = _mm512_unpacklo_pd(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_pd(r[i], r[i + 1]);
  }
#pragma GCC unroll 2
  for (int s = 0; s < 2; s++) {
    const __m512d a = _mm512_shuffle_f64x2(t[s], t[2 + s], 0x88);
    const __m512d b = _mm512_shuffle_f64x2(t[s], t[2 + s], 0xdd);
    const __m512d c = _mm512_shuffle_f64x2(t[4 + s], t[6 + s], 0x88);
    const __m512d d = _mm512_shuffle_f64x2(t[4 + s], t[6 + s], 0xdd);
    r[s] = _mm512_shuffle_f64x2(a, c, 0x88);
    r[4 + s] = _mm512_shuffle_f64x2(a, c, 0xdd);
    r[2 + s] = _mm512_shuffle_f64x2(b, d, 0x88);
    r[6 + s] = _mm512_shuffle_f64x2(b, d, 0xdd);
  }
}

/* A square; `full` says that all 8 rows and k steps are there, which spares the masks. */
static inline __attribute__((always_inline)) void square(const int full, int64_t width, int64_t out,
                                                         int64_t rows, int64_t k, const double *src,
                                                         int64_t is, double *dst)
{
  const __mmask8 in = lanes(k), to = lanes(out);
  __m512d r[VL];
#pragma GCC unroll 8
  for (int i = 0; i < VL; i++) {
    if (i < out) _mm_prefetch((const char *)(src + i * is + AHEAD), _MM_HINT_T1);
    r[i] = full || i < rows ? _mm512_maskz_loadu_pd(full ? (__mmask8)0xff : in, src + i * is)
                            : _mm512_setzero_pd();
  }
  turn(r);
#pragma GCC unroll 8
  for (int p = 0; p < VL; p++)
    if (full || p < k) _mm512_mask_storeu_pd(dst + p * width, to, r[p]);
}

/* Where all rows lie alike in their cache lines, the first squares end with a line: then each line
 * is read by one load, and it does not matter if the lines of a column share a set. */
static void along_k(int64_t width, int64_t rows, int64_t k, const double *src, int64_t is,
                    double *dst)
{
  const int64_t to_line = -((intptr_t)src / (intptr_t)sizeof *src) & (VL - 1);
  const int64_t first = is % VL == 0 && to_line > 0 ? to_line : VL;
  for (int64_t p = 0, next = first, steps; p < k; p = next, next += VL) {
    steps = (next < k ? next : k) - p;
    for (int64_t i = 0; i < width; i += VL) {
      const int64_t out = width - i < VL ? width - i : VL, there = rows - i;
      if (there >= VL && steps == VL)
        square(1, width, out, VL, VL, src + i * is + p, is, dst + p * width + i);
      else
        square(0, width, out, there, steps, src + i * is + p, is, dst + p * width + i);
    }
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

const struct xg_ukr dpack_avx512 = {
    .name = "dpack_avx512",
    .isa = XG_ISA_AVX512,
    .kind = XG_UKR_PACK,
    .type = 'd',
    .priority = 10,
    .pack = pack,
};
