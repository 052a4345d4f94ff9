/* Measures the rungs: their descriptors are called directly, because most have element types,
 * epilogues and tiles that the public interface does not offer. */
#include "ladder.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/backend.h"
#include "../gpu/bias_relu.h"
#include "args.h"
#include "card.h"
#include "cublas.h"
#include "device.h"
#include "operands.h"
#include "timing.h"
#include "verify.h"

enum { MOST_SAMPLES = 64, MOST_ENTRANTS = 96 };

/* What is done with the sums: nothing, bias and ReLU by the kernel itself, or two passes more. */
enum steps { PLAIN, FUSED, SEPARATE };

/* One way of computing the product. */
struct entrant {
  struct ladder *ladder;
  struct xgb_rung_result *result; /* NULL: cuBLAS */
  const struct xg_gkr *kernel;
  enum xg_size_class size;
  enum steps steps;
  enum xgb_cublas_entry entry;
  void *workspace, *graph;
  long calls;
  int chief; /* the rung stands and falls with it; the others' figures may be missing */
  int good, count, replayed;
  double once, spent, seconds[MOST_SAMPLES], replays[MOST_SAMPLES];
};

struct ladder {
  struct xgb_ladder_row *row;
  const struct xgb_effort *effort;
  struct xgb_operands o;
  struct xgb_oracle *oracle;
  struct xgb_cublas_plan cublas;
  float *bias; /* on the host, n elements */
  void *bias_device;
  void *plain;  /* C of the fused rung without its steps */
  void *peer_c; /* cuBLAS's C, NULL: none */
  struct xgb_turns turns;
  long first;
  struct entrant entrants[MOST_ENTRANTS];
  int count;
};

/* ---------------------------------------------------------------- one call */

static struct xg_gkr_args args_of(const struct entrant *e, long set)
{
  const struct xgb_case *c = &e->ladder->row->c;
  const struct xgb_operands *o = &e->ladder->o;
  struct xg_gkr_args args = {.m = c->m,
                             .n = c->n,
                             .k = c->k,
                             .alpha = c->alpha,
                             .beta = c->beta,
                             .a = o->a_device + (size_t)set * o->a_step,
                             .b = o->b_device + (size_t)set * o->b_step,
                             .c = o->c_device + (size_t)set * o->c_step,
                             .rs_a = c->transa == 'T' ? c->lda : 1,
                             .cs_a = c->transa == 'T' ? 1 : c->lda,
                             .rs_b = c->transb == 'T' ? c->ldb : 1,
                             .cs_b = c->transb == 'T' ? 1 : c->ldb,
                             .rs_c = 1,
                             .cs_c = c->ldc,
                             .size = e->size,
                             .sms = xgb_device_sms(),
                             .workspace = e->workspace};
  return args;
}

static int call(void *context, long i)
{
  const struct entrant *e = context;
  struct ladder *l = e->ladder;
  const struct xgb_operands *o = &l->o;
  long set = (l->first + i) % o->sets;
  void *stream = xgb_device_stream();
  struct xg_gkr_args args = args_of(e, set);
  if (!e->kernel) return xgb_cublas_call(&l->cublas, e->entry, args.a, args.b, args.c);
  if (e->steps == FUSED) args.bias = l->bias_device, args.relu = 1;
  int bad = e->kernel->launch(&args, stream);
  if (e->steps != SEPARATE || bad) return bad;
  args.bias = l->bias_device;
  bad = xg_gpu_bias(&args, stream);
  return bad ? bad : xg_gpu_relu(&args, stream);
}

/* ---------------------------------------------------------------- verifying */

static void fail(struct entrant *e, enum xgb_status status, const char *why)
{
  e->good = 0;
  if (!e->result && status == XGB_WRONG) {
    e->ladder->row->cublas.status = XGB_WRONG;
    snprintf(e->ladder->row->cublas.reason, sizeof e->ladder->row->cublas.reason, "%s", why);
  }
  if (!e->result || (!e->chief && status != XGB_WRONG)) return;
  e->result->status = status;
  snprintf(e->result->reason, sizeof e->result->reason, "%s", why);
}

