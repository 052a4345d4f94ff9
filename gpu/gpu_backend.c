/* The GPU engine as the rest of the library sees it. */
#include <stdio.h>
#include <string.h>

#include "../common/backend.h"
#include "../common/env.h"
#include "../common/status.h"
#include "device.h"
#include "gkr.h"
#include "pick.h"
#include "scale.h"
#include "staging.h"

static const double launch_seconds = 4e-6;
static const double start_seconds = 0.3; /* the driver's initialisation and the first context */

/* Host operands under AUTO do not start CUDA: whether that pays is the router's question. */
static int may_start(const struct xg_problem *p, const struct xg_request *r)
{
  return r->backend == XGEMM_BACKEND_GPU || r->kernel || p->space == XGEMM_SPACE_DEVICE;
}

static const char *too_large(const struct xg_problem *p, const struct xg_gpu_card *card, char *why,
                             size_t size)
{
  if (p->space == XGEMM_SPACE_DEVICE) return NULL;
  double bytes = xg_gpu_staging_bytes(p), cap = (double)xg_env()->gpu_memory;
  if (cap > 0 && bytes > cap)
    snprintf(why, size, "the operands take %.0f bytes and XGEMM_GPU_MEMORY allows %.0f", bytes,
             cap);
  else if (bytes > (double)card->memory)
    snprintf(why, size, "the operands take %.0f bytes and %s has %.0f", bytes, card->name,
             (double)card->memory);
  else
    return NULL;
  return why;
}

/* The card that a request is for; what is assumed of one as long as CUDA has not been started. */
static const struct xg_gpu_card *card_for(const struct xg_problem *p, const struct xg_request *r,
                                          char *why, size_t size)
{
  if (!xg_gpu_started()) return xg_gpu_assumed_card();
  return xg_gpu_find(p->device, r->device, why, size);
}

static const char *ok(const struct xg_problem *p, const struct xg_request *r, char *why,
                      size_t size)
{
  const char *missing = xg_gpu_available(may_start(p, r));
  if (missing) return missing;
  const struct xg_gpu_card *card = card_for(p, r, why, size);
  return card ? too_large(p, card, why, size) : why;
}

static xgemm_status choose_kernel(const struct xg_problem *p, const struct xg_gpu_card *card,
                                  const char *name, struct xg_choice *out)
{
  const struct xg_gkr *kernel;
  struct xg_gpu_cost cost;
  xgemm_status status = xg_gpu_pick(p, card, name, &kernel, &cost);
  if (status != XGEMM_OK) return status;
  struct xg_gather gather;
  struct xg_gkr_args args = xg_gpu_args(p, card, &gather);
  out->kernel = kernel->name, out->unit = kernel;
  out->mc = kernel->bm, out->nc = kernel->bn, out->kc = kernel->bk;
  out->split_k = cost.split;
  out->workspace = gather.bytes + (kernel->workspace ? kernel->workspace(&args) : 0);
  out->compute = cost.seconds;
  return XGEMM_OK;
}

static xgemm_status choose(const struct xg_problem *p, const struct xg_request *r,
                           struct xg_choice *out)
{
  char why[384];
  const struct xg_gpu_card *card = card_for(p, r, why, sizeof why);
  if (!card) return xg_fail(XGEMM_NO_DEVICE, "this backend can't, because %s", why);
  *out = (struct xg_choice){.backend = &xg_backend_gpu,
                            .kernel = xg_gpu_scale_name,
                            .threads = 1,
                            .split_k = 1,
                            .device = card->id,
                            .launch = launch_seconds,
                            .memory = xg_ideal_bytes(p) / card->bandwidth,
                            .startup = xg_gpu_started() ? 0 : start_seconds};
  struct xg_problem q = p->space == XGEMM_SPACE_DEVICE ? *p : xg_gpu_staged(p, NULL);
  if (!xg_is_scale_only(p)) {
    xgemm_status status = choose_kernel(&q, card, r->kernel, out);
    if (status != XGEMM_OK) return status;
  }
  if (p->space != XGEMM_SPACE_DEVICE) {
    out->transfer = xg_gpu_staging_seconds(p);
    out->workspace += (size_t)xg_gpu_staging_bytes(p);
  }
  double work = out->compute > out->memory ? out->compute : out->memory;
  out->seconds = work + out->transfer + out->launch;
  return XGEMM_OK;
}

/* The GPU's part of a description: what was weighed. */
static int explain(const struct xg_choice *c, const struct xg_problem *p, char *buffer, size_t size)
{
  const struct xg_gpu_card *card = c->device >= 0 ? xg_gpu_card(c->device) : xg_gpu_assumed_card();
  if (xg_is_scale_only(p)) return 0;
  struct xg_problem q = p->space == XGEMM_SPACE_DEVICE ? *p : xg_gpu_staged(p, NULL);
  return xg_gpu_explain_pick(&q, card, c->unit, buffer, size);
}

