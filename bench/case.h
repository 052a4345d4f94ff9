/* What is timed: one product, and what came out of it. */
#ifndef XGB_CASE_H
#define XGB_CASE_H

#include <stdint.h>

#include "xgemm.h"

enum { XGB_MAX_CONTESTANTS = 18, XGB_NAME = 64, XGB_REASON = 240 };

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
  XGB_SLOWER       /* right, but another peer was faster in the first pass */
};

/* One contestant's part of a row. Times are seconds per call. */
struct xgb_result {
  char engine[XGB_NAME]; /* "cpu", "gpu", "gpu+copy", "openblas", ... */
  char backend[16];      /* "cpu", "gpu", "ref", "peer" */
  char kernel[XGB_NAME]; /* registry name, "" for a peer */
  int threads;           /* what the engine says it uses, 0: it does not say */
  enum xgb_status status;
  char reason[XGB_REASON]; /* why not, or what was wrong */
  double worst;            /* largest error found, as a share of its bound */
  double rms; /* root mean square of the errors, as shares of u (|alpha||A||B| + ...) */
  int samples;
  long calls;      /* per sample */
  double *seconds; /* one per sample, malloced */
  double median, best;
  double first_pass;    /* median of the pass that picks the best peer, 0: there was none */
  double graph;         /* GPU with device operands under 50 us: replay of a CUDA graph, else 0 */
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
};

static inline double xgb_flops(const struct xgb_case *c)
{
  return 2.0 * (double)c->m * (double)c->n * (double)c->k;
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
