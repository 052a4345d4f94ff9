/* `xgemm bench --bits`: the order of additions may not depend on the number of threads. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"
#include "options.h"
#include "report.h"
#include "timing.h"

struct bits {
  const struct xgb_bench_options *o;
  struct xgb_operands operands;
  int threads[XGB_MAX_LIST], count;
  int rows, different, failed;
  FILE *json;
};

/* C of one call with this many threads, in operands.c; how many were used, or -1 and the row is
 * printed. */
static int compute(struct bits *b, const struct xgb_case *c, int threads)
{
  struct xgb_contestant x = {.backend = XGEMM_BACKEND_CPU, .kind = XGB_OWN, .via = b->o->via};
  struct xgb_result r = {0};
  struct xgb_case with = *c;
  with.threads = threads;
  if (b->o->kernel_count > 0) x.kernel = b->o->kernels[0];
  xgb_operands_reset(&b->operands, c);
  int bad = xgb_contestant_prepare(&x, &with, &b->operands, 1e30, &r);
  if (!bad) {
    xgb_contestant_enter(&x);
    bad = xgb_contestant_call(&x, 0);
    if (bad) snprintf(r.reason, sizeof r.reason, "%s", xgemm_last_reason());
  }
  xgb_contestant_done(&x);
  if (bad) printf("%-24s %s  %s\n", c->name, xgb_type_name(c->type), r.reason);
  return bad ? -1 : r.threads;
}

static int compare(void *context, const struct xgb_case *c)
{
  struct bits *b = context;
  if (c->batch > 1 || c->m == 0 || c->n == 0) return 0;
  if (xgb_operands_prepare(&b->operands, c)) return xgb_error("no memory for %s", c->name);
  unsigned char *first = malloc(b->operands.c_bytes);
  if (!first) return xgb_error("no memory for %s", c->name);
  char verdict[128] = "equal", used[128] = "";
  xgb_progress(b->rows, 0, c->name);
  int bad = 0;
  for (int i = 0; i < b->count && !bad && !xgb_interrupted; i++) {
    int threads = compute(b, c, b->threads[i]);
    bad = threads < 0;
    snprintf(used + strlen(used), sizeof used - strlen(used), " %d", threads);
    if (i == 0)
      memcpy(first, b->operands.c, b->operands.c_bytes);
    else if (!bad && memcmp(first, b->operands.c, b->operands.c_bytes) != 0 && verdict[0] == 'e')
      snprintf(verdict, sizeof verdict, "DIFFERENT with %d threads from %d", b->threads[i],
               b->threads[0]);
  }
  xgb_progress(0, 0, NULL);
  free(first);
  if (xgb_interrupted) return 1;
  if (b->json)
    xgb_json_bits(b->json, c,
                  bad                 ? "not computed"
                  : verdict[0] == 'e' ? "equal"
                                      : "different",
                  b->rows);
  b->rows++;
  b->failed += bad != 0;
  b->different += !bad && verdict[0] != 'e';
  if (!bad)
    printf("%-24s %s %c%c%c %6lld %6lld %6lld  %s; ran with%s\n", c->name, xgb_type_name(c->type),
           c->transa, c->transb, c->row_major ? 'r' : 'c', (long long)c->m, (long long)c->n,
           (long long)c->k, verdict, used);
  fflush(stdout);
  return 0;
}

int xgb_bits(const struct xgb_bench_options *o, int argc, char **argv)
{
  struct bits b = {.o = o};
  struct xgb_bench_options once = *o;
  for (int i = 0; i < o->thread_count; i++) b.threads[b.count++] = o->threads[i];
  if (b.count == 1 && b.threads[0] == 0) /* --threads was not given */
    for (b.count = 0; b.count < 4; b.count++) b.threads[b.count] = b.count + 1;
  if (b.count < 2) {
    xgb_error("--bits compares at least two numbers of --threads");
    return XGB_EXIT_USAGE;
  }
  if (o->json && !(b.json = fopen(o->json, "w"))) return perror(o->json), XGB_EXIT_USAGE;
  once.thread_count = 1;
  once.threads[0] = b.threads[b.count - 1];
  struct xgb_head head = {.argc = argc, .argv = argv};
  xgb_head_fill(&head, 0);
  if (b.json) xgb_json_begin(b.json, &head);
  printf("bits of C, CPU engine (%s), threads", head.machine.isa);
  for (int i = 0; i < b.count; i++) printf("%s%d", i ? ", " : " ", b.threads[i]);
  printf("; %d cores\n", head.machine.cores);
  xgb_catch_interrupt();
  int stopped = xgb_each_case(&once, compare, &b);
  xgb_operands_free(&b.operands);
  if (b.json && !stopped) xgb_json_end(b.json, NULL, 0, NULL);
  if (b.json && stopped) xgb_json_stop(b.json);
  if (b.json) fclose(b.json);
  printf("%d products: %d different, %d not computed\n", b.rows, b.different, b.failed);
  if (xgb_interrupted) return XGB_EXIT_INTERRUPTED;
  return stopped || b.different || b.failed ? XGB_EXIT_FAILED : XGB_EXIT_GOOD;
}
