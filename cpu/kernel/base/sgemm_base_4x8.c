/* sgemm_base_4x8: f32 panel kernel for any machine, in the compiler's own 16-byte vectors.
 *
 *            b[0..3]   b[4..7]         16-byte registers
 *           +---------+---------+        8  accumulators, 4 rows x 2 vectors
 *     a[0]  |acc[0][0]|acc[0][1]|        2  a row of B
 *      :    |    :    |    :    |        1  an element of A in all lanes, 1 product
 *     a[3]  |acc[3][0]|acc[3][1]|       12  of the 16 of x86-64
 *           +---------+---------+
 *
 * One k step: 8 multiplies and 8 adds. Bound by the adders where there is no fused multiply-add; 8
 * chains cover a latency of 4 cycles at two adds a cycle.
 */
#include "../../ukr.h"

enum { MR = 4, NR = 8, VL = 4 };
typedef float vec __attribute__((vector_size(16)));

static inline vec load(const float *p)
{
  vec v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}

/* The sums of one run. */
static inline void add(vec sums[MR][2], int64_t k, const float *a, const float *b)
{
  vec acc[MR][2] = {{{0}}};
#pragma GCC unroll 1
  for (; k > 0; k--) {
    const vec b0 = load(b), b1 = load(b + VL);
#pragma GCC unroll 4
    for (int i = 0; i < MR; i++) {
      const vec ai = {a[i], a[i], a[i], a[i]};
      acc[i][0] += ai * b0;
      acc[i][1] += ai * b1;
    }
    a += MR, b += NR;
  }
  __builtin_memcpy(sums, acc, sizeof acc);
}

static void kernel(int64_t m, int64_t n, int64_t k, const void *alpha_p, const void *a_p,
                   const void *b_p, const void *beta_p, void *c_p, int64_t rs_c)
{
  (void)m, (void)n; /* always whole tiles */
  const float *a = a_p, *b = b_p, alpha = *(const float *)alpha_p, beta = *(const float *)beta_p;
  const int64_t run = xg_run(k);
  vec acc[MR][2];
  add(acc, run < k ? run : k, a, b);
  for (int64_t p = run; p < k; p += run) {
    vec more[MR][2];
    add(more, run < k - p ? run : k - p, a + p * MR, b + p * NR);
#pragma GCC unroll 4
    for (int i = 0; i < MR; i++) acc[i][0] += more[i][0], acc[i][1] += more[i][1];
  }

#pragma GCC unroll 4
  for (int i = 0; i < MR; i++) {
#pragma GCC unroll 2
    for (int v = 0; v < 2; v++) {
      float *c = (float *)c_p + i * rs_c + v * VL;
      vec r = alpha * acc[i][v];
      if (beta != 0) r += beta * load(c);
      __builtin_memcpy(c, &r, sizeof r);
    }
  }
}

const struct xg_ukr sgemm_base_4x8 = {
    .name = "sgemm_base_4x8",
    .isa = XG_ISA_BASE,
    .kind = XG_UKR_PANEL,
    .type = 's',
    .mr = MR,
    .nr = NR,
    .priority = 10,
    .panel = kernel,
};
