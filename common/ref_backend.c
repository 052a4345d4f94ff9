/* The reference engine: the triple loop with a wider accumulator. Slow, always right, host only;
 * what the other engines are compared with and the last resort of the router. */
#include <stdio.h>

#include "backend.h"
#include "roofline.h"
#include "status.h"

static const char *const names[] = {"sgemm_ref", "dgemm_ref"};

static const char *available(int start)
{
  (void)start;
  return NULL;
}

static const char *ok(const struct xg_problem *p, const struct xg_request *r, char *why,
                      size_t size)
{
  (void)r, (void)why, (void)size;
  return p->space == XGEMM_SPACE_DEVICE ? "it reads host memory only" : NULL;
}

static xgemm_status choose(const struct xg_problem *p, const struct xg_request *r,
                           struct xg_choice *out)
{
  (void)r;
  /* One dependent multiply-add a step, at a latency of about 2 ns. */
  double seconds = xg_flops(p) * 1e-9 + 1e-6;
  *out = (struct xg_choice){
      .backend = &xg_backend_ref,
      .kernel = names[p->type == XGEMM_F64],
      .threads = 1,
      .mc = 1,
      .nc = 1,
      .kc = p->k,
      .split_k = 1,
      .device = -1,
      .compute = seconds,
      .seconds = seconds,
  };
  return XGEMM_OK;
}

/* alpha * sum + beta * C, rounded once to the type. */
static void product_f32(const struct xg_problem *p)
{
  for (int64_t i = 0; i < p->m; i++)
    for (int64_t j = 0; j < p->n; j++) {
      const float *a = (const float *)p->a.data + i * p->a.rs;
      const float *b = (const float *)p->b.data + j * p->b.cs;
      float *c = (float *)p->c.data + i * p->c.rs + j * p->c.cs;
      double sum = 0;
      for (int64_t l = 0; l < p->k; l++) sum += (double)a[l * p->a.cs] * (double)b[l * p->b.rs];
      sum *= p->alpha;
      *c = (float)(p->beta == 0 ? sum : sum + p->beta * (double)*c);
    }
}

static void product_f64(const struct xg_problem *p)
{
  for (int64_t i = 0; i < p->m; i++)
    for (int64_t j = 0; j < p->n; j++) {
      const double *a = (const double *)p->a.data + i * p->a.rs;
      const double *b = (const double *)p->b.data + j * p->b.cs;
      double *c = (double *)p->c.data + i * p->c.rs + j * p->c.cs;
      long double sum = 0;
      for (int64_t l = 0; l < p->k; l++)
        sum += (long double)a[l * p->a.cs] * (long double)b[l * p->b.rs];
      sum *= (long double)p->alpha;
      *c = (double)(p->beta == 0 ? sum : sum + (long double)p->beta * *c);
    }
}

static xgemm_status run(const struct xg_choice *c, const struct xg_problem *p,
                        const struct xg_request *r)
{
  (void)c, (void)r;
  if (xg_is_scale_only(p))
    xg_scale_host(p);
  else if (p->type == XGEMM_F64)
    product_f64(p);
  else
    product_f32(p);
  return XGEMM_OK;
}

static int kernel_count(void)
{
  return 2;
}

static struct xg_kernel_info kernel_info(int index)
{
  return (struct xg_kernel_info){names[index], "ref", index ? XGEMM_F64 : XGEMM_F32, 1, 1, NULL};
}

const struct xg_backend xg_backend_ref = {
    .name = "ref",
    .id = XGEMM_BACKEND_REF,
    .available = available,
    .ok = ok,
    .choose = choose,
    .run = run,
    .kernel_count = kernel_count,
    .kernel_info = kernel_info,
};
