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

enum { VL = 8 };

/* The first `count` lanes, all of them from VL on, none up to 0. */
static inline __mmask8 lanes(int64_t count)
{
  return count >= VL ? 0xff : count <= 0 ? 0 : (__mmask8)((1u << count) - 1);
}

static void along_rows(int64_t width, int64_t rows, int64_t k, const double *src, int64_t ps,
                       double *dst)
{
  if (width <= 2 * VL) {
    const __mmask8 r0 = lanes(rows), r1 = lanes(rows - VL), w0 = lanes(width),
                   w1 = lanes(width - VL);
    for (int64_t p = 0; p < k; p++, src += ps, dst += width) {
      _mm512_mask_storeu_pd(dst, w0, _mm512_maskz_loadu_pd(r0, src));
      if (w1) _mm512_mask_storeu_pd(dst + VL, w1, _mm512_maskz_loadu_pd(r1, src + VL));
    }
    return;
  }
  for (int64_t p = 0; p < k; p++, src += ps, dst += width)
    for (int64_t i = 0; i < width; i += VL)
      _mm512_mask_storeu_pd(dst + i, lanes(width - i),
                            _mm512_maskz_loadu_pd(lanes(rows - i), src + i));
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
  for (int i = 0; i < VL; i++)
    r[i] = full || i < rows ? _mm512_maskz_loadu_pd(full ? (__mmask8)0xff : in, src + i * is)
                            : _mm512_setzero_pd();
  turn(r);
#pragma GCC unroll 8
  for (int p = 0; p < VL; p++)
    if (full || p < k) _mm512_mask_storeu_pd(dst + p * width, to, r[p]);
}

static void along_k(int64_t width, int64_t rows, int64_t k, const double *src, int64_t is,
                    double *dst)
{
  for (int64_t p = 0; p < k; p += VL)
    for (int64_t i = 0; i < width; i += VL) {
      const int64_t out = width - i < VL ? width - i : VL, there = rows - i;
      if (there >= VL && k - p >= VL)
        square(1, width, out, there, VL, src + i * is + p, is, dst + p * width + i);
      else
        square(0, width, out, there, k - p, src + i * is + p, is, dst + p * width + i);
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
