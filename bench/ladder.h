/* `xgemm ladder`: the rungs of the ladder on one product, what paper says of them and what they do.
 */
#ifndef XGB_LADDER_H
#define XGB_LADDER_H

#include <stdio.h>

#include "../gpu/ladder/model.h"
#include "case.h"
#include "run.h"

enum { XGB_MOST_RUNGS = 24, XGB_SIZE_CLASSES = 4 };

struct xgb_rung_result {
  const struct xg_rung *rung;
  enum xgb_status status;
  char reason[XGB_REASON];
  double eager, graph; /* medians, seconds per call; graph 0: calls of 50 us and more */
  double worst;        /* largest error as a share of its bound */
  double difference;   /* from cuBLAS's C, root mean square over root mean square; -1: not known */
  /* By the tile of each size class, [XG_SIZE_ANY] unused; 0: the rung has one tile for all. */
  double by_class[XGB_SIZE_CLASSES];
  double separate; /* a rung that fuses: with bias and ReLU as two passes of their own; else 0 */
};

struct xgb_ladder_row {
  struct xgb_case c; /* column-major; C is f32 for the 16-bit types */
  char type;         /* 's', 'd', 'h', 'b' */
  int count;
  struct xgb_rung_result rungs[XGB_MOST_RUNGS];
  struct xgb_result cublas; /* status, kernel (its entry), median, graph */
};

/* The rungs of row->type whose numbers match `pattern`, not run, and why. */
void xgb_ladder_list(struct xgb_ladder_row *row, const char *pattern, const char *why);

/* The same rungs, every one verified, then all of them timed in turn beside cuBLAS, then verified
 * again. effort->reps = 0: each is launched once and verified, in their order, and nothing else is.
 * 0, or -1 if there was no memory or Ctrl-C came. ladder_cuda.c, or ladder_none.c without CUDA:
 * there each is unsupported. */
int xgb_ladder_run(struct xgb_ladder_row *row, const char *pattern,
                   const struct xgb_effort *effort);

/* What Nsight Compute counted of one launch; ladder_counters.c. */
struct xgb_counters {
  double dram, l2;          /* bytes */
  double shared;            /* loads, 128 bytes a wavefront */
  double l1;                /* the same of all that passes the L1's data stage, shared memory too */
  double conflicts;         /* wavefronts that bank conflicts added, loads */
  double sectors, requests; /* of global loads */
};

struct xgb_counter_list {
  int count;
  struct xgb_counters list[512];
};

/* Reads "launch metric value" lines. 0, or -1 after a message. */
int xgb_counters_read(struct xgb_counter_list *list, const char *path);

/* ---------------------------------------------------------------- what a rung's numbers say */

/* How near a rung comes to each of the card's limits, as shares; the largest binds. */
struct xgb_rung_limits {
  double arithmetic, dram, l2, l1; /* l1: with shared memory, which has the same data stage */
  const char *binds;
  int modelled; /* bytes are predicted, not counted */
};

struct xgb_rung_limits xgb_rung_limits(const struct xgb_ladder_row *row,
                                       const struct xgb_rung_result *r,
                                       const struct xgb_counters *counted);
/* Flop/s of the units that a rung of this type uses. */
double xgb_rung_peak(char type);
/* The class whose tile was the fastest; XG_SIZE_ANY: the rung has one tile. */
enum xg_size_class xgb_rung_best_class(const struct xgb_rung_result *r);

/* A row of the JSON file for each rung of the product, numbered from *index on. counted: one for
 * each, or NULL. */
void xgb_ladder_json(FILE *file, const struct xgb_ladder_row *row,
                     const struct xgb_counters *const *counted, int *index);
void xgb_ladder_table(const struct xgb_ladder_row *row, const struct xgb_counters *const *counted);

static inline double xgb_rung_seconds(const struct xgb_rung_result *r)
{
  return r->graph > 0 ? r->graph : r->eager;
}

#endif