/* A choice made before CUDA was started names no card. */
static xgemm_status card_of(const struct xg_choice *c, const struct xg_problem *p,
                            const struct xg_request *r, const struct xg_gpu_card **card)
{
  char text[384];
  const char *why = xg_gpu_available(1);
  if (why) return xg_fail(XGEMM_NO_DEVICE, "this backend can't, because %s", why);
  *card = c->device >= 0 && p->device < 0 ? xg_gpu_card(c->device)
                                          : xg_gpu_find(p->device, r->device, text, sizeof text);
  return *card ? XGEMM_OK : xg_fail(XGEMM_NO_DEVICE, "this backend can't, because %s", text);
}

/* A plan may be run with operands that lie otherwise than those it was made with, or be older than
 * what is known of the card: then the kernel is picked again, unless it was forced. */
static xgemm_status kernel_for(const struct xg_choice *c, const struct xg_problem *p,
                               const struct xg_request *r, const struct xg_gpu_card *card,
                               const struct xg_gkr **kernel)
{
  struct xg_gpu_cost cost;
  *kernel = xg_is_scale_only(p) ? NULL : c->unit;
  if (!*kernel) return XGEMM_OK;
  if (c->device < 0) return xg_gpu_pick(p, card, r->kernel, kernel, &cost); /* chosen unseen */
  struct xg_gather gather;
  struct xg_gkr_args args = xg_gpu_args(p, card, &gather);
  if (!xg_gpu_illegal(*kernel, &args, xg_letter(p->type), card)) return XGEMM_OK;
  return xg_gpu_pick(p, card, r->kernel, kernel, &cost);
}

static xgemm_status run(const struct xg_choice *c, const struct xg_problem *p,
                        const struct xg_request *r)
{
  const struct xg_gpu_card *card;
  const struct xg_gkr *kernel;
  int staged = p->space != XGEMM_SPACE_DEVICE;
  xgemm_status status = card_of(c, p, r, &card);
  if (status != XGEMM_OK) return status;
  struct xg_problem q = staged ? xg_gpu_staged(p, NULL) : *p;
  status = kernel_for(c, &q, r, card, &kernel);
  if (status != XGEMM_OK) return status;
  if (staged) return xg_gpu_run_staged(card, kernel, p);
  struct xg_gpu_call call;
  status = xg_gpu_enter(&call, card->id);
  if (status == XGEMM_OK) status = xg_gpu_enqueue(&call, kernel, p, r->stream);
  return xg_gpu_leave(&call, status);
}

static int kernel_count(void)
{
  int count = 0;
  while (xg_gkr_table[count]) count++;
  return count;
}

static struct xg_kernel_info kernel_info(int index)
{
  const struct xg_gkr *kernel = xg_gkr_table[index];
  const char *reason = xg_gpu_available(0);
  const struct xg_gpu_card *card = xg_gpu_started() ? xg_gpu_card(0) : NULL;
  if (!reason && card) reason = xg_gpu_no_code(kernel, card);
  return (struct xg_kernel_info){.name = kernel->name,
                                 .family = kernel->family,
                                 .type = kernel->type == 'd' ? XGEMM_F64 : XGEMM_F32,
                                 .mr = kernel->bm,
                                 .nr = kernel->bn,
                                 .reason = reason};
}

static xgemm_status release_memory(void)
{
  return xg_gpu_started() ? xg_gpu_release() : XGEMM_OK;
}

static void describe_machine(void *file)
{
  const char *why = xg_gpu_available(1);
  if (why) fprintf(file, "gpu: this backend can't, because %s\n", why);
  for (int i = 0; i < xg_gpu_count(); i++) {
    const struct xg_gpu_card *card = xg_gpu_card(i);
    fprintf(file,
            "gpu %d: %s, compute capability %d.%d, %d SMs at %.2f GHz, %.0f GiB at %.0f GB/s, "
            "FMA peak f32 %.1f, f64 %.1f TFLOP/s%s%s\n",
            i, card->name, card->cc / 10, card->cc % 10, card->sms, card->clock / 1e9,
            (double)card->memory / (1 << 30), card->bandwidth / 1e9, card->peak_s / 1e12,
            card->peak_d / 1e12, card->reason[0] ? "; can't be used: " : "", card->reason);
  }
}

const struct xg_backend xg_backend_gpu = {
    .name = "gpu",
    .id = XGEMM_BACKEND_GPU,
    .available = xg_gpu_available,
    .ok = ok,
    .choose = choose,
    .run = run,
    .explain = explain,
    .classify = xg_gpu_classify,
    .kernel_count = kernel_count,
    .kernel_info = kernel_info,
    .release_memory = release_memory,
    .describe_machine = describe_machine,
};
