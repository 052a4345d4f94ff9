#include "pick.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../common/status.h"

struct xg_gkr_args xg_gpu_args(const struct xg_problem *p, const struct xg_gpu_card *card,
                               struct xg_gather *gather)
{
  struct xg_gkr_args args = {.m = p->m,
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
  if (!gather) return args;
  *gather = xg_gather_plan(&args, xg_sizeof(p->type));
  if (gather->a) args.a = NULL; /* as aligned as can be; the copy's address comes later */
  if (gather->b) args.b = NULL;
  return args;
}

/* ---------------------------------------------------------------- candidates, legality */

/* Rungs are for reading and timing, and run only by name. */
static int is_candidate(const struct xg_gkr *kernel, char type)
{
  return kernel->type == type && strcmp(kernel->family, "ladder") != 0;
}

const char *xg_gpu_no_code(const struct xg_gkr *kernel, const struct xg_gpu_card *card)
{
  if (kernel->min_cc > card->cc) return "it needs a newer card";
  if (kernel->max_cc && kernel->max_cc < card->cc) return "it was compiled for an older card";
  return NULL;
}

const char *xg_gpu_illegal(const struct xg_gkr *kernel, const struct xg_gkr_args *args, char type,
                           const struct xg_gpu_card *card)
{
  if (kernel->type != type) return "it is for another element type";
  const char *why = xg_gpu_no_code(kernel, card);
  return why ? why : kernel->ok(args);
}

/* ---------------------------------------------------------------- the cheapest */

static const struct xg_gkr *by_name(const char *name)
{
  for (int i = 0; xg_gkr_table[i]; i++)
    if (strcmp(xg_gkr_table[i]->name, name) == 0) return xg_gkr_table[i];
  return NULL;
}

static xgemm_status pick_named(const struct xg_gkr_args *args, char type,
                               const struct xg_gpu_card *card, const char *name,
                               const struct xg_gkr **kernel)
{
  *kernel = by_name(name);
  if (!*kernel) return xg_fail(XGEMM_UNKNOWN_NAME, "there is no GPU kernel \"%.64s\"", name);
  const char *why = xg_gpu_illegal(*kernel, args, type, card);
  return why ? xg_fail(XGEMM_UNSUPPORTED, "kernel %s can't, because %s", name, why) : XGEMM_OK;
}

xgemm_status xg_gpu_pick(const struct xg_problem *p, const struct xg_gpu_card *card,
                         const char *name, const struct xg_gkr **kernel, struct xg_gpu_cost *cost)
{
  struct xg_gather gather;
  struct xg_gkr_args args = xg_gpu_args(p, card, &gather);
  char type = xg_letter(p->type);
  if (name) {
    xgemm_status status = pick_named(&args, type, card, name, kernel);
    if (status == XGEMM_OK) *cost = xg_gpu_cost(*kernel, &args, gather.moved, card);
    return status;
  }
  const char *why = "none is built";
  *kernel = NULL;
  for (int i = 0; xg_gkr_table[i]; i++) {
    const struct xg_gkr *x = xg_gkr_table[i];
    if (!is_candidate(x, type)) continue;
    const char *bad = xg_gpu_illegal(x, &args, type, card);
    if (bad) {
      why = bad;
      continue;
    }
    struct xg_gpu_cost y = xg_gpu_cost(x, &args, gather.moved, card);
    if (!*kernel || y.seconds < cost->seconds) *kernel = x, *cost = y;
  }
  return *kernel ? XGEMM_OK : xg_fail(XGEMM_UNSUPPORTED, "no GPU kernel can, because %s", why);
}

/* ---------------------------------------------------------------- in words */

struct text {
  char *buffer;
  size_t size;
  int used;
};

__attribute__((format(printf, 2, 3))) static void say(struct text *t, const char *format, ...)
{
  va_list values;
  va_start(values, format);
  size_t at = (size_t)t->used < t->size ? (size_t)t->used : t->size;
  t->used += vsnprintf(t->size ? t->buffer + at : NULL, t->size - at, format, values);
  va_end(values);
}

static void say_cost(struct text *t, const struct xg_gkr *kernel, const struct xg_gpu_cost *c)
{
  say(t, "%.3g us: arithmetic %.3g, memory %.3g; %.0f tiles of %dx%d, %d on an SM, %.2f waves",
      1e6 * c->seconds, 1e6 * c->arithmetic, 1e6 * c->memory, c->tiles, kernel->bm, kernel->bn,
      kernel->blocks, c->waves);
  if (c->split > 1) say(t, ", k in %d parts", c->split);
  say(t, ", last wave %.0f %% full, %.0f %% beyond the edges", 100 * c->last_share,
      100 * c->edge_waste);
}

int xg_gpu_explain_pick(const struct xg_problem *p, const struct xg_gpu_card *card,
                        const struct xg_gkr *picked, char *buffer, size_t size)
{
  struct text t = {buffer, size, 0};
  struct xg_gather gather;
  struct xg_gkr_args args = xg_gpu_args(p, card, &gather);
  char type = xg_letter(p->type);
  if (gather.bytes)
    say(&t, "\n  gathered first:%s%s, %.0f bytes of workspace", gather.a ? " A" : "",
        gather.b ? " B" : "", (double)gather.bytes);
  for (int i = 0; xg_gkr_table[i]; i++) {
    const struct xg_gkr *x = xg_gkr_table[i];
    if (x != picked && !is_candidate(x, type)) continue;
    const char *bad = xg_gpu_illegal(x, &args, type, card);
    say(&t, "\n  %c %s: ", x == picked ? '*' : ' ', x->name);
    if (bad) {
      say(&t, "can't, because %s", bad);
      continue;
    }
    struct xg_gpu_cost c = xg_gpu_cost(x, &args, gather.moved, card);
    say_cost(&t, x, &c);
  }
  if (!picked) return t.used;
  double sums = (double)picked->bm * picked->bn / picked->threads;
  say(&t,
      "\n  limits: %d threads of 1024 a block, %d bytes of shared memory, %.0f sums a thread; "
      "%d blocks: %d of 2048 threads, %d bytes of 233472 on an SM",
      picked->threads, picked->shared, sums, picked->blocks, picked->blocks * picked->threads,
      picked->blocks * (picked->shared + 1024));
  return t.used;
}