/* C + bias and the ReLU of it, from the verified plain C of the same kernel: one rounding more. */
static int check_steps(const struct ladder *l, char *why, size_t size)
{
  const struct xgb_case *c = &l->row->c;
  const float *plain = l->plain, *got = l->o.c;
  if (!plain) {
    snprintf(why, size, "there is no plain result to compare with");
    return -1;
  }
  for (int64_t j = 0; j < c->n; j++)
    for (int64_t i = 0; i < c->m; i++) {
      double sum = (double)plain[i + j * c->ldc] + l->bias[j], right = sum > 0 ? sum : 0;
      double bound = 0x1p-22 * (fabs((double)plain[i + j * c->ldc]) + fabs((double)l->bias[j]));
      if (!(fabs((double)got[i + j * c->ldc] - right) <= bound)) {
        snprintf(why, size, "with bias and ReLU C[%lld,%lld] is %.9g and should be %.9g",
                 (long long)i, (long long)j, (double)got[i + j * c->ldc], right);
        return -1;
      }
    }
  return 0;
}

static double element(const void *c, xgemm_type type, int64_t i)
{
  return type == XGEMM_F64 ? ((const double *)c)[i] : (double)((const float *)c)[i];
}

static double difference(const struct ladder *l)
{
  const struct xgb_case *c = &l->row->c;
  double apart = 0, size = 0;
  if (!l->peer_c) return -1;
  for (int64_t j = 0; j < c->n; j++)
    for (int64_t i = 0; i < c->m; i++) {
      double x = element(l->o.c, c->type, i + j * c->ldc);
      double y = element(l->peer_c, c->type, i + j * c->ldc);
      apart += (x - y) * (x - y), size += y * y;
    }
  return size > 0 ? sqrt(apart / size) : 0;
}

static void *copy_of(const void *memory, size_t bytes)
{
  void *copy = malloc(bytes + 1);
  if (copy) memcpy(copy, memory, bytes);
  return copy;
}

/* One call from a C of NaN. */
static void verify(struct ladder *l, struct entrant *e)
{
  char why[XGB_REASON] = "";
  struct xgb_errors errors = {0, 0};
  l->first = 0;
  if (xgb_operands_reset_device(&l->o, &l->row->c) || xgb_device_time(call, e, 1) < 0 ||
      xgb_device_download(l->o.c, l->o.c_device, l->o.c_bytes)) {
    fail(e, XGB_UNSUPPORTED, xgb_device_error()[0] ? xgb_device_error() : "the launch failed");
    return;
  }
  int bad = e->steps == PLAIN ? xgb_oracle_check(l->oracle, l->o.c, &errors, why, sizeof why)
                              : check_steps(l, why, sizeof why);
  if (bad) {
    fail(e, XGB_WRONG, why);
    return;
  }
  e->good = 1;
  if (!e->result) {
    if (!l->peer_c) l->peer_c = copy_of(l->o.c, l->o.c_bytes);
    return;
  }
  if (e->steps != PLAIN) return;
  if (e->kernel->fuses && !l->plain) l->plain = copy_of(l->o.c, l->o.c_bytes);
  e->result->difference = difference(l);
  if (errors.worst > e->result->worst) e->result->worst = errors.worst;
}

/* ---------------------------------------------------------------- timing */

static struct xgb_card_work work_of(struct entrant *e)
{
  return (struct xgb_card_work){call, e, &e->ladder->first};
}

static void get_ready(struct ladder *l, struct entrant *e)
{
  struct xgb_card_work work = work_of(e);
  e->once = xgb_card_calibrate(&l->turns, &work, &e->calls);
  if (e->once >= 0 && e->once < XGB_SHORT_CALL && !(e->graph = xgb_card_capture(&l->turns, &work)))
    fail(e, XGB_UNSUPPORTED, xgb_device_error());
  if (e->once < 0) fail(e, XGB_UNSUPPORTED, "the call failed when it was repeated");
}

static void take_sample(struct ladder *l, struct entrant *e)
{
  struct xgb_card_work work = work_of(e);
  double start = xgb_now(), replay = 0;
  double seconds = e->once < XGB_LONG_CALL ? xgb_card_time(&l->turns, &work, 1) : 0;
  if (seconds >= 0) seconds = xgb_card_time(&l->turns, &work, e->calls);
  if (e->graph && seconds >= 0) replay = xgb_card_replay(&l->turns, e->graph);
  e->spent += xgb_now() - start;
  if (seconds < 0 || replay < 0) {
    fail(e, XGB_UNSUPPORTED, "the call failed when it was repeated");
    return;
  }
  e->seconds[e->count++] = seconds / (double)e->calls;
  if (e->graph) e->replays[e->replayed++] = replay;
}

