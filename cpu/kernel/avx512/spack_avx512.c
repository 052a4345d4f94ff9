/* spack_avx512: f32 packing, AVX-512.
 *
 *   is = 1   the source runs along the panel's rows: one masked load and store for each 16 of them
 *   ps = 1   the source runs along k: squares of 16 x 16 are turned in registers
 *
 *               16 rows of 16 k    --->    16 steps of k, 16 rows each
 *               unpack 32-bit, unpack 64-bit, 2 rounds of 128-bit shuffles: 64 shuffles, 4 a k step
 *   else     an element at a time
 *
 * Bound by the shuffle unit when turning (4 elements a cycle), else by memory.
 */
#ifndef __AVX512F__
#error "compile this file with -mavx512f -mavx512vl -mavx512bw -mavx512dq -mfma"
#endif
#include <immintrin.h>
#include "../../ukr.h"

enum { VL = 16 };

/* The first `count` lanes, all of them from VL on, none up to 0. */
static inline __mmask16 lanes(int64_t count)
{
  return count >= VL ? 0xffff : count <= 0 ? 0 : (__mmask16)((1u << count) - 1);
}

static void along_rows(int64_t width, int64_t rows, int64_t k, const float *src, int64_t ps,
                       float *dst)
{
  if (width <= 2 * VL) {
    const __mmask16 r0 = lanes(rows), r1 = lanes(rows - VL), w0 = lanes(width),
                    w1 = lanes(width - VL);
    for (int64_t p = 0; p < k; p++, src += ps, dst += width) {
      _mm512_mask_storeu_ps(dst, w0, _mm512_maskz_loadu_ps(r0, src));
      if (w1) _mm512_mask_storeu_ps(dst + VL, w1, _mm512_maskz_loadu_ps(r1, src + VL));
    }
    return;
  }
  for (int64_t p = 0; p < k; p++, src += ps, dst += width)
    for (int64_t i = 0; i < width; i += VL)
      _mm512_mask_storeu_ps(dst + i, lanes(width - i),
                            _mm512_maskz_loadu_ps(lanes(rows - i), src + i));
}

/* r[i] lane p becomes r[p] lane i. */
static inline __attribute__((always_inline)) void turn(__m512 r[VL])
{
  __m512 t[VL];
#pragma GCC unroll 8
  for (int i = 0; i < VL; i += 2) {
    t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
  }
  /* r[4q + s]: rows 4q..4q+3 of columns s, 4+s, 8+s, 12+s */
#pragma GCC unroll 4
  for (int q = 0; q < VL; q += 4) {
#pragma GCC unroll 2
    for (int h = 0; h < 2; h++) {
      const __m512d lo = _mm512_castps_pd(t[q + h]), hi = _mm512_castps_pd(t[q + 2 + h]);
      r[q + 2 * h] = _mm512_castpd_ps(_mm512_unpacklo_pd(lo, hi));
      r[q + 2 * h + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(lo, hi));
    }
  }
#pragma GCC unroll 4
  for (int s = 0; s < 4; s++) {
    const __m512 a = _mm512_shuffle_f32x4(r[s], r[4 + s], 0x88);
    const __m512 b = _mm512_shuffle_f32x4(r[s], r[4 + s], 0xdd);
    const __m512 c = _mm512_shuffle_f32x4(r[8 + s], r[12 + s], 0x88);
    const __m512 d = _mm512_shuffle_f32x4(r[8 + s], r[12 + s], 0xdd);
    t[s] = _mm512_shuffle_f32x4(a, c, 0x88);
    t[8 + s] = _mm512_shuffle_f32x4(a, c, 0xdd);
    t[4 + s] = _mm512_shuffle_f32x4(b, d, 0x88);
    t[12 + s] = _mm512_shuffle_f32x4(b, d, 0xdd);
  }
#pragma GCC unroll 16
  for (int p = 0; p < VL; p++) r[p] = t[p];
}

/* A square; `full` says that all 16 rows and k steps are there, which spares the masks. */
static inline __attribute__((always_inline)) void square(const int full, int64_t width, int64_t out,
                                                         int64_t rows, int64_t k, const float *src,
                                                         int64_t is, float *dst)
{
  const __mmask16 in = lanes(k), to = lanes(out);
  __m512 r[VL];
#pragma GCC unroll 16
  for (int i = 0; i < VL; i++)
    r[i] = full || i < rows ? _mm512_maskz_loadu_ps(full ? (__mmask16)0xffff : in, src + i * is)
                            : _mm512_setzero_ps();
  turn(r);
#pragma GCC unroll 16
  for (int p = 0; p < VL; p++)
    if (full || p < k) _mm512_mask_storeu_ps(dst + p * width, to, r[p]);
}

static void along_k(int64_t width, int64_t rows, int64_t k, const float *src, int64_t is,
                    float *dst)
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

const struct xg_ukr spack_avx512 = {
    .name = "spack_avx512",
    .isa = XG_ISA_AVX512,
    .kind = XG_UKR_PACK,
    .type = 's',
    .priority = 10,
    .pack = pack,
};
