/* What is timed: one product, and what came out of it. */
#ifndef XGB_CASE_H
#define XGB_CASE_H

#include <stdint.h>

#include "xgemm.h"

enum { XGB_MAX_CONTESTANTS = 64, XGB_NAME = 64, XGB_REASON = 240 };

/* A product in the terms of the BLAS: sizes, transposes, storage. */
struct xgb_case {
  char name[XGB_NAME]; /* from the shape file, else "MxNxK" */
  int64_t m, n, k, batch;
  char transa, transb; /* 'N' or 'T' */
  int has_scalars;     /* the shape file gave alpha or beta for this one */
  double alpha, beta;
  xgemm_type type;
  int row_major;
  int threads; /* 0: the engine's own default */
  int64_t lda, ldb, ldc;
  int has_layout;        /* the shape file gave the storage */
  int tiny_a;            /* the shape file wants an A of subnormal numbers */
  char only_type[4];     /* the shape file has it for this type only, "" for any */
  char remark[XGB_NAME]; /* of the shape file: figures reported elsewhere */
};

enum xgb_status {
  XGB_GOOD,        /* verified before and after it was timed */
  XGB_UNSUPPORTED, /* did not run, or another engine than the one asked for would have */
  XGB_WRONG,       /* ran and gave a wrong result: no time is reported */
  XGB_SLOWER       /* right, but out after a brief look: others were faster */
};

/* Of a GPU kernel: what the cost model makes of it (gpu/pick_cost.c). */
struct xgb_weight {
  int bm, bn, blocks, split, cuts, sms, streams;
  double tiles, peak, bandwidth;
  double rounds;  /* the busiest multiprocessor's, if the kernel itself says; else 0 */
  double seconds; /* predicted; 0: not a GPU kernel */
};

/* One contestant's part of a row. Times are seconds per call. On a card `seconds` and what comes
 * from them are of calls back to back; `replays` of a graph, where calls are short. */
struct xgb_result {
  char engine[XGB_NAME]; /* "cpu", "gpu", "gpu+copy", "openblas", ... */
  char backend[16];      /* "cpu", "gpu", "ref", "peer" */
  char kernel[XGB_NAME]; /* registry name; of a peer the function, if it has several; or "" */
  int candidate;         /* one of --kernels: no column of its own */
  int threads;           /* what the engine says it uses, 0: it does not say */
  enum xgb_status status;
  char reason[XGB_REASON]; /* why not, or what was wrong */
  double worst;            /* largest error found, as a share of its bound */
  double rms; /* root mean square of the errors, as shares of u (|alpha||A||B| + ...) */
  int samples;
  long calls;      /* per sample */
  double *seconds; /* one per sample, malloced */
  double median, best;
  double eager;      /* the median, or that of another entry of the peer if it is less */
  double *replays;   /* one per replay of the graph, malloced */
  int replay_count;  /* 0: there is no graph */
  double graph;      /* their median */
  double first_pass; /* of the brief look that picks the best peer or kernel, 0: there was none */
  double copy_rate;  /* bytes/s that the card copies, both directions counted; 0: no card's */
  struct xgb_weight weight;
  double peak;          /* flop/s that its percentage refers to, 0: unknown */
  double bound;         /* the lesser of that and what memory allows, flop/s; 0: unknown */
  double bound_rate;    /* bytes/s of the memory, 0: operands within the last cache */
  const char *bound_by; /* "fma", "read", "write", "update" */
};

struct xgb_row {
  struct xgb_case c;
  int count;
  struct xgb_result results[XGB_MAX_CONTESTANTS];
  const char *best_peer; /* the peer that the first pass picked, or NULL */
  char auto_takes[16];   /* the engine AUTO takes for host operands; "" if it was not asked */
  /* --kernels: the time of the kernel that the library takes over that of the best; 0: not known */
  double choice;
  char chosen[XGB_NAME], best_kernel[XGB_NAME];
};

static inline double xgb_flops(const struct xgb_case *c)
{
  return 2.0 * (double)c->m * (double)c->n * (double)c->k;
}

/* A, B and C moved once, C twice if it is also read. */
static inline double xgb_ideal_bytes(const struct xgb_case *c)
{
  double size = c->type == XGEMM_F64 ? 8 : 4, m = (double)c->m, n = (double)c->n, k = (double)c->k;
  return size * (m * k + k * n + m * n * (c->beta != 0 ? 2 : 1));
}

/* The time that counts: of calls so short that their launches would be timed, the graph's. */
static inline double xgb_judged(const struct xgb_result *r)
{
  return r->graph > 0 ? r->graph : r->median;
}

static inline const char *xgb_type_name(xgemm_type type)
{
  return type == XGEMM_F64 ? "f64" : "f32";
}

static inline const char *xgb_status_name(enum xgb_status status)
{
  static const char *const names[] = {"good", "unsupported", "wrong", "slower"};
  return names[status];
}

#endif
