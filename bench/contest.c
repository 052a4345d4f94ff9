#include "contest.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "../common/env.h"
#include "../common/plan.h"
#include "device.h"
#include "machine.h"
#include "peaks.h"
#include "weigh.h"
#include "xgemm_cblas.h"

int xgb_on_device(const struct xgb_contestant *x)
{
  return x->kind == XGB_OWN_DEVICE || x->kind == XGB_CUBLAS;
}

int xgb_case_threads(const struct xgb_case *c)
{
  if (c->threads > 0) return c->threads;
  return xg_env()->threads > 0 ? xg_env()->threads : xgb_cores();
}

/* ---------------------------------------------------------------- our own engines */

/* What the library would do. 0, or -1 and the reason. */
static int decide(const xgemm_problem *p, const xgemm_options *options, struct xg_problem *problem,
                  struct xg_decision *d)
{
  struct xg_request request;
  return xg_problem_from_public(problem, p) || xg_request_from_public(&request, options) ||
                 xg_decide(problem, &request, d)
             ? -1
             : 0;
}

const char *xgb_auto_engine(const struct xgb_case *c)
{
  static double somewhere[3]; /* never read: only a decision is made */
  struct xg_decision d;
  struct xg_problem problem;
  xgemm_problem p = xgb_problem(c, somewhere, somewhere + 1, somewhere + 2, XGEMM_SPACE_HOST);
  xgemm_options options = XGEMM_OPTIONS_INIT;
  options.threads = c->threads;
  return decide(&p, &options, &problem, &d) ? "-" : d.candidates[d.taken].backend->name;
}

static void cpu_ceilings(const struct xgb_contestant *x, int threads, struct xgb_result *r)
{
  r->peak = xgb_cpu_peak(x->c->type, threads);
  struct xgb_bound bound = xgb_cpu_bound(x->c, threads, r->peak, x->o->pages);
  r->bound = bound.flops, r->bound_rate = bound.rate, r->bound_by = bound.by;
}

static int refuse(struct xgb_result *r, const char *why)
{
  r->status = XGB_UNSUPPORTED;
  snprintf(r->reason, sizeof r->reason, "%s", why);
  return -1;
}

static int take_decision(struct xgb_contestant *x, double longest, struct xgb_result *r)
{
  struct xg_problem problem;
  struct xg_decision d;
  if (decide(&x->p, &x->options, &problem, &d)) return refuse(r, xgemm_last_reason());
  const struct xg_choice *choice = &d.candidates[d.taken].choice;
  snprintf(r->backend, sizeof r->backend, "%s", choice->backend->name);
  snprintf(r->kernel, sizeof r->kernel, "%s", choice->kernel ? choice->kernel : "");
  r->threads = choice->threads;
  if (x->backend != choice->backend->id &&
      (x->backend != XGEMM_BACKEND_AUTO || choice->backend->id == XGEMM_BACKEND_REF)) {
    snprintf(r->reason, sizeof r->reason, "the %s engine answers", choice->backend->name);
    return -1;
  }
  if (choice->seconds > longest) {
    snprintf(r->reason, sizeof r->reason, "one call is predicted to take %.0f s (see --max-time)",
             choice->seconds);
    return -1;
  }
  if (choice->backend->id == XGEMM_BACKEND_GPU) r->peak = xgb_device_peak(x->c->type);
  if (x->kind == XGB_OWN_DEVICE) {
    r->copy_rate = xgb_device_copy_rate();
    xgb_weigh(&r->weight, &problem, choice);
  }
  if (choice->backend->id != XGEMM_BACKEND_GPU)
    cpu_ceilings(x, x->threads > 0 ? x->threads : xgb_case_threads(x->c), r);
  return 0;
}

/* The CBLAS names take no options: what is forced goes through the defaults. */
static int set_defaults(const struct xgb_contestant *x)
{
  xgemm_options options = x->options;
  options.stream = NULL;
  return xgemm_set_defaults(&options) ? -1 : 0;
}

static int prepare_own(struct xgb_contestant *x, double longest, struct xgb_result *r)
{
  const char *why = x->kind == XGB_OWN_DEVICE || x->backend == XGEMM_BACKEND_GPU
                        ? xg_backend_gpu.available(1)
                        : NULL;
  if (!why && x->kind == XGB_OWN_DEVICE) why = xgb_device_reason();
  if (why) {
    snprintf(r->reason, sizeof r->reason, "this backend can't, because %s", why);
    return -1;
  }
  struct xgb_operands *o = x->o;
  x->options = (xgemm_options)XGEMM_OPTIONS_INIT;
  x->options.backend = x->backend;
  x->options.threads = x->threads > 0 ? x->threads : x->c->threads;
  x->options.kernel = x->kernel;
  if (x->kind == XGB_OWN_DEVICE) {
    x->options.stream = xgb_device_stream();
    x->p = xgb_problem(x->c, o->a_device, o->b_device, o->c_device, XGEMM_SPACE_DEVICE);
  } else {
    x->p = xgb_problem(x->c, o->a, o->b, o->c, XGEMM_SPACE_HOST);
  }
  if (take_decision(x, longest, r)) return -1;
  if (x->via == XGB_VIA_CBLAS && x->kind == XGB_OWN_DEVICE)
    return refuse(r, "the CBLAS names take host memory only");
  if (x->via == XGB_VIA_CBLAS && (x->c->m > INT_MAX || x->c->n > INT_MAX || x->c->k > INT_MAX))
    return refuse(r, "the CBLAS names take 32-bit sizes");
  if (x->via == XGB_VIA_PLAN && xgemm_plan_create(&x->plan, &x->p, &x->options))
    return refuse(r, xgemm_last_reason());
  return 0;
}

