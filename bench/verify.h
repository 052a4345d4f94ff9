/* Is this C right? Small products are compared element by element with the tests' reference, each
 * within (k + 4) u (|alpha||A||B| + |beta||C|). Of large ones
 *   - the first, the last and two random rows and columns are computed in wider precision and held
 *     to the same bound;
 *   - every row must give the right product with a vector s of random signs (Freivalds):
 *     |C s - (alpha A (B s) + beta C s)|_i <= 4 u sqrt(k + 4) (|alpha||A||B| 1 + |beta||C| 1)_i /
 * sqrt(n). Rounding errors of elements are independent of s, so they add as sqrt(n) and not as n;
 * and those of one element of zero-mean data as sqrt(k). A wrong tile, row, edge or k block shows
 * in every row that it touches, wherever it is. */
#ifndef XGB_VERIFY_H
#define XGB_VERIFY_H

#include <stddef.h>

#include "case.h"

struct xgb_oracle;

/* The problem's C holds what it held before the call. NULL: out of memory. */
struct xgb_oracle *xgb_oracle_new(const xgemm_problem *p);
void xgb_oracle_free(struct xgb_oracle *o);

struct xgb_errors {
  double worst; /* largest error as a share of its bound */
  double rms; /* root mean square of error / (u (|alpha||A||B| + |beta||C|)) over the elements that
               * were computed in wider precision */
};

/* Checks the C at `c` (same strides). Returns 0, or -1 and what is wrong in `why`. */
int xgb_oracle_check(const struct xgb_oracle *o, const void *c, struct xgb_errors *errors,
                     char *why, size_t size);

#endif
