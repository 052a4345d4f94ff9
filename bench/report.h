/* Where rows go: a table on stdout, a CSV file, a JSON file. Each row is complete on disk as soon
 * as it is measured. */
#ifndef XGB_REPORT_H
#define XGB_REPORT_H

#include <stdio.h>

#include "case.h"
#include "machine.h"
#include "peers.h"
#include "summary.h"

/* What all rows have in common. */
struct xgb_head {
  struct xgb_machine machine;
  char version[32], date[32];
  int argc;
  char **argv;
  const struct xgb_peer *peers;
  int peer_count;
  const struct xgb_result *columns; /* names only: the contestants, in the order of the results */
  int column_count;
  const char *pages; /* of the operands, NULL: not said */
  int show_bound;    /* a column for the share of the bound */
  int best_peer;     /* one column for the peer that the first pass picked */
  double copy_rate;  /* of the card, if there are contestants on it */
};

/* Machine, version and date. Starts CUDA if `gpu` is 1. */
void xgb_head_fill(struct xgb_head *head, int gpu);

/* ---------------------------------------------------------------- the three forms */

struct xgb_notes { /* why cells are empty, numbered */
  char text[64][XGB_NAME + XGB_REASON + 2];
  int count;
};

void xgb_table_begin(const struct xgb_head *head);
void xgb_table_row(const struct xgb_head *head, const struct xgb_row *row, struct xgb_notes *notes);
void xgb_table_end(const struct xgb_notes *notes);

void xgb_csv_begin(FILE *file);
void xgb_csv_row(FILE *file, const struct xgb_row *row);

/* The file is valid JSON after each of these; rows are numbered from 0. */
void xgb_json_begin(FILE *file, const struct xgb_head *head);
void xgb_json_row(FILE *file, const struct xgb_row *row, int index);
/* The tail: what the rows say together (NULL: nothing), and that all are there. */
void xgb_json_end(FILE *file, char (*crossovers)[256], int count,
                  const struct xgb_summary *summary);
/* The tail of a file whose run was stopped, where it cannot be rewritten (a pipe). */
void xgb_json_stop(FILE *file);
/* After a row that another wrote: closes the file for now. */
void xgb_json_hold(FILE *file);
/* A row of `bench --bits`: "equal", "different" or "not computed". */
void xgb_json_bits(FILE *file, const struct xgb_case *c, const char *verdict, int index);
/* A string with quotes, escaped. */
void xgb_json_string(FILE *file, const char *text);

/* ---------------------------------------------------------------- comparing rows */

/* Time of `other` over time of `own` (above 1: own is faster); 0 if either has none. Of two that
 * were replayed as graphs, the graphs'. */
double xgb_ratio(const struct xgb_result *own, const struct xgb_result *other);
/* The same of the calls back to back; 0 if they are not both also replayed. */
double xgb_eager_ratio(const struct xgb_result *own, const struct xgb_result *other);

/* Of a product whose operands take longer to move than its arithmetic takes: the seconds in which
 * 4 us and the bytes at `share` of the card's copy bandwidth go by. 0: not such a product, or not
 * known. */
double xgb_memory_floor(const struct xgb_case *c, const struct xgb_result *r, double share);
/* The result that a peer is compared with: the first of our own with operands in the same memory.
 */
const struct xgb_result *xgb_rival(const struct xgb_row *row, const struct xgb_result *peer);
const struct xgb_result *xgb_find_result(const struct xgb_row *row, const char *engine);

/* From which shape on the GPU with transfers is faster than the CPU, and from which AUTO takes it.
 */
struct xgb_crossing {
  char name[XGB_NAME];
  xgemm_type type;
  int threads, gpu_wins, auto_gpu;
  double flops;
};
struct xgb_crossings {
  struct xgb_crossing *list;
  int count, room;
};
void xgb_crossings_add(struct xgb_crossings *x, const struct xgb_row *row);
/* Sentences, one for each type and thread count; returns how many. They live until freed. */
int xgb_crossings_tell(struct xgb_crossings *x, char (*text)[256], int most);
void xgb_crossings_free(struct xgb_crossings *x);

#endif
