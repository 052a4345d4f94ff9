/* xgemm(), plans and the helpers of xgemm.h. */
#include <stdlib.h>
#include <string.h>

#include "plan.h"
#include "status.h"

xgemm_matrix xgemm_row_major(const void *data, xgemm_type type, int64_t ld)
{
  return (xgemm_matrix){.data = (void *)data, .type = type, .row_stride = ld, .col_stride = 1};
}

xgemm_matrix xgemm_col_major(const void *data, xgemm_type type, int64_t ld)
{
  return (xgemm_matrix){.data = (void *)data, .type = type, .row_stride = 1, .col_stride = ld};
}

xgemm_matrix xgemm_transpose(xgemm_matrix matrix)
{
  int64_t rs = matrix.row_stride;
  matrix.row_stride = matrix.col_stride;
  matrix.col_stride = rs;
  return matrix;
}

static int all_default(const xgemm_options *o)
{
  return !o || ((o->size == 0 || o->size == sizeof *o) && !o->backend && !o->threads &&
                !o->device && !o->stream && !o->deterministic && !o->kernel);
}

xgemm_status xgemm(const xgemm_problem *problem, const xgemm_options *options)
{
  struct xg_problem p;
  struct xg_request r;
  xgemm_status status = xg_problem_from_public(&p, problem);
  if (status != XGEMM_OK) return status;
  if (p.space == XGEMM_SPACE_HOST && all_default(options)) return xg_execute_default(&p);
  status = xg_request_from_public(&r, options);
  return status == XGEMM_OK ? xg_execute(&p, &r) : status;
}

xgemm_status xgemm_release_memory(void)
{
  xgemm_status status = XGEMM_OK;
  for (int i = 0; xg_backends[i]; i++) {
    xgemm_status s = xg_backends[i]->release_memory ? xg_backends[i]->release_memory() : XGEMM_OK;
    if (status == XGEMM_OK) status = s;
  }
  return status;
}

/* ---------------------------------------------------------------- plans */

struct xgemm_plan {
  struct xg_problem problem; /* data pointers NULL */
  struct xg_request request;
  struct xg_decision decision;
  int nothing; /* nothing to compute, so nothing was decided */
};

static void forget_pointers(struct xg_problem *p)
{
  p->a.data = p->b.data = p->c.data = NULL;
}

static xgemm_status decide_plan(xgemm_plan *plan, const xgemm_problem *problem,
                                const xgemm_options *options)
{
  xgemm_status status = xg_problem_form(&plan->problem, problem);
  if (status != XGEMM_OK) return status;
  /* A run may bring other scalars: place and decide for those that read and write everything. */
  plan->problem.alpha = 1, plan->problem.beta = plan->problem.beta == 0 ? 0 : 2;
  status = xg_problem_place(&plan->problem, problem, 0);
  if (status == XGEMM_OK) status = xg_request_from_public(&plan->request, options);
  if (status != XGEMM_OK) return status;
  forget_pointers(&plan->problem);
  plan->request.stream = NULL;
  xg_request_default_kernel(&plan->request, &plan->problem);
  plan->nothing = xg_is_nothing(&plan->problem);
  return plan->nothing ? XGEMM_OK : xg_decide(&plan->problem, &plan->request, &plan->decision);
}

xgemm_status xgemm_plan_create(xgemm_plan **out, const xgemm_problem *problem,
                               const xgemm_options *options)
{
  if (!out) return xg_fail(XGEMM_INVALID_ARGUMENT, "plan is NULL");
  *out = NULL;
  xgemm_plan *plan = calloc(1, sizeof *plan);
  if (!plan) return xg_fail(XGEMM_OUT_OF_MEMORY, "no memory for the plan");
  xgemm_status status = decide_plan(plan, problem, options);
  if (status != XGEMM_OK)
    free(plan);
  else
    *out = plan;
  return status;
}

static int same_strides(struct xg_operand x, struct xg_operand y)
{
  return x.rs == y.rs && x.cs == y.cs;
}

static int same_shape(const struct xg_problem *x, const struct xg_problem *y)
{
  return x->type == y->type && x->m == y->m && x->n == y->n && x->k == y->k &&
         same_strides(x->a, y->a) && same_strides(x->b, y->b) && same_strides(x->c, y->c);
}

xgemm_status xgemm_plan_run(const xgemm_plan *plan, const xgemm_problem *problem,
                            const xgemm_options *options)
{
  if (!plan) return xg_fail(XGEMM_INVALID_ARGUMENT, "plan is NULL");
  struct xg_problem p;
  xgemm_status status = xg_problem_from_public(&p, problem);
  if (status != XGEMM_OK) return status;
  if (!same_shape(&p, &plan->problem))
    return xg_fail(XGEMM_INVALID_ARGUMENT,
                   "the problem's sizes, strides or types are not the plan's");
  if (xg_is_nothing(&p)) return XGEMM_OK;
  if (p.space != plan->problem.space)
    return xg_fail(XGEMM_INVALID_ARGUMENT, "the operands are not in the plan's memory space");
  struct xg_request given, r = plan->request;
  status = xg_request_from_public(&given, options);
  if (status != XGEMM_OK) return status;
  if (options && ((options->backend && options->backend != plan->request.backend) ||
                  (options->threads && options->threads != plan->request.threads) ||
                  (options->device && options->device != plan->request.device) ||
                  (options->deterministic && !plan->request.deterministic) ||
                  (options->kernel && (!r.kernel || strcmp(options->kernel, r.kernel) != 0))))
    return xg_fail(XGEMM_INVALID_ARGUMENT,
                   "of a run's options only stream may differ from the plan's");
  r.stream = given.stream;
  return xg_run_choice(&plan->decision.candidates[plan->decision.taken].choice, &p, &r);
}

size_t xgemm_plan_workspace(const xgemm_plan *plan)
{
  if (!plan || plan->nothing) return 0;
  return plan->decision.candidates[plan->decision.taken].choice.workspace;
}

int xgemm_plan_describe(const xgemm_plan *plan, int level, char *buffer, size_t size)
{
  if (!buffer) size = 0;
  const char *empty = plan ? "nothing to compute" : "no plan";
  if (plan && !plan->nothing)
    return xg_describe_decision(&plan->problem, &plan->decision, level, buffer, size);
  size_t length = strlen(empty);
  if (size > 0) {
    size_t copied = length < size - 1 ? length : size - 1;
    memcpy(buffer, empty, copied);
    buffer[copied] = 0;
  }
  return (int)length;
}

void xgemm_plan_destroy(xgemm_plan *plan)
{
  free(plan);
}