static int time_all(struct ladder *l)
{
  int reps = l->effort->reps < MOST_SAMPLES ? l->effort->reps : MOST_SAMPLES;
  for (int i = 0; i < l->count && reps > 0; i++)
    if (l->entrants[i].good) get_ready(l, &l->entrants[i]);
  for (int round = 0; round < reps; round++)
    for (int i = 0; i < l->count; i++) {
      struct entrant *e = &l->entrants[(i + round) % l->count];
      if (xgb_interrupted) return -1;
      if (e->good && e->spent < l->effort->max_time) take_sample(l, e);
    }
  return 0;
}

/* ---------------------------------------------------------------- the field */

static const struct xg_gkr *kernel_of(const struct xg_rung *rung)
{
  for (int i = 0; xg_gkr_table[i]; i++)
    if (strcmp(xg_gkr_table[i]->name, rung->kernel) == 0) return xg_gkr_table[i];
  return NULL;
}

static struct entrant *enter(struct ladder *l, struct xgb_rung_result *result,
                             const struct xg_gkr *kernel, enum xg_size_class size, enum steps steps)
{
  if (l->count == MOST_ENTRANTS) return NULL;
  struct entrant *e = &l->entrants[l->count++];
  *e = (struct entrant){
      .ladder = l, .result = result, .kernel = kernel, .size = size, .steps = steps};
  if (!kernel || !kernel->workspace) return e;
  struct xg_gkr_args args = args_of(e, 0);
  size_t bytes = kernel->workspace(&args);
  if (bytes > 0) e->workspace = xgb_device_alloc(bytes);
  return e;
}

static const char *illegal(const struct entrant *e)
{
  struct xg_gkr_args args = args_of(e, 0);
  if (e->kernel->min_cc > xgb_device_cc()) return "it needs a newer card";
  if (e->kernel->max_cc && e->kernel->max_cc < xgb_device_cc())
    return "it was compiled for an older card";
  return e->kernel->ok(&args);
}

static int has_classes(const struct xg_rung *rung)
{
  return memcmp(&rung->tile[0], &rung->tile[1], sizeof rung->tile[0]) != 0 ||
         memcmp(&rung->tile[1], &rung->tile[2], sizeof rung->tile[0]) != 0;
}

/* The rung with the tile of the product's own class; the other classes' tiles; the fused rung with
 * its steps inside and as passes. */
static void enter_rung(struct ladder *l, const struct xg_rung *rung)
{
  struct xgb_rung_result *r = &l->row->rungs[l->row->count++];
  const struct xg_gkr *kernel = kernel_of(rung);
  *r = (struct xgb_rung_result){.rung = rung, .status = XGB_UNSUPPORTED, .difference = -1};
  if (!kernel) {
    snprintf(r->reason, sizeof r->reason, "this build has no kernel %s", rung->kernel);
    return;
  }
  enum xg_size_class own = xg_size_class_of(l->row->c.m, l->row->c.n);
  struct entrant *e = enter(l, r, kernel, own, PLAIN);
  if (!e) return;
  const char *why = illegal(e);
  if (why) {
    snprintf(r->reason, sizeof r->reason, "%s", why);
    xgb_device_free(e->workspace);
    l->count--;
    return;
  }
  e->chief = 1;
  r->status = XGB_GOOD;
  if (l->effort->reps == 0) return;
  for (int size = XG_SIZE_SMALL; size < XGB_SIZE_CLASSES && has_classes(rung); size++)
    if (size != (int)own) enter(l, r, kernel, (enum xg_size_class)size, PLAIN);
  if (!kernel->fuses) return;
  enter(l, r, kernel, own, FUSED);
  enter(l, r, kernel, own, SEPARATE);
}

static double median(double *samples, int count)
{
  return count > 0 ? xgb_median(samples, count) : 0;
}

