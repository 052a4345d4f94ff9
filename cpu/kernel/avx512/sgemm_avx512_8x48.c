/* sgemm_avx512_8x48: f32 panel kernel, AVX-512.
 *
 *             b[0..15]  b[16..31]  b[32..47]       zmm registers
 *            +---------+---------+---------+         24  accumulators, 8 rows x 3 vectors
 *     a[0]   |acc[0][0]|acc[0][1]|acc[0][2]|          3  a row of B
 *      :     |    :    |    :    |    :    |          1  an element of A, broadcast
 *     a[7]   |acc[7][0]|acc[7][1]|acc[7][2]|         28  of 32
 *            +---------+---------+---------+
 *
 * One k step: 24 FMAs, 3 vector loads, 8 broadcast loads. Bound by the FMA units: one 512-bit FMA
 * a cycle takes 24 cycles, two take 12, and the 11 loads need 6; 24 independent chains cover a
 * latency of 4 cycles on either. Traffic a step: 32 bytes of A, 192 bytes of B.
 *
 * Eight rows of C, and no more: with a power of two as leading dimension all of them map to one or
 * two sets of an L1 of 8 ways or more. Of 14 rows some are evicted before they are stored.
 *
 * Rows beyond m are not computed: there is one body for each count of rows and of vectors.
 */
#ifndef __AVX512F__
#error "compile this file with -mavx512f -mavx512vl -mavx512bw -mavx512dq -mfma"
#endif
#include <immintrin.h>
#include <stddef.h>
#include "../../ukr.h"

enum { MR = 8, NR = 48, VECS = 3, VL = 16, PREFETCH = 8, STEPS = 8, NEAR = 128 };

struct args {
  int64_t k, run, rs_a, cs_a, rs_c;
  const float *a, *b;
  float alpha, beta, *c;
  struct xg_fetch fetch;
  __mmask16 last; /* columns of the last vector */
};

static inline __attribute__((always_inline)) void tile(const int rows, const int vecs,
                                                       const struct args *x)
{
  __m512 acc[MR][VECS];
#pragma GCC unroll 8
  for (int i = 0; i < rows; i++)
#pragma GCC unroll 3
    for (int v = 0; v < vecs; v++) acc[i][v] = _mm512_setzero_ps();
  const int64_t rs = x->rs_a, cs = x->cs_a, ahead = PREFETCH * cs;
  const float *a[3] = {x->a, x->a + 3 * rs, x->a + 6 * rs}, *b = x->b, *c = x->c;
  const char *fetch = x->fetch.at;
  _Alignas(64) float room[MR][VECS][VL];
  const float(*kept)[VECS][VL] = NULL; /* the sums of the runs before */
  int64_t left = x->k, after = x->k - x->run;
  if (left <= NEAR) c += MR * x->rs_c;
  /* A row of C is called for every STEPS steps of k: all at once they would fill the miss buffers
   * and keep A and B waiting. So it is with what is fetched for later. */
  for (int row = 0; left > 0; row++) {
    const int64_t round = (row < rows || fetch) && left - after > STEPS ? STEPS : left - after;
    if (row < rows) {
#pragma GCC unroll 3
      for (int v = 0; v < vecs; v++) _mm_prefetch((const char *)(c + v * VL), _MM_HINT_T0);
      _mm_prefetch((const char *)(c + VL * vecs - 1), _MM_HINT_T0);
      c += x->rs_c;
    }
    if (fetch) {
      const char *line = fetch;
#pragma GCC unroll 8
      for (int i = 0; i < STEPS; i++, line += x->fetch.inner) _mm_prefetch(line, _MM_HINT_T1);
      fetch += x->fetch.outer;
    }
    left -= round;
#pragma GCC unroll 1
    for (int64_t steps = round; steps > 0; steps--) {
      __m512 row_of_b[VECS];
      _mm_prefetch((const char *)(a[0] + ahead), _MM_HINT_T0);
#pragma GCC unroll 3
      for (int v = 0; v < vecs; v++) {
        row_of_b[v] = _mm512_load_ps(b + v * VL);
        _mm_prefetch((const char *)(b + PREFETCH * NR + v * VL), _MM_HINT_T0);
      }
#pragma GCC unroll 8
      for (int i = 0; i < rows; i++) {
        const __m512 ai = _mm512_set1_ps(a[i / 3][i % 3 * rs]);
#pragma GCC unroll 3
        for (int v = 0; v < vecs; v++) acc[i][v] = _mm512_fmadd_ps(ai, row_of_b[v], acc[i][v]);
      }
#pragma GCC unroll 3
      for (int i = 0; i < 3; i++) a[i] += cs;
      b += NR;
    }
    if (left > after) continue;
    if (kept) {
#pragma GCC unroll 8
      for (int i = 0; i < rows; i++)
#pragma GCC unroll 3
        for (int v = 0; v < vecs; v++)
          acc[i][v] = _mm512_add_ps(_mm512_load_ps(kept[i][v]), acc[i][v]);
    }
    if (left == 0) break;
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++) {
#pragma GCC unroll 3
      for (int v = 0; v < vecs; v++) {
        _mm512_store_ps(room[i][v], acc[i][v]);
        acc[i][v] = _mm512_setzero_ps();
      }
    }
    kept = room;
    after = left > x->run ? left - x->run : 0;
  }

  const __m512 alpha = _mm512_set1_ps(x->alpha), beta = _mm512_set1_ps(x->beta);
