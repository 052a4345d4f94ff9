/* What bench/ncu.sh took from Nsight Compute: lines "launch metric value", launches counted from 0
 * in the order of `xgemm ladder --once`. */
#include <stdio.h>
#include <string.h>

#include "args.h"
#include "ladder.h"

static void take(struct xgb_counters *x, const char *metric, double value)
{
  static const double wavefront = 128; /* bytes */
  if (strcmp(metric, "dram__bytes.sum") == 0) x->dram = value;
  if (strcmp(metric, "lts__t_bytes.sum") == 0) x->l2 = value;
  if (strcmp(metric, "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum") == 0)
    x->shared = wavefront * value;
  if (strcmp(metric, "l1tex__data_pipe_lsu_wavefronts.sum") == 0) x->l1 = wavefront * value;
  if (strcmp(metric, "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum") == 0)
    x->conflicts = value;
  if (strcmp(metric, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum") == 0) x->sectors = value;
  if (strcmp(metric, "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum") == 0) x->requests = value;
}

int xgb_counters_read(struct xgb_counter_list *list, const char *path)
{
  enum { MOST = sizeof list->list / sizeof *list->list };
  char line[512], metric[256];
  int launch, bad = 0;
  double value;
  FILE *file = fopen(path, "r");
  memset(list, 0, sizeof *list);
  if (!file) {
    perror(path);
    return -1;
  }
  while (fgets(line, sizeof line, file) && !bad) {
    bad =
        sscanf(line, "%d %255s %lf", &launch, metric, &value) != 3 || launch < 0 || launch >= MOST;
    if (bad) continue;
    take(&list->list[launch], metric, value);
    if (launch >= list->count) list->count = launch + 1;
  }
  fclose(file);
  return bad ? xgb_error("--counters %s: \"%.100s\" is not \"launch metric value\"", path, line)
             : 0;
}
