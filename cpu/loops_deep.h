/* Products with large k and small m and n: A and B are streamed once, C is nearly nothing. */
#ifndef XG_LOOPS_DEEP_H
#define XG_LOOPS_DEEP_H

#include "../common/problem.h"
#include "ukr.h"

/* Whether an oriented product (xg_orient) that is neither small nor thin is served by a strip
 * kernel: by type and sizes alone. `strip` may be NULL: there is no such kernel. */
int xg_is_deep(const struct xg_problem *oriented, const struct xg_ukr *strip);

struct xg_deep { /* how k is cut, by shape alone */
  int64_t chunk; /* steps of k that one thread sums, a multiple of kc */
  int64_t split; /* chunks */
  int64_t kc;    /* steps copied at a time, whose products are summed from zero */
};
struct xg_deep xg_deep_cut(const struct xg_problem *oriented, const struct xg_ukr *strip);

/* Bytes of workspace, with M and N for m and n rounded up to whole vectors of V elements: the sums
 * of the chunks, split M N e <= 8 MiB, and for each thread two blocks of A and two of B, 2 (KC + V)
 * (M + N) e, at most 1 MiB, and a cache line. */
size_t xg_deep_workspace(const struct xg_problem *oriented, const struct xg_ukr *strip,
                         int threads);

/* Computes a deep product that is neither nothing nor scale-only, on at most `threads` threads
 * (already acquired). Never fails: without memory it goes element by element, to the same bits. */
void xg_deep_run(const struct xg_problem *oriented, const struct xg_ukr *strip, int threads);

/* The same product, to the bit, without any workspace (loops_bare.c). */
void xg_deep_bare(const struct xg_problem *oriented, const struct xg_deep *cut);

#endif