#pragma GCC unroll 8
  for (int i = 0; i < rows; i++) {
#pragma GCC unroll 3
    for (int v = 0; v < vecs; v++) {
      const __mmask16 mask = v < vecs - 1 ? (__mmask16)0xffff : x->last;
      float *c = x->c + i * x->rs_c + v * VL;
      __m512 r;
      if (x->beta == 0)
        r = _mm512_mul_ps(alpha, acc[i][v]);
      else if (x->beta == 1)
        r = _mm512_fmadd_ps(alpha, acc[i][v], _mm512_maskz_loadu_ps(mask, c));
      else
        r = _mm512_fmadd_ps(alpha, acc[i][v], _mm512_mul_ps(beta, _mm512_maskz_loadu_ps(mask, c)));
      _mm512_mask_storeu_ps(c, mask, r);
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
  default:
    tile(8, vecs, x);
    break;
  }
}

static void strided(int64_t m, int64_t n, int64_t k, const void *alpha, const void *a, int64_t rs_a,
                    int64_t cs_a, const void *b, const void *beta, void *c, int64_t rs_c,
                    const struct xg_fetch *fetch)
{
  const struct args x = {k,
                         xg_run(k),
                         rs_a,
                         cs_a,
                         rs_c,
                         a,
                         b,
                         *(const float *)alpha,
                         *(const float *)beta,
                         c,
                         *fetch,
                         (__mmask16)(0xffffu >> ((-n) & (VL - 1)))};
  if (n > 2 * VL)
    rows_of(3, m, &x);
  else if (n > VL)
    rows_of(2, m, &x);
  else
    rows_of(1, m, &x);
}

static void kernel(int64_t m, int64_t n, int64_t k, const void *alpha, const void *a, const void *b,
                   const void *beta, void *c, int64_t rs_c)
{
  const struct xg_fetch none = {NULL, 0, 0};
  strided(m, n, k, alpha, a, 1, MR, b, beta, c, rs_c, &none);
}

const struct xg_ukr sgemm_avx512_8x48 = {
    .name = "sgemm_avx512_8x48",
    .isa = XG_ISA_AVX512,
    .kind = XG_UKR_PANEL,
    .type = 's',
    .mr = MR,
    .nr = NR,
    .flags = XG_UKR_MASKED,
    .priority = 20,
    .panel = kernel,
    .strided = strided,
};
