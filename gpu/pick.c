#include "pick.h"

#include <math.h>
#include <string.h>

#include "../common/status.h"

struct xg_gkr_args xg_gpu_args(const struct xg_problem *p, const struct xg_gpu_card *card)
{
  return (struct xg_gkr_args){.m = p->m,
                              .n = p->n,
                              .k = p->k,
                              .alpha = p->alpha,
                              .beta = p->beta,
                              .a = p->a.data,
                              .b = p->b.data,
                              .c = p->c.data,
                              .rs_a = p->a.rs,
                              .cs_a = p->a.cs,
                              .rs_b = p->b.rs,
                              .cs_b = p->b.cs,
                              .rs_c = p->c.rs,
                              .cs_c = p->c.cs,
                              .sms = card->sms};
}

const char *xg_gpu_illegal(const struct xg_gkr *kernel, const struct xg_gkr_args *args, char type,
                           const struct xg_gpu_card *card)
{
  if (kernel->type != type) return "it is for another element type";
  if (kernel->min_cc > card->cc) return "it needs a newer card";
  if (kernel->max_cc && kernel->max_cc < card->cc) return "it was compiled for an older card";
  return kernel->ok(args);
}

/* A multiprocessor takes ceil(tiles / SMs) tiles. What it reaches of the kernel's efficiency grows
 * with the independent sums that its warps keep in flight: for w warps whose threads hold x sums
 * each, 1 - exp(-w sqrt(x) / 17.6). That was fitted to the sm80 kernels on an H200: w = 2, x = 16
 * gave 0.36 (f64 0.43), w = 4, x = 64 gave 0.82 (f64 0.86), w = 8, x = 64 gave 0.95. */
double xg_gpu_cost(const struct xg_gkr *kernel, const struct xg_gkr_args *args,
                   const struct xg_gpu_card *card)
{
  const double in_flight = 17.6, tile_seconds = 1e-6; /* the first loads, the last stores */
  double tiles_m = (double)((args->m + kernel->bm - 1) / kernel->bm);
  double tiles_n = (double)((args->n + kernel->bn - 1) / kernel->bn);
  double tiles = tiles_m * tiles_n, each = ceil(tiles / card->sms);
  double sums = (double)kernel->bm * kernel->bn / kernel->threads;
  double busy = 1 - exp(-each * kernel->threads / 32 * sqrt(sums) / in_flight);
  double peak = kernel->type == 'd' ? card->peak_d : card->peak_s;
  double rate = peak / card->sms * kernel->efficiency * busy;
  double flops = 2.0 * kernel->bm * kernel->bn * (double)args->k;
  return each * flops / rate + tile_seconds;
}

static const struct xg_gkr *by_name(const char *name)
{
  for (int i = 0; xg_gkr_table[i]; i++)
    if (strcmp(xg_gkr_table[i]->name, name) == 0) return xg_gkr_table[i];
  return NULL;
}

/* Rungs are for reading and timing, and run only by name. */
static int is_candidate(const struct xg_gkr *kernel)
{
  return strcmp(kernel->family, "ladder") != 0;
}

xgemm_status xg_gpu_pick(const struct xg_problem *p, const struct xg_gpu_card *card,
                         const char *name, const struct xg_gkr **kernel, double *seconds)
{
  struct xg_gkr_args args = xg_gpu_args(p, card);
  char type = xg_letter(p->type);
  const char *why = NULL;
  if (name) {
    *kernel = by_name(name);
    if (!*kernel) return xg_fail(XGEMM_UNKNOWN_NAME, "there is no GPU kernel \"%.64s\"", name);
    why = xg_gpu_illegal(*kernel, &args, type, card);
    if (why) return xg_fail(XGEMM_UNSUPPORTED, "kernel %s can't, because %s", name, why);
    *seconds = xg_gpu_cost(*kernel, &args, card);
    return XGEMM_OK;
  }
  *kernel = NULL;
  for (int i = 0; xg_gkr_table[i]; i++) {
    const struct xg_gkr *x = xg_gkr_table[i];
    if (!is_candidate(x) || x->type != type) continue;
    const char *bad = xg_gpu_illegal(x, &args, type, card);
    double cost = bad ? 0 : xg_gpu_cost(x, &args, card);
    if (bad)
      why = bad;
    else if (!*kernel || cost < *seconds)
      *kernel = x, *seconds = cost;
  }
  if (*kernel) return XGEMM_OK;
  return xg_fail(XGEMM_UNSUPPORTED, "no GPU kernel can, because %s", why ? why : "none is built");
}
