#include "plan.h"

#include <stdio.h>
#include <string.h>

#include "env.h"
#include "log.h"
#include "plan_cache.h"
#include "status.h"

/* ---------------------------------------------------------------- deciding */

static void ask(struct xg_candidate *candidate, const struct xg_problem *p,
                const struct xg_request *r, xgemm_status *status)
{
  const char *why = candidate->backend->ok(p, r, candidate->why, sizeof candidate->why);
  if (why) {
    if (why != candidate->why) snprintf(candidate->why, sizeof candidate->why, "%s", why);
    *status = candidate->backend->id == XGEMM_BACKEND_GPU && candidate->backend->available(0)
                  ? XGEMM_NO_DEVICE
                  : XGEMM_UNSUPPORTED;
    return;
  }
  *status = candidate->backend->choose(p, r, &candidate->choice);
  candidate->choice.backend = candidate->backend;
  candidate->can = *status == XGEMM_OK;
  if (!candidate->can) snprintf(candidate->why, sizeof candidate->why, "%s", xgemm_last_reason());
}

/* The engine asked for, by name or through the kernel's; NULL: any. */
static xgemm_status forced_backend(const struct xg_problem *p, const struct xg_request *r,
                                   const struct xg_backend **out)
{
  *out = r->backend == XGEMM_BACKEND_AUTO ? NULL : xg_backend_by_id(r->backend);
  if (!r->kernel) return XGEMM_OK;
  xgemm_type type;
  const struct xg_backend *owner = xg_backend_of_kernel(r->kernel);
  if (!owner || !xg_registry_name(r->kernel, &type))
    return xg_fail(XGEMM_UNKNOWN_NAME, "there is no kernel \"%.64s\"", r->kernel);
  if (*out && *out != owner)
    return xg_fail(XGEMM_UNSUPPORTED, "kernel %s belongs to the %s backend, %s was asked for",
                   r->kernel, owner->name, (*out)->name);
  if (type != p->type)
    return xg_fail(XGEMM_UNSUPPORTED, "kernel %s is for the other element type", r->kernel);
  *out = owner;
  return XGEMM_OK;
}

/* Among those that can: the fastest once everything is started. The reference serves only where
 * nothing else does. */
static int best(const struct xg_decision *d)
{
  int found = -1;
  for (int i = 0; i < d->count; i++) {
    const struct xg_candidate *x = &d->candidates[i];
    if (!x->can || (found >= 0 && x->backend->id == XGEMM_BACKEND_REF)) continue;
    if (found < 0 || x->choice.seconds < d->candidates[found].choice.seconds) found = i;
  }
  return found;
}

xgemm_status xg_decide(const struct xg_problem *p, const struct xg_request *r,
                       struct xg_decision *d)
{
  memset(d, 0, sizeof *d);
  d->taken = -1;
  const struct xg_backend *forced;
  xgemm_status status = forced_backend(p, r, &forced), last = XGEMM_UNSUPPORTED;
  if (status != XGEMM_OK) return status;
  for (int i = 0; xg_backends[i]; i++) {
    struct xg_candidate *candidate = &d->candidates[d->count++];
    candidate->backend = xg_backends[i];
    if (forced && forced != xg_backends[i])
      snprintf(candidate->why, sizeof candidate->why, "%s was asked for", forced->name);
    else
      ask(candidate, p, r, &status);
    if (!forced || forced == xg_backends[i]) last = status;
  }
  d->taken = best(d);
  if (d->taken >= 0) return XGEMM_OK;
  for (int i = 0; i < d->count; i++)
    if (forced == d->candidates[i].backend)
      return xg_fail(last, "the %s backend can't, because %s", forced->name, d->candidates[i].why);
  return xg_fail(XGEMM_UNSUPPORTED, "no backend can: gpu: %s; cpu: %s", d->candidates[0].why,
                 d->candidates[1].why);
}

/* ---------------------------------------------------------------- the start-up account */

/* Nanoseconds that a started GPU would have saved so far. Starting it costs some hundred
 * milliseconds, so it is started once the savings missed have reached that: then the whole never
 * costs more than twice the better choice (the ski-rental argument). */