static int call_cblas(const struct xgb_contestant *x)
{
  const struct xgb_case *c = x->c;
  CBLAS_LAYOUT layout = c->row_major ? CblasRowMajor : CblasColMajor;
  CBLAS_TRANSPOSE ta = c->transa == 'T' ? CblasTrans : CblasNoTrans;
  CBLAS_TRANSPOSE tb = c->transb == 'T' ? CblasTrans : CblasNoTrans;
  if (c->type == XGEMM_F64)
    cblas_dgemm(layout, ta, tb, (int)c->m, (int)c->n, (int)c->k, c->alpha, x->p.a.data, (int)c->lda,
                x->p.b.data, (int)c->ldb, c->beta, x->p.c.data, (int)c->ldc);
  else
    cblas_sgemm(layout, ta, tb, (int)c->m, (int)c->n, (int)c->k, (float)c->alpha, x->p.a.data,
                (int)c->lda, x->p.b.data, (int)c->ldb, (float)c->beta, x->p.c.data, (int)c->ldc);
  return 0;
}

/* Of the device operands, for call `i`. */
static size_t set_of(const struct xgb_contestant *x, long i)
{
  return (size_t)((x->first + i) % x->o->sets);
}

static int call_own(struct xgb_contestant *x, long i)
{
  if (x->kind == XGB_OWN_DEVICE) {
    size_t set = set_of(x, i);
    x->p.a.data = x->o->a_device + set * x->o->a_step;
    x->p.b.data = x->o->b_device + set * x->o->b_step;
    x->p.c.data = x->o->c_device + set * x->o->c_step;
  }
  if (x->via == XGB_VIA_CBLAS) return call_cblas(x);
  if (x->via == XGB_VIA_PLAN) return (int)xgemm_plan_run(x->plan, &x->p, &x->options);
  return (int)xgemm(&x->p, &x->options);
}

/* ---------------------------------------------------------------- all of them */

void xgb_contestant_enter_by(struct xgb_contestant *x, int entry, struct xgb_result *r)
{
  if (x->kind != XGB_CUBLAS) return;
  x->entry = (enum xgb_cublas_entry)entry;
  snprintf(r->kernel, sizeof r->kernel, "%s", xgb_cublas_entry_name(&x->cublas, x->entry));
}

static int prepare_cublas(struct xgb_contestant *x, struct xgb_result *r)
{
  const char *why = xgb_device_reason();
  if (why) return refuse(r, why);
  xgb_cublas_plan(&x->cublas, x->c, x->c->type == XGEMM_F64 ? 'd' : 's');
  xgb_contestant_enter_by(x, XGB_CUBLAS_GEMM, r);
  snprintf(r->backend, sizeof r->backend, "peer");
  r->peak = xgb_device_peak(x->c->type);
  r->copy_rate = xgb_device_copy_rate();
  return 0;
}

static int prepare_peer(struct xgb_contestant *x, struct xgb_result *r)
{
  const char *why = xgb_peer_refuses(x->peer, x->c);
  if (why) return refuse(r, why);
  x->generated = x->kind == XGB_PEER_KERNEL ? xgb_peer_generate(x->peer, x->c) : NULL;
  if (x->kind == XGB_PEER_KERNEL && !x->generated)
    return refuse(r, "it generates no kernel for it");
  snprintf(r->backend, sizeof r->backend, "peer");
  r->threads = x->peer->set_threads ? xgb_case_threads(x->c) : 0;
  cpu_ceilings(x, xgb_case_threads(x->c), r);
  return 0;
}

int xgb_contestant_prepare(struct xgb_contestant *x, const struct xgb_case *c,
                           struct xgb_operands *o, double longest, struct xgb_result *r)
{
  x->c = c, x->o = o, x->plan = NULL, x->first = 0;
  r->candidate = x->candidate;
  r->status = XGB_UNSUPPORTED;
  snprintf(r->engine, sizeof r->engine, "%s", x->name);
  if (c->batch > 1) return refuse(r, "batches are not supported");
  if (c->m == 0 || c->n == 0) return refuse(r, "nothing to compute");
  if (x->kind == XGB_OWN || x->kind == XGB_OWN_DEVICE) return prepare_own(x, longest, r);
  return x->kind == XGB_CUBLAS ? prepare_cublas(x, r) : prepare_peer(x, r);
}

void xgb_contestant_enter(struct xgb_contestant *x)
{
  if (x->peer && !x->peer->is_cublas) xgb_peer_threads(x->peer, xgb_case_threads(x->c));
  if (x->via == XGB_VIA_CBLAS) set_defaults(x);
}

int xgb_contestant_call(void *contestant, long i)
{
  struct xgb_contestant *x = contestant;
  const struct xgb_operands *o = x->o;
  if (x->kind == XGB_OWN || x->kind == XGB_OWN_DEVICE) return call_own(x, i);
  if (x->kind == XGB_PEER) {
    xgb_peer_call(x->peer, x->c, o->a, o->b, o->c);
    return 0;
  }
  if (x->kind == XGB_PEER_KERNEL) {
    x->generated(o->a, o->b, o->c);
    return 0;
  }
  size_t set = set_of(x, i);
  return xgb_cublas_call(&x->cublas, x->entry, o->a_device + set * o->a_step,
                         o->b_device + set * o->b_step, o->c_device + set * o->c_step);
}

void xgb_contestant_done(struct xgb_contestant *x)
{
  xgemm_plan_destroy(x->plan);
  x->plan = NULL;
  if (x->kind == XGB_CUBLAS) xgb_cublas_plan_free(&x->cublas);
  if (x->via == XGB_VIA_CBLAS) xgemm_set_defaults(NULL);
}
