/* One row: every contestant verified, then all of them timed in turn, then verified again. With
 * best_peer there are two passes: the peers alone, briefly; then the fastest of them beside our
 * own, and only the samples of the second count. */
#ifndef XGB_RUN_H
#define XGB_RUN_H

#include "contest.h"

struct xgb_effort {
  int reps;        /* at least so many samples each */
  double min_time; /* at least so many seconds each */
  double max_time; /* about at most so many seconds each, and no call predicted longer */
  int best_peer;   /* a brief pass over all peers first, then only the fastest of them and ours */
};

/* Fills row->results (row->c is given). 0, or -1 if there was no memory or Ctrl-C came: the row
 * then is not finished. */
int xgb_run_case(struct xgb_row *row, struct xgb_contestant *contestants, int count,
                 struct xgb_operands *o, const struct xgb_effort *effort);

void xgb_row_free(struct xgb_row *row);

#endif
