/* The router: ask each backend whether it can and how long it takes, keep the best, remember it. */
#ifndef XG_PLAN_H
#define XG_PLAN_H

#include <stdatomic.h>

#include "backend.h"

enum { XG_MAX_BACKENDS = 3, XG_REASON_SIZE = 160 };

/* One backend's answer. */
struct xg_candidate {
  const struct xg_backend *backend;
  int can;
  struct xg_choice choice;   /* if it can */
  char why[XG_REASON_SIZE];  /* if it can't */
};

/* Everything the router learned about one problem, for describe and verbose. */
struct xg_decision {
  struct xg_candidate candidates[XG_MAX_BACKENDS];
  int count, taken; /* index of the one taken */
};

/* Fills the caller's defaults in (environment, xgemm_set_defaults). options may be NULL. */
xgemm_status xg_request_from_public(struct xg_request *out, const xgemm_options *options);

/* Decide. On failure the reason is set. */
xgemm_status xg_decide(const struct xg_problem *p, const struct xg_request *r, struct xg_decision *d);

/* Quick returns, tiny path, cached decision, run, verbose line: the common tail of all front ends. */
xgemm_status xg_execute(const struct xg_problem *p, const struct xg_request *r);

/* The front ends of the BLAS names: host problem, default options. 0 while everything is default and
 * nothing is forced, verbose or uninitialised; then small problems may go straight to the tiny path. */
extern atomic_int xg_slow_word;
xgemm_status xg_execute_default(const struct xg_problem *p);

/* A line that replays in the bench: "sgemm m=.. n=.. k=.. ta=N tb=N alpha=.. beta=.. lda=..". */
int xg_describe_problem(const struct xg_problem *p, char *buffer, size_t size);
int xg_describe_choice(const struct xg_choice *c, char *buffer, size_t size);

#endif
