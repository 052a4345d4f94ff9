/* sgemm_base_inplace: f32, small products read where they are, for any machine.
 *
 * Tiles of 4 rows x 2 vectors of 4 columns live in registers over the whole of k, as in the panel
 * kernel; rows and columns left over are done one vector, and then one element, at a time. Bound by
 * the adders in whole tiles.
 */
#include "../../ukr.h"

enum { MR = 4, NR = 8, VL = 4 };
typedef float vec __attribute__((vector_size(16)));

struct args {
  int64_t k, rs_a, cs_a, rs_b, rs_c;
  float alpha, beta;
};

static inline vec load(const float *p)
{
  vec v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}

static inline __attribute__((always_inline)) void
tile(const int rows, const int vecs, const struct args *x, const float *a, const float *b, float *c)
{
  vec acc[MR][2] = {{{0}}};
#pragma GCC unroll 1
  for (int64_t p = 0; p < x->k; p++) {
    const vec b0 = load(b), b1 = vecs == 2 ? load(b + VL) : b0;
#pragma GCC unroll 4
    for (int i = 0; i < rows; i++) {
      const float s = a[i * x->rs_a];
      const vec ai = {s, s, s, s};
      acc[i][0] += ai * b0;
      if (vecs == 2) acc[i][1] += ai * b1;
    }
    a += x->cs_a, b += x->rs_b;
  }
#pragma GCC unroll 4
  for (int i = 0; i < rows; i++) {
#pragma GCC unroll 2
    for (int v = 0; v < vecs; v++) {
      float *to = c + i * x->rs_c + v * VL;
      vec r = x->alpha * acc[i][v];
      if (x->beta != 0) r += x->beta * load(to);
      __builtin_memcpy(to, &r, sizeof r);
    }
  }
}

static void element(const struct args *x, const float *a, const float *b, float *c)
{
  float sum = 0;
  for (int64_t p = 0; p < x->k; p++) sum += a[p * x->cs_a] * b[p * x->rs_b];
  float r = x->alpha * sum;
  if (x->beta != 0) r += x->beta * *c;
  *c = r;
}

/* All m rows of a strip of 8, 4 or 1 columns. */
static void strip(int64_t width, int64_t m, const struct args *x, const float *a, const float *b,
                  float *c)
{
  int64_t i = 0;
  if (width == NR)
    for (; i + MR <= m; i += MR) tile(MR, 2, x, a + i * x->rs_a, b, c + i * x->rs_c);
  else if (width == VL)
    for (; i + MR <= m; i += MR) tile(MR, 1, x, a + i * x->rs_a, b, c + i * x->rs_c);
  for (; i < m; i++) {
    if (width == NR)
      tile(1, 2, x, a + i * x->rs_a, b, c + i * x->rs_c);
    else if (width == VL)
      tile(1, 1, x, a + i * x->rs_a, b, c + i * x->rs_c);
    else
      element(x, a + i * x->rs_a, b, c + i * x->rs_c);
  }
}

static void kernel(int64_t m, int64_t n, int64_t k, const void *alpha, const void *a, int64_t rs_a,
                   int64_t cs_a, const void *b_p, int64_t rs_b, const void *beta, void *c_p,
                   int64_t rs_c)
{
  const struct args x = {k, rs_a, cs_a, rs_b, rs_c, *(const float *)alpha, *(const float *)beta};
  const float *b = b_p;
  float *c = c_p;
  while (n > 0) {
    const int64_t width = n >= NR ? NR : n >= VL ? VL : 1;
    strip(width, m, &x, a, b, c);
    b += width, c += width, n -= width;
  }
}

const struct xg_ukr sgemm_base_inplace = {
    .name = "sgemm_base_inplace",
    .isa = XG_ISA_BASE,
    .kind = XG_UKR_INPLACE,
    .type = 's',
    .mr = MR,
    .nr = NR,
    .flags = XG_UKR_MASKED,
    .priority = 10,
    .inplace = kernel,
};
