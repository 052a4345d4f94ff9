/* sgemm_avx512_14x32: f32 panel kernel, AVX-512.
 *
 *              b[0..15]   b[16..31]          zmm registers
 *            +----------+----------+           28  accumulators, 14 rows x 2 vectors
 *     a[0]   | acc[0][0]| acc[0][1]|            2  a row of B
 *      :     |    :     |    :     |            1  an element of A, broadcast
 *     a[13]  |acc[13][0]|acc[13][1]|           31  of 32
 *            +----------+----------+
 *
 * One k step: 28 FMAs, 2 vector loads, 14 broadcast loads. Bound by the FMA units: one 512-bit FMA
 * a cycle takes 28 cycles, two take 14, and the 16 loads need 8; 28 independent chains cover a
 * latency of 4 cycles on either. Traffic a step: 56 bytes of A, 128 bytes of B.
 *
 * Rows beyond m are not computed: there is one body for each row count and for one or two vectors.
 */
#ifndef __AVX512F__
#error "compile this file with -mavx512f -mavx512vl -mavx512bw -mavx512dq -mfma"
#endif
#include <immintrin.h>
#include <stddef.h>
#include "../../ukr.h"

enum { MR = 14, NR = 32, VL = 16, PREFETCH = 8, STEPS = 8 };

struct args {
  int64_t k, run, rs_c;
  const float *a, *b;
  float alpha, beta, *c;
  __mmask16 last; /* columns of the last vector */
};

static inline __attribute__((always_inline)) void tile(const int rows, const int vecs,
                                                       const struct args *x)
{
  __m512 acc[MR][2];
#pragma GCC unroll 14
  for (int i = 0; i < rows; i++) acc[i][0] = acc[i][1] = _mm512_setzero_ps();
  const float *a = x->a, *b = x->b, *c = x->c;
  _Alignas(64) float room[MR][2][VL];
  const float(*kept)[2][VL] = NULL; /* the sums of the runs before */
  int64_t left = x->k, after = x->k - x->run;
  /* A row of C is called for every STEPS steps of k: all at once they would fill the miss buffers
   * and keep A and B waiting. The last round does what is left of a run. */
  for (int row = 0; left > 0; row++) {
    int64_t steps = row < rows && left - after > STEPS ? STEPS : left - after;
    _mm_prefetch((const char *)c, _MM_HINT_T0);
    _mm_prefetch((const char *)(c + VL), _MM_HINT_T0);
    _mm_prefetch((const char *)(c + VL * vecs - 1), _MM_HINT_T0);
    c += row < rows - 1 ? x->rs_c : 0;
    left -= steps;
#pragma GCC unroll 1
    for (; steps > 0; steps--) {
      const __m512 b0 = _mm512_load_ps(b);
      const __m512 b1 = vecs == 2 ? _mm512_load_ps(b + VL) : b0;
      _mm_prefetch((const char *)(a + PREFETCH * MR), _MM_HINT_T0);
      _mm_prefetch((const char *)(b + PREFETCH * NR), _MM_HINT_T0);
      _mm_prefetch((const char *)(b + PREFETCH * NR + VL), _MM_HINT_T0);
#pragma GCC unroll 14
      for (int i = 0; i < rows; i++) {
        const __m512 ai = _mm512_set1_ps(a[i]);
        acc[i][0] = _mm512_fmadd_ps(ai, b0, acc[i][0]);
        if (vecs == 2) acc[i][1] = _mm512_fmadd_ps(ai, b1, acc[i][1]);
      }
      a += MR, b += NR;
    }
    if (left > after) continue;
    if (kept) {
#pragma GCC unroll 14
      for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
        for (int v = 0; v < vecs; v++)
          acc[i][v] = _mm512_add_ps(_mm512_load_ps(kept[i][v]), acc[i][v]);
    }
    if (left == 0) break;
#pragma GCC unroll 14
    for (int i = 0; i < rows; i++) {
#pragma GCC unroll 2
      for (int v = 0; v < vecs; v++) {
        _mm512_store_ps(room[i][v], acc[i][v]);
        acc[i][v] = _mm512_setzero_ps();
      }
    }
    kept = room;
    after = left > x->run ? left - x->run : 0;
  }

  const __m512 alpha = _mm512_set1_ps(x->alpha), beta = _mm512_set1_ps(x->beta);
  const __mmask16 mask[2] = {vecs == 2 ? (__mmask16)0xffff : x->last, x->last};
#pragma GCC unroll 14
  for (int i = 0; i < rows; i++) {
#pragma GCC unroll 2
    for (int v = 0; v < vecs; v++) {
      float *c = x->c + i * x->rs_c + v * VL;
      __m512 r;
      if (x->beta == 0)
        r = _mm512_mul_ps(alpha, acc[i][v]);
      else
        r = _mm512_fmadd_ps(alpha, acc[i][v],
                            _mm512_mul_ps(beta, _mm512_maskz_loadu_ps(mask[v], c)));
      _mm512_mask_storeu_ps(c, mask[v], r);
    }
  }
}

static inline __attribute__((always_inline)) void rows_of(const int vecs, int64_t m,
                                                          const struct args *x)
{
  switch (m) {
  case 1:
    tile(1, vecs, x);
    break;
  case 2:
    tile(2, vecs, x);
    break;
  case 3:
    tile(3, vecs, x);
    break;
  case 4:
    tile(4, vecs, x);
    break;
  case 5:
    tile(5, vecs, x);
    break;
  case 6:
    tile(6, vecs, x);
    break;
  case 7:
    tile(7, vecs, x);
    break;
  case 8:
    tile(8, vecs, x);
    break;
  case 9:
    tile(9, vecs, x);
    break;
  case 10:
    tile(10, vecs, x);
    break;
  case 11:
    tile(11, vecs, x);
    break;
  case 12:
    tile(12, vecs, x);
    break;
  case 13:
    tile(13, vecs, x);
    break;
  default:
    tile(14, vecs, x);
    break;
  }
}

static void kernel(int64_t m, int64_t n, int64_t k, const void *alpha, const void *a, const void *b,
                   const void *beta, void *c, int64_t rs_c)
{
  const struct args x = {k,
                         xg_run(k),
                         rs_c,
                         a,
                         b,
                         *(const float *)alpha,
                         *(const float *)beta,
                         c,
                         (__mmask16)(0xffffu >> ((-n) & (VL - 1)))};
  if (n > VL)
    rows_of(2, m, &x);
  else
    rows_of(1, m, &x);
}

const struct xg_ukr sgemm_avx512_14x32 = {
    .name = "sgemm_avx512_14x32",
    .isa = XG_ISA_AVX512,
    .kind = XG_UKR_PANEL,
    .type = 's',
    .mr = MR,
    .nr = NR,
    .flags = XG_UKR_MASKED,
    .priority = 10,
    .panel = kernel,
};
