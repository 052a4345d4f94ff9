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

enum { VL = 16, AHEAD = 4 * VL }; /* source elements called for ahead of their use */

/* The first `count` lanes, all of them from VL on, none up to 0. */
static inline __mmask16 lanes(int64_t count)
{
  return count >= VL ? 0xffff : count <= 0 ? 0 : (__mmask16)((1u << count) - 1);
}

static void along_rows(int64_t width, int64_t rows, int64_t k, const float *src, int64_t ps,
                       float *dst)
{
  if (width <= VL) {
    const __mmask16 in = lanes(rows), out = lanes(width);
    for (int64_t p = 0; p < k; p++, src += ps, dst += width) {
      _mm_prefetch((const char *)(src + AHEAD), _MM_HINT_T1);
      _mm512_mask_storeu_ps(dst, out, _mm512_maskz_loadu_ps(in, src));
    }
    return;
  }
  if (rows == 3 * VL && width == rows) {
    for (int64_t p = 0; p < k; p++, src += ps, dst += width) {
#pragma GCC unroll 3
      for (int64_t i = 0; i < 3 * VL; i += VL) {
        _mm_prefetch((const char *)(src + i + AHEAD), _MM_HINT_T1);
        _mm512_storeu_ps(dst + i, _mm512_loadu_ps(src + i));
      }
    }
    return;
  }
  const int64_t whole = rows / VL * VL;
  for (int64_t p = 0; p < k; p++, src += ps, dst += width) {
    for (int64_t i = 0; i < whole; i += VL) {
      _mm_prefetch((const char *)(src + i + AHEAD), _MM_HINT_T1);
      _mm512_storeu_ps(dst + i, _mm512_loadu_ps(src + i));
    }
    for (int64_t i = whole; i < width; i += VL)
      _mm512_mask_storeu_ps(dst + i, lanes(width - i),
                            _mm512_maskz_loadu_ps(lanes(rows - i), src + i));
  }
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
  for (int i = 0; i < VL; i++) {
    if (i < out) _mm_prefetch((const char *)(src + i * is + AHEAD), _MM_HINT_T1);
    r[i] = full || i < rows ? _mm512_maskz_loadu_ps(full ? (__mmask16)0xffff : in, src + i * is)
                            : _mm512_setzero_ps();
  }
  turn(r);
#pragma GCC unroll 16
  for (int p = 0; p < VL; p++)
    if (full || p < k) _mm512_mask_storeu_ps(dst + p * width, to, r[p]);
}

/* 16 steps of a panel of 8 rows: 8 x 16 turned in 32 shuffles. */
static inline void eight(const float *src, int64_t is, float *dst)
{
  __m512 r[8], t[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; i++) {
    _mm_prefetch((const char *)(src + i * is + AHEAD), _MM_HINT_T1);
    r[i] = _mm512_loadu_ps(src + i * is);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
  }
  /* r[2s + q]: rows 4q..4q+3 of columns s, 4+s, 8+s, 12+s */
#pragma GCC unroll 2
  for (int q = 0; q < 2; q++)
#pragma GCC unroll 2
    for (int h = 0; h < 2; h++) {
      const __m512d lo = _mm512_castps_pd(t[4 * q + h]), hi = _mm512_castps_pd(t[4 * q + 2 + h]);
      r[4 * h + q] = _mm512_castpd_ps(_mm512_unpacklo_pd(lo, hi));
      r[4 * h + 2 + q] = _mm512_castpd_ps(_mm512_unpackhi_pd(lo, hi));
    }
#pragma GCC unroll 2
  for (int h = 0; h < 2; h++) {
    const __m512 a = _mm512_shuffle_f32x4(r[4 * h], r[4 * h + 1], 0x44);
    const __m512 b = _mm512_shuffle_f32x4(r[4 * h], r[4 * h + 1], 0xee);
    const __m512 c = _mm512_shuffle_f32x4(r[4 * h + 2], r[4 * h + 3], 0x44);
    const __m512 d = _mm512_shuffle_f32x4(r[4 * h + 2], r[4 * h + 3], 0xee);
    _mm512_storeu_ps(dst + 16 * h, _mm512_shuffle_f32x4(a, c, 0x88));
    _mm512_storeu_ps(dst + 32 + 16 * h, _mm512_shuffle_f32x4(a, c, 0xdd));
    _mm512_storeu_ps(dst + 64 + 16 * h, _mm512_shuffle_f32x4(b, d, 0x88));
    _mm512_storeu_ps(dst + 96 + 16 * h, _mm512_shuffle_f32x4(b, d, 0xdd));
  }
}

/* Where all rows lie alike in their cache lines, the first squares end with a line: then each line
 * is read by one load, and it does not matter if the lines of a column share a set. */
static void along_k(int64_t width, int64_t rows, int64_t k, const float *src, int64_t is,
                    float *dst)
{
  const int64_t to_line = -((intptr_t)src / (intptr_t)sizeof *src) & (VL - 1);
  const int64_t first = is % VL == 0 && to_line > 0 ? to_line : VL;
  for (int64_t p = 0, next = first, steps; p < k; p = next, next += VL) {
    steps = (next < k ? next : k) - p;
    if (width == 8 && rows == 8 && steps == VL) {
      eight(src + p, is, dst + p * 8);
      continue;
    }
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
