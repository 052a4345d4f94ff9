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
  struct xg_choice choice;  /* if it can */
  char why[XG_REASON_SIZE]; /* if it can't */
};

/* Everything the router learned about one problem, for describe and verbose. */
struct xg_decision {
  struct xg_candidate candidates[XG_MAX_BACKENDS];
  int count, taken; /* index of the one taken */
};

/* Fills the caller's defaults in (environment, xgemm_set_defaults). options may be NULL. */
xgemm_status xg_request_from_public(struct xg_request *out, const xgemm_options *options);

/* A kernel named by default (environment, xgemm_set_defaults), if it fits this problem. */
void xg_request_default_kernel(struct xg_request *r, const struct xg_problem *p);

/* How many environment variables have values that are not understood (each was named on stderr), an
 * unknown XGEMM_KERNEL among them. */
int xg_environment_problems(void);

/* Decide. On failure the reason is set. */
xgemm_status xg_decide(const struct xg_problem *p, const struct xg_request *r,
                       struct xg_decision *d);

/* Cached decision or a new one, run, verbose line: the common tail of all front ends. */
xgemm_status xg_execute(const struct xg_problem *p, const struct xg_request *r);

/* Host operands and default options: small problems go straight to the tiny path. */
xgemm_status xg_execute_default(const struct xg_problem *p);

/* 0 while everything is default: nothing forced, verbose or uninitialised. */
extern atomic_int xg_slow_word;

/* The engine's tiny path; meaningful while xg_slow_word is 0. */
extern int (*xg_tiny)(const struct xg_problem *p);

/* The small products that need no decision. Inline, since a call would be a tenth of the smallest.
 * The first for m, n >= 1 only. */
static inline int xg_done_by_tiny(const struct xg_problem *p)
{
  return atomic_load_explicit(&xg_slow_word, memory_order_acquire) == 0 && xg_tiny(p);
}

static inline int xg_done_quickly(const struct xg_problem *p)
{
  return xg_is_nothing(p) || xg_done_by_tiny(p);
}

/* The same for the BLAS names, which cannot refuse: if what the environment or xgemm_set_defaults
 * forces cannot do it, that is said on stderr once and the CPU computes. */
void xg_execute_blas_slowly(const struct xg_problem *p);

static inline void xg_execute_blas(const struct xg_problem *p)
{
  if (!xg_done_quickly(p)) xg_execute_blas_slowly(p);
}

/* Run what was decided. */
xgemm_status xg_run_choice(const struct xg_choice *c, const struct xg_problem *p,
                           const struct xg_request *r);

/* The registry's own spelling (constant storage) of a kernel's name and its type, or NULL. */
const char *xg_registry_name(const char *name, xgemm_type *type);

/* Text; at most `size` bytes are written, the whole length is returned. Level 0: one line. */
int xg_describe_problem(const struct xg_problem *p, char *buffer, size_t size);
int xg_describe_choice(const struct xg_choice *c, char *buffer, size_t size);
int xg_describe_decision(const struct xg_problem *p, const struct xg_decision *d, int level,
                         char *buffer, size_t size);

#endif