static atomic_llong missed_ns;

/* The best engine still has to be started: take the next best until it has paid for itself. */
static int defer_start(struct xg_decision *d, const struct xg_request *r)
{
  struct xg_choice *fast = &d->candidates[d->taken].choice;
  if (fast->startup <= 0 || r->deterministic) return 0;
  int start = d->taken;
  d->candidates[start].can = 0;
  int other = best(d);
  d->candidates[start].can = 1;
  if (other < 0 || d->candidates[other].backend->id == XGEMM_BACKEND_REF) return 0;
  double saving = d->candidates[other].choice.seconds - fast->seconds;
  long long account = atomic_fetch_add(&missed_ns, (long long)(saving * 1e9));
  if ((double)account * 1e-9 + saving >= fast->startup) return 0;
  snprintf(d->candidates[start].why, sizeof d->candidates[start].why,
           "starting it (%.1f s) has not paid yet", fast->startup);
  d->taken = other;
  return 1;
}

/* ---------------------------------------------------------------- words about it */

int xg_describe_problem(const struct xg_problem *p, char *buffer, size_t size)
{
  return snprintf(
      buffer, size,
      "%cgemm m=%lld n=%lld k=%lld a=%lld,%lld b=%lld,%lld c=%lld,%lld alpha=%g beta=%g %s",
      xg_letter(p->type), (long long)p->m, (long long)p->n, (long long)p->k, (long long)p->a.rs,
      (long long)p->a.cs, (long long)p->b.rs, (long long)p->b.cs, (long long)p->c.rs,
      (long long)p->c.cs, p->alpha, p->beta, p->space == XGEMM_SPACE_DEVICE ? "device" : "host");
}

int xg_describe_choice(const struct xg_choice *c, char *buffer, size_t size)
{
  return snprintf(buffer, size,
                  "%s %s threads=%d%s blocks=%lldx%lldx%lld split_k=%lld predicted=%.3gs "
                  "(compute %.3g, memory %.3g, transfer %.3g, launch %.3g)",
                  c->backend->name, c->kernel, c->threads, c->transposed ? " transposed" : "",
                  (long long)c->mc, (long long)c->nc, (long long)c->kc, (long long)c->split_k,
                  c->seconds, c->compute, c->memory, c->transfer, c->launch);
}

static void append(char *buffer, size_t size, int *used, const char *text)
{
  size_t at = (size_t)*used < size ? (size_t)*used : size;
  *used += snprintf(size ? buffer + at : NULL, size - at, "%s", text);
}

/* What the engine weighed. */
static void append_explained(const struct xg_choice *c, const struct xg_problem *p, char *buffer,
                             size_t size, int *used)
{
  size_t at = (size_t)*used < size ? (size_t)*used : size;
  if (c->backend->explain) *used += c->backend->explain(c, p, size ? buffer + at : NULL, size - at);
}

int xg_describe_decision(const struct xg_problem *p, const struct xg_decision *d, int level,
                         char *buffer, size_t size)
{
  char text[512];
  int used = 0;
  const struct xg_choice *taken = &d->candidates[d->taken].choice;
  xg_describe_choice(taken, text, sizeof text);
  append(buffer, size, &used, text);
  if (level > 0) append_explained(taken, p, buffer, size, &used);
  for (int i = 0; i < d->count; i++) {
    const struct xg_candidate *x = &d->candidates[i];
    if (i == d->taken || (level == 0 && x->backend->id == XGEMM_BACKEND_REF)) continue;
    append(buffer, size, &used, level ? "\n" : "; not ");
    if (x->why[0])
      snprintf(text, sizeof text, "%s: %s", x->backend->name, x->why);
    else
      snprintf(text, sizeof text, "%s: predicted %.3gs", x->backend->name, x->choice.seconds);
    append(buffer, size, &used, text);
  }
  return used;
}

static void log_decision(const struct xg_problem *p, const struct xg_decision *d)
{
  char problem[256], decision[8192];
  xg_describe_problem(p, problem, sizeof problem);
  xg_describe_decision(p, d, xg_env()->verbose > 1, decision, sizeof decision);
  xg_log(1, "xgemm: %s -> %s", problem, decision);
}

