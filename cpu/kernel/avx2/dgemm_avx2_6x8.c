/* dgemm_avx2_6x8: f64 panel kernel, AVX2 and FMA.
 *
 *             b[0..3]    b[4..7]            ymm registers
 *           +----------+----------+           12  accumulators, 6 rows x 2 vectors
 *     a[0]  | acc[0][0]| acc[0][1]|            2  a row of B
 *      :    |    :     |    :     |            2  elements of A, broadcast
 *     a[5]  | acc[5][0]| acc[5][1]|           16  of 16
 *           +----------+----------+
 *
 * One k step: 12 FMAs, 2 vector loads, 6 broadcast loads. Bound by the FMA units: at two a cycle 6
 * cycles, for which the 8 loads need 4; 12 chains cover a latency of 5 cycles at two a cycle (10).
 * Traffic a step: 48 bytes of A, 64 bytes of B.
 */
#if !defined(__AVX2__) || !defined(__FMA__)
#error "compile this file with -mavx2 -mfma"
#endif
#include <immintrin.h>
#include "../../ukr.h"

enum { MR = 6, NR = 8, VL = 4, PREFETCH = 16, STEPS = 16 };

static void kernel(int64_t m, int64_t n, int64_t k, const void *alpha_p, const void *a_p,
                   const void *b_p, const void *beta_p, void *c_p, int64_t rs_c)
{
  (void)m, (void)n; /* always whole tiles */
  const double *a = a_p, *b = b_p;
  double *c = c_p;
  __m256d acc[MR][2];
#pragma GCC unroll 6
  for (int i = 0; i < MR; i++) acc[i][0] = acc[i][1] = _mm256_setzero_pd();
  const double *row_of_c = c;
  /* A row of C is called for every STEPS steps of k: all at once they would fill the miss buffers
   * and keep A and B waiting. The last round does what is left. */
  for (int row = 0; k > 0; row++) {
    int64_t steps = row < MR && k > STEPS ? STEPS : k;
    _mm_prefetch((const char *)row_of_c, _MM_HINT_T0);
    _mm_prefetch((const char *)(row_of_c + NR - 1), _MM_HINT_T0);
    row_of_c += row < MR - 1 ? rs_c : 0;
    k -= steps;
#pragma GCC unroll 4
    for (; steps > 0; steps--) {
      const __m256d b0 = _mm256_load_pd(b), b1 = _mm256_load_pd(b + VL);
      _mm_prefetch((const char *)(a + PREFETCH * MR), _MM_HINT_T0);
      _mm_prefetch((const char *)(b + PREFETCH * NR), _MM_HINT_T0);
#pragma GCC unroll 6
      for (int i = 0; i < MR; i++) {
        const __m256d ai = _mm256_broadcast_sd(a + i);
        acc[i][0] = _mm256_fmadd_pd(ai, b0, acc[i][0]);
        acc[i][1] = _mm256_fmadd_pd(ai, b1, acc[i][1]);
      }
      a += MR, b += NR;
    }
  }

  const __m256d alpha = _mm256_broadcast_sd(alpha_p), beta = _mm256_broadcast_sd(beta_p);
  const int overwrite = *(const double *)beta_p == 0;
#pragma GCC unroll 6
  for (int i = 0; i < MR; i++) {
#pragma GCC unroll 2
    for (int v = 0; v < 2; v++) {
      double *to = c + i * rs_c + v * VL;
      if (overwrite)
        _mm256_storeu_pd(to, _mm256_mul_pd(alpha, acc[i][v]));
      else
        _mm256_storeu_pd(
            to, _mm256_fmadd_pd(alpha, acc[i][v], _mm256_mul_pd(beta, _mm256_loadu_pd(to))));
    }
  }
}

const struct xg_ukr dgemm_avx2_6x8 = {
    .name = "dgemm_avx2_6x8",
    .isa = XG_ISA_AVX2,
    .kind = XG_UKR_PANEL,
    .type = 'd',
    .mr = MR,
    .nr = NR,
    .priority = 10,
    .panel = kernel,
};
