/* Small products: no packing of whole operands, no allocation, no plan. */
#ifndef XG_LOOPS_SMALL_H
#define XG_LOOPS_SMALL_H

#include "../common/problem.h"
#include "ukr.h"

/* Whether an oriented product (xg_orient) is served by an in-place kernel: by type, sizes and
 * strides alone, so that the bits are the same whichever way a call comes in. */
int xg_is_small(const struct xg_problem *oriented, const struct xg_ukr *inplace);

/* The steps that k is cut into. */
int64_t xg_small_kc(const struct xg_ukr *inplace, int64_t k);

/* Computes an oriented product with unit column stride in C, neither nothing nor scale-only. Any
 * sizes and strides of A and B. */
void xg_small_run(const struct xg_problem *oriented, const struct xg_ukr *inplace);

/* The same on `threads` threads, already acquired; one would take about `ns` nanoseconds. */
void xg_small_run_threads(const struct xg_problem *oriented, const struct xg_ukr *inplace,
                          int threads, double ns);

/* The products that the tiny path takes, or hands to the blocked ways for C's strides: no other way
 * may claim them, or the bits would depend on how the call came in. 40^3 multiply-adds are where a
 * second thread begins to pay; the side is a power of two, so that one comparison does for three.
 */
enum { XG_TINY_MNK = 40 * 40 * 40, XG_TINY_SIDE = 512 };

static inline int xg_is_tiny(const struct xg_problem *p)
{
  return (p->m | p->n | p->k) < XG_TINY_SIDE && p->m * p->n * p->k <= XG_TINY_MNK;
}

/* Products of 80^3 multiply-adds, some 10 us, are computed here sooner than another engine could
 * begin. */
enum { XG_DIRECT_MNK = 80 * 80 * 80, XG_DIRECT_SIDE = 1 << 16 };

static inline int xg_is_direct(const struct xg_problem *p)
{
  return (p->m | p->n | p->k) < XG_DIRECT_SIDE && p->m * p->n * p->k <= XG_DIRECT_MNK;
}

/* The tiny path of the CPU backend: 1 when done, 0 when the product is too large for it. Products
 * that are not tiny are handed on to xg_cpu_direct(), which takes those that one thread serves. */
int xg_cpu_tiny(const struct xg_problem *p);
int xg_cpu_direct(const struct xg_problem *p);

/* On one thread, as a plan would have it done, without the plan. 0, and nothing written, where a
 * plan would not take an in-place kernel. */
int xg_small_direct(const struct xg_problem *p);

#endif