/* What an entrant's samples say, to the result that they belong to. */
static void conclude(struct ladder *l, struct entrant *e)
{
  struct xgb_result *peer = &l->row->cublas;
  enum xg_size_class own = xg_size_class_of(l->row->c.m, l->row->c.n);
  double eager = median(e->seconds, e->count), graph = median(e->replays, e->replayed);
  double judged = graph > 0 ? graph : eager;
  if (!e->good || judged <= 0) return;
  if (!e->result) {
    if (peer->status == XGB_WRONG) return;
    if (peer->status == XGB_GOOD && xgb_judged(peer) <= judged) return;
    peer->status = XGB_GOOD, peer->median = eager, peer->graph = graph;
    peer->samples = e->count;
    snprintf(peer->kernel, sizeof peer->kernel, "%s", xgb_cublas_entry_name(&l->cublas, e->entry));
    return;
  }
  if (e->steps == PLAIN && has_classes(e->result->rung)) e->result->by_class[e->size] = judged;
  if (e->steps == SEPARATE) e->result->separate = judged;
  if (e->steps == (e->kernel->fuses ? FUSED : PLAIN) && e->size == own)
    e->result->eager = eager, e->result->graph = graph;
}

/* ---------------------------------------------------------------- a product */

static int prepare(struct ladder *l)
{
  const struct xgb_case *c = &l->row->c;
  if (xgb_operands_prepare(&l->o, c) || xgb_operands_narrow(&l->o, l->row->type))
    return xgb_error("no memory for the operands of %s", c->name);
  xgemm_problem p = xgb_problem(c, l->o.a, l->o.b, l->o.c, XGEMM_SPACE_HOST);
  l->oracle = xgb_oracle_new(&p);
  l->bias = malloc((size_t)c->n * sizeof *l->bias + 1);
  if (!l->oracle || !l->bias) return xgb_error("out of memory");
  for (int64_t j = 0; j < c->n; j++) l->bias[j] = (float)(j % 17 - 8) / 4;
  l->bias_device = xgb_device_alloc((size_t)c->n * sizeof *l->bias);
  if (!l->bias_device || xgb_operands_to_device(&l->o, c, 3 * xgb_device_l2()) ||
      xgb_device_upload(l->bias_device, l->bias, (size_t)c->n * sizeof *l->bias))
    return xgb_error("%s: %s", c->name, xgb_device_error());
  return 0;
}

static void clean_up(struct ladder *l)
{
  for (int i = 0; i < l->count; i++) {
    xgb_device_graph_free(l->entrants[i].graph);
    xgb_device_free(l->entrants[i].workspace);
  }
  xgb_cublas_plan_free(&l->cublas);
  xgb_device_free(l->bias_device);
  xgb_oracle_free(l->oracle);
  free(l->bias), free(l->plain), free(l->peer_c);
  xgb_operands_free(&l->o);
}

static void enter_all(struct ladder *l, const char *pattern)
{
  char version[64];
  struct xgb_result *peer = &l->row->cublas;
  const char *why =
      l->effort->reps == 0 ? "it was not asked for" : xgb_cublas_open(version, sizeof version);
  peer->status = XGB_UNSUPPORTED;
  if (why) snprintf(peer->reason, sizeof peer->reason, "%s", why);
  if (!why) xgb_cublas_plan(&l->cublas, &l->row->c, l->row->type);
  for (int entry = 0; entry < XGB_CUBLAS_ENTRIES && !why; entry++) {
    struct entrant *e = enter(l, NULL, NULL, XG_SIZE_ANY, PLAIN);
    if (e) e->entry = (enum xgb_cublas_entry)entry;
  }
  for (const struct xg_rung *rung = xg_ladder; rung->kernel; rung++)
    if (rung->type == l->row->type && fnmatch(pattern, rung->number, 0) == 0 &&
        l->row->count < XGB_MOST_RUNGS)
      enter_rung(l, rung);
}

int xgb_ladder_run(struct xgb_ladder_row *row, const char *pattern, const struct xgb_effort *effort)
{
  const char *why = xg_backend_gpu.available(1);
  if (!why) why = xgb_device_reason();
  row->count = 0;
  if (why) {
    xgb_ladder_list(row, pattern, why);
    return 0;
  }
  struct ladder *l = calloc(1, sizeof *l);
  if (!l) return xgb_error("out of memory");
  l->row = row, l->effort = effort, l->turns.o = &l->o;
  int bad = prepare(l);
  if (!bad) enter_all(l, pattern);
  for (int i = 0; i < l->count && !bad && !xgb_interrupted; i++) verify(l, &l->entrants[i]);
  bad = bad || xgb_interrupted || time_all(l);
  for (int i = 0; i < l->count && !bad && l->effort->reps > 0; i++) {
    if (l->entrants[i].good) verify(l, &l->entrants[i]); /* a race may show only now and then */
    conclude(l, &l->entrants[i]);
  }
  clean_up(l);
  free(l);
  return bad ? -1 : 0;
}
