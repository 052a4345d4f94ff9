/* The blocked product when not a byte of workspace can be had: no panels, no kernel, one element
 * after the other. Slow, but it needs no memory, and its additions and roundings are those of the
 * micro-kernel contract (ukr.h), so the bits are the ones the kernel would have given. */
#include <math.h>

#include "loops.h"
#include "loops_common.h"
#include "loops_deep.h"

struct slice { /* one KC block of k, in runs */
  int64_t first, count, run;
  int fused; /* the kernel's instruction set has fused multiply-add */
};

static void element_f32(const struct xg_problem *o, const struct slice *s, int64_t i, int64_t j)
{
  const float *a = (const float *)o->a.data + i * o->a.rs + s->first * o->a.cs;
  const float *b = (const float *)o->b.data + s->first * o->b.rs + j * o->b.cs;
  float *c = (float *)o->c.data + i * o->c.rs + j * o->c.cs;
  const float alpha = (float)o->alpha, beta = s->first ? 1 : (float)o->beta;
  float total = 0;
  for (int64_t p = 0; p < s->count;) {
    const int64_t first = p, last = min64(p + s->run, s->count);
    float sum = 0;
    for (; p < last; p++, a += o->a.cs, b += o->b.rs)
      sum = s->fused ? fmaf(*a, *b, sum) : sum + *a * *b;
    total = first == 0 ? sum : total + sum;
  }
  if (beta == 0)
    *c = alpha * total;
  else
    *c = s->fused ? fmaf(alpha, total, beta * *c) : alpha * total + beta * *c;
}

static void element_f64(const struct xg_problem *o, const struct slice *s, int64_t i, int64_t j)
{
  const double *a = (const double *)o->a.data + i * o->a.rs + s->first * o->a.cs;
  const double *b = (const double *)o->b.data + s->first * o->b.rs + j * o->b.cs;
  double *c = (double *)o->c.data + i * o->c.rs + j * o->c.cs;
  const double alpha = o->alpha, beta = s->first ? 1 : o->beta;
  double total = 0;
  for (int64_t p = 0; p < s->count;) {
    const int64_t first = p, last = min64(p + s->run, s->count);
    double sum = 0;
    for (; p < last; p++, a += o->a.cs, b += o->b.rs)
      sum = s->fused ? fma(*a, *b, sum) : sum + *a * *b;
    total = first == 0 ? sum : total + sum;
  }
  if (beta == 0)
    *c = alpha * total;
  else
    *c = s->fused ? fma(alpha, total, beta * *c) : alpha * total + beta * *c;
}

void xg_loops_bare(const struct xg_problem *oriented, const struct xg_ukr *u, int64_t kc)
{
  const struct xg_problem *o = oriented;
  struct slice s = {.fused = u->isa >= XG_ISA_AVX2};
  for (s.first = 0; s.first < o->k; s.first += s.count) {
    s.count = min64(kc, o->k - s.first);
    s.run = u->kind == XG_UKR_PANEL ? xg_run(s.count) : s.count;
    for (int64_t i = 0; i < o->m; i++)
      for (int64_t j = 0; j < o->n; j++)
        if (o->type == XGEMM_F64)
          element_f64(o, &s, i, j);
        else
          element_f32(o, &s, i, j);
  }
}

/* ---------------------------------------------------------------- k in chunks */

/* One chain of fused additions. */
static double chain(const struct xg_problem *o, int64_t i, int64_t j, int64_t first, int64_t last)
{
  float narrow = 0;
  double wide = 0;
  for (int64_t p = first; p < last; p++) {
    const char *a = at(&o->a, (int64_t)xg_sizeof(o->type), i, p);
    const char *b = at(&o->b, (int64_t)xg_sizeof(o->type), p, j);
    if (o->type == XGEMM_F64)
      wide = fma(*(const double *)a, *(const double *)b, wide);
    else
      narrow = fmaf(*(const float *)a, *(const float *)b, narrow);
  }
  return o->type == XGEMM_F64 ? wide : narrow;
}

/* Pieces of a chunk, one after the other. */
static double pieces(const struct xg_problem *o, int64_t i, int64_t j, const struct xg_deep *cut,
                     int64_t first)
{
  const int64_t last = min64(first + cut->chunk, o->k);
  double sum = chain(o, i, j, first, min64(first + cut->kc, last));
  for (int64_t p = first + cut->kc; p < last; p += cut->kc) {
    sum += chain(o, i, j, p, min64(p + cut->kc, last));
    if (o->type == XGEMM_F32) sum = (float)sum;
  }
  return sum;
}

void xg_deep_bare(const struct xg_problem *o, const struct xg_deep *cut)
{
  for (int64_t i = 0; i < o->m; i++)
    for (int64_t j = 0; j < o->n; j++) {
      double sum = pieces(o, i, j, cut, 0);
      for (int64_t p = cut->chunk; p < o->k; p += cut->chunk) {
        sum += pieces(o, i, j, cut, p);
        if (o->type == XGEMM_F32) sum = (float)sum;
      }
      char *c = at(&o->c, (int64_t)xg_sizeof(o->type), i, j);
      if (o->type == XGEMM_F64) {
        double *d = (double *)c;
        *d = o->beta == 0 ? o->alpha * sum : fma(o->alpha, sum, o->beta * *d);
      } else {
        const float alpha = (float)o->alpha, beta = (float)o->beta, total = (float)sum;
        float *f = (float *)c;
        *f = beta == 0 ? alpha * total : fmaf(alpha, total, beta * *f);
      }
    }
}
