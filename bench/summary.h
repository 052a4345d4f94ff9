/* What many rows say together: the geometric mean of a ratio, its worst row, how many rows lie
 * under a threshold; for each of our contestants, each peer, type and thread count. With --kernels
 * also how often the library took the best kernel, or one nearly as good. */
#ifndef XGB_SUMMARY_H
#define XGB_SUMMARY_H

#include <stdio.h>

#include "case.h"

struct xgb_group {
  char own[XGB_NAME], peer[XGB_NAME]; /* peer "best": the one that the first pass picked */
  xgemm_type type;
  int threads, rows, under;
  double logs;  /* sum of the logarithms of the ratios */
  double worst; /* smallest ratio */
  char worst_row[XGB_NAME + 48];
  int eager_rows; /* that have a graph: the same of the calls back to back */
  double eager_logs, eager_worst;
};

/* Rows of one type in which the best of the kernels is known. */
struct xgb_choices {
  int rows, near; /* near: within 5 % of the best */
  double worst;   /* largest time of the chosen over that of the best */
  char worst_row[2 * XGB_NAME + XGB_NAME + 64];
};

struct xgb_summary {
  double threshold;
  struct xgb_group groups[96];
  int count;
  struct xgb_choices choices[2]; /* f32, f64 */
};

void xgb_summary_add(struct xgb_summary *s, const struct xgb_row *row);
double xgb_group_mean(const struct xgb_group *g);
/* A line for each group on stdout. */
void xgb_summary_tell(const struct xgb_summary *s);
/* A member "summary" of the JSON file. */
void xgb_summary_json(FILE *file, const struct xgb_summary *s);

#endif
