/* sgemm_avx2_6x16: f32 panel kernel, AVX2 and FMA.
 *
 *             b[0..7]    b[8..15]           ymm registers
 *           +----------+----------+           12  accumulators, 6 rows x 2 vectors
 *     a[0]  | acc[0][0]| acc[0][1]|            2  a row of B
 *      :    |    :     |    :     |            2  elements of A, broadcast
 *     a[5]  | acc[5][0]| acc[5][1]|           16  of 16
 *           +----------+----------+
 *
 * One k step: 12 FMAs, 2 vector loads, 6 broadcast loads. Bound by the FMA units: at two a cycle 6
 * cycles, for which the 8 loads need 4; 12 chains cover a latency of 5 cycles at two a cycle (10).
 * Traffic a step: 24 bytes of A, 64 bytes of B. Edges have fewer rows and vectors, and the last
 * vector is stored in part. Row i of A is base[i/3] + (i%3)*rs: two pointers and one index
 * register.
 */
#if !defined(__AVX2__) || !defined(__FMA__)
#error "compile this file with -mavx2 -mfma"
#endif
#include <stddef.h>
#include "../../ukr.h"
#include "part.h"

enum { MR = 6, NR = 16, VL = 8, PREFETCH = 16, STEPS = 8, NEAR = 4 };

struct args {
  int64_t k, run, rs_a, cs_a, rs_c;
  const float *a, *b;
  float alpha, beta, *c;
  struct xg_fetch fetch;
  int64_t last; /* columns of the last vector */
};

static inline __attribute__((always_inline)) void
update(float *c, __m256 sum, const int whole, __m256 alpha, __m256 beta, const struct args *x)
{
  __m256 r = _mm256_mul_ps(alpha, sum);
  if (x->beta != 0) {
    const __m256 old = whole ? _mm256_loadu_ps(c) : _mm256_maskload_ps(c, lanes_f32(x->last));
    r = _mm256_fmadd_ps(alpha, sum, _mm256_mul_ps(beta, old));
  }
  if (whole)
    _mm256_storeu_ps(c, r);
  else
    store_part_f32(c, r, x->last);
}

static inline __attribute__((always_inline)) void tile(const int rows, const int vecs,
                                                       const int whole, const struct args *x)
{
  __m256 acc[MR][2];
#pragma GCC unroll 6
  for (int i = 0; i < rows; i++) acc[i][0] = acc[i][1] = _mm256_setzero_ps();
  const int64_t rs = x->rs_a, cs = x->cs_a, ahead = (cs > MR ? NEAR : PREFETCH) * cs;
  const float *a[2] = {x->a, x->a + 3 * rs}, *b = x->b, *row_of_c = x->c;
  const char *fetch = x->fetch.at;
  _Alignas(32) float room[MR][2][VL];
  const float(*kept)[2][VL] = NULL; /* the sums of the runs before */
  int64_t left = x->k, after = x->k - x->run;
  /* A row of C is called for every STEPS steps of k: all at once they would fill the miss buffers
   * and keep A and B waiting. So it is with what is fetched for later. */
  for (int row = 0; left > 0; row++) {
    int64_t steps = (row < rows || fetch) && left - after > STEPS ? STEPS : left - after;
    if (row < rows) {
      _mm_prefetch((const char *)row_of_c, _MM_HINT_T0);
      _mm_prefetch((const char *)(row_of_c + vecs * VL - 1), _MM_HINT_T0);
      row_of_c += x->rs_c;
    }
    if (fetch) {
      const char *line = fetch;
#pragma GCC unroll 8
      for (int i = 0; i < STEPS; i++, line += x->fetch.inner) _mm_prefetch(line, _MM_HINT_T1);
      fetch += x->fetch.outer;
    }
    left -= steps;
#pragma GCC unroll 2
    for (; steps > 0; steps--) {
      const __m256 b0 = _mm256_load_ps(b), b1 = vecs == 2 ? _mm256_load_ps(b + VL) : b0;
      _mm_prefetch((const char *)(a[0] + ahead), _MM_HINT_T0);
      _mm_prefetch((const char *)(b + PREFETCH * NR), _MM_HINT_T0);
#pragma GCC unroll 6
      for (int i = 0; i < rows; i++) {
        const __m256 ai = _mm256_broadcast_ss(a[i / 3] + i % 3 * rs);
        acc[i][0] = _mm256_fmadd_ps(ai, b0, acc[i][0]);
        if (vecs == 2) acc[i][1] = _mm256_fmadd_ps(ai, b1, acc[i][1]);
      }
      a[0] += cs, a[1] += cs, b += NR;
    }
    if (left > after) continue;
    if (kept) {
#pragma GCC unroll 6
      for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
        for (int v = 0; v < vecs; v++)
          acc[i][v] = _mm256_add_ps(_mm256_load_ps(kept[i][v]), acc[i][v]);
    }
    if (left == 0) break;
#pragma GCC unroll 6
    for (int i = 0; i < rows; i++) {
#pragma GCC unroll 2
      for (int v = 0; v < vecs; v++) {
        _mm256_store_ps(room[i][v], acc[i][v]);
        acc[i][v] = _mm256_setzero_ps();
      }
    }
    kept = room;
    after = left > x->run ? left - x->run : 0;
  }

  const __m256 alpha = _mm256_set1_ps(x->alpha), beta = _mm256_set1_ps(x->beta);
  float *c = x->c;
#pragma GCC unroll 6
  for (int i = 0; i < rows; i++, c += x->rs_c) {
    if (vecs == 2) update(c, acc[i][0], 1, alpha, beta, x);
    update(c + (vecs - 1) * VL, acc[i][vecs - 1], whole, alpha, beta, x);
  }
}

static inline __attribute__((always_inline)) void rows_of(const int vecs, int64_t rows,
                                                          const struct args *x)
{
  switch (rows) {
  case 1:
    tile(1, vecs, 0, x);
    break;
  case 2:
    tile(2, vecs, 0, x);
    break;
  case 3:
    tile(3, vecs, 0, x);
    break;
  case 4:
    tile(4, vecs, 0, x);
    break;
  case 5:
    tile(5, vecs, 0, x);
    break;
  default:
    tile(6, vecs, 0, x);
    break;
  }
}

static void strided(int64_t m, int64_t n, int64_t k, const void *alpha, const void *a, int64_t rs_a,
                    int64_t cs_a, const void *b, const void *beta, void *c, int64_t rs_c,
                    const struct xg_fetch *fetch)
{
  const struct args x = {
      .k = k,
      .run = xg_run(k),
      .rs_a = rs_a,
      .cs_a = cs_a,
      .rs_c = rs_c,
      .a = a,
      .b = b,
      .alpha = *(const float *)alpha,
      .beta = *(const float *)beta,
      .c = c,
      .fetch = *fetch,
      .last = n > VL ? n - VL : n,
  };
  if (m == MR && n == NR)
    tile(MR, 2, 1, &x);
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

const struct xg_ukr sgemm_avx2_6x16 = {
    .name = "sgemm_avx2_6x16",
    .isa = XG_ISA_AVX2,
    .kind = XG_UKR_PANEL,
    .type = 's',
    .mr = MR,
    .nr = NR,
    .flags = XG_UKR_MASKED,
    .priority = 10,
    .panel = kernel,
    .strided = strided,
};
