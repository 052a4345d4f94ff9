/* What `xgemm bench` was asked for. */
#ifndef XGB_OPTIONS_H
#define XGB_OPTIONS_H

#include "args.h"
#include "contest.h"
#include "run.h"
#include "shapes.h"

enum { XGB_MAX_LIST = 16 };

struct xgb_bench_options {
  struct xgb_shapes shapes;
  xgemm_type types[2];
  int type_count;
  int layouts[2]; /* 1: row-major */
  int layout_count;
  char trans[4][2]; /* count 0: the shapes' own */
  int trans_count;
  int has_alpha, has_beta;
  double alpha, beta;
  int threads[XGB_MAX_LIST];
  int thread_count;
  xgemm_backend backends[4];
  int backend_count;
  char kernels[XGB_MAX_LIST][XGB_NAME];
  int kernel_count;
  int device_only; /* the GPU engine with operands on the card, not also with copies */
  int all_kernels; /* every GPU kernel as a candidate beside the one that is taken */
  int ladder_too;  /* among them the rungs */
  char peers[XGB_MAX_PEERS][256];
  int peer_count;
  const char *peers_folder; /* for peer "all"; NULL: $XGB_PEERS */
  enum xgb_via via;
  enum xgb_pages pages;
  int has_pages;
  int64_t pads[XGB_MAX_LIST], max_dim;
  int pad_count;
  double max_flops; /* 0: any */
  double under;     /* the summary counts ratios below it */
  struct xgb_effort effort;
  const char *csv, *json;
  int cpu_clock, bits, goals, beside_one, held, help;
  /* Options of shape files have level 0, the command line 1; a list of a higher level replaces one
   * of a lower. */
  int level, kernel_level, peer_level;
};

extern const struct xgb_flag xgb_bench_flags[];

/* Parses the command line and the "options:" lines of shape files. 0, or -1 after a message. */
int xgb_bench_parse(struct xgb_bench_options *o, int argc, char **argv);

/* Calls `visit` for every combination of types, layouts, threads, shapes and transposes until it
 * returns non-zero, which is returned. */
int xgb_each_case(const struct xgb_bench_options *o,
                  int (*visit)(void *context, const struct xgb_case *c), void *context);

/* `xgemm bench --bits`: the same bits for each number of threads? Returns the exit code. */
int xgb_bits(const struct xgb_bench_options *o, int argc, char **argv);

#endif