/* ---------------------------------------------------------------- executing */

/* Runs a choice. The GPU, if it was our idea and not the caller's, may fail where the CPU can do
 * it: its failures come before C is written, except a device error, after which only a C that needs
 * no old value can be computed again. */
static xgemm_status run_or_take_over(const struct xg_choice *c, const struct xg_problem *p,
                                     const struct xg_request *r)
{
  xgemm_status status = xg_run_choice(c, p, r);
  if (status == XGEMM_OK || p->space != XGEMM_SPACE_HOST || r->backend != XGEMM_BACKEND_AUTO ||
      r->kernel || r->deterministic || c->backend->id != XGEMM_BACKEND_GPU)
    return status;
  if (status == XGEMM_DEVICE_ERROR && p->beta != 0) return status;
  xg_log(1, "xgemm: gpu failed (%s), cpu takes over", xgemm_last_reason());
  struct xg_decision d;
  struct xg_request cpu = *r;
  cpu.backend = XGEMM_BACKEND_CPU;
  status = xg_decide(p, &cpu, &d);
  return status == XGEMM_OK ? xg_run_choice(&d.candidates[d.taken].choice, p, &cpu) : status;
}

static xgemm_status decide_and_run(const struct xg_problem *p, const struct xg_request *r)
{
  struct xg_decision d;
  xgemm_status status = xg_decide(p, r, &d);
  if (status != XGEMM_OK) return status;
  int deferred = defer_start(&d, r);
  if (xg_env()->verbose)
    log_decision(p, &d);
  else if (!deferred && d.candidates[d.taken].choice.startup <= 0)
    xg_plan_cache_put(p, r, &d.candidates[d.taken].choice);
  return run_or_take_over(&d.candidates[d.taken].choice, p, r);
}

xgemm_status xg_run_choice(const struct xg_choice *c, const struct xg_problem *p,
                           const struct xg_request *r)
{
  return c->backend->run(c, p, r);
}

xgemm_status xg_execute(const struct xg_problem *p, const struct xg_request *r)
{
  if (xg_is_nothing(p)) return XGEMM_OK;
  struct xg_request request = *r;
  xg_request_default_kernel(&request, p);
  struct xg_choice choice;
  if (xg_plan_cache_get(p, &request, &choice)) return run_or_take_over(&choice, p, &request);
  return decide_and_run(p, &request);
}

/* Host operands, all defaults: nothing that is forced may be impossible here, since these names
 * have no status to return it in. */
static xgemm_status execute_slowly(const struct xg_problem *p)
{
  struct xg_request request;
  xgemm_status status = xg_request_from_public(&request, NULL);
  if (status != XGEMM_OK) return status;
  if (atomic_load(&xg_slow_word) == 0 && xg_tiny(p)) return XGEMM_OK;
  return xg_execute(p, &request);
}

xgemm_status xg_execute_default(const struct xg_problem *p)
{
  return xg_done_quickly(p) ? XGEMM_OK : execute_slowly(p);
}

void xg_execute_blas_slowly(const struct xg_problem *p)
{
  xgemm_status status = execute_slowly(p);
  if (status == XGEMM_OK) return;
  /* What is forced by default cannot do it, or the forced GPU failed. A BLAS name has no way to say
   * no, so it is said once on stderr, and the CPU computes while C is still what it was. */
  const int too_late = status == XGEMM_DEVICE_ERROR && p->beta != 0;
  static atomic_flag said = ATOMIC_FLAG_INIT;
  if (!atomic_flag_test_and_set(&said))
    fprintf(stderr, "xgemm: %s: %s; %s\n", xgemm_strerror(status), xgemm_last_reason(),
            too_late ? "C is undefined" : "computed on the cpu");
  struct xg_request request;
  if (too_late || xg_request_from_public(&request, NULL) != XGEMM_OK) return;
  request.backend = XGEMM_BACKEND_CPU;
  decide_and_run(p, &request);
}
