/* Products with small k: as much time goes into writing C as into computing it. */
#ifndef XG_LOOPS_FLAT_H
#define XG_LOOPS_FLAT_H

#include "../common/problem.h"
#include "ukr.h"

/* Whether an oriented product (xg_orient) that is neither small nor thin is served by a strip
 * kernel: by type, sizes and strides alone. `strip` may be NULL: there is no such kernel. */
int xg_is_flat(const struct xg_problem *oriented, const struct xg_ukr *strip);

/* Columns of C whose part of B a thread keeps in L2. */
int64_t xg_flat_nc(const struct xg_problem *oriented, const struct xg_ukr *strip);

/* Bytes of workspace: for each thread a block of B, k NC e (NC rounded up to a vector), and a
 * cache line. */
size_t xg_flat_workspace(const struct xg_problem *oriented, const struct xg_ukr *strip,
                         int threads);

/* Computes a flat product that is neither nothing nor scale-only, on at most `threads` threads
 * (already acquired). Never fails: without memory it goes element by element, to the same bits. */
void xg_flat_run(const struct xg_problem *oriented, const struct xg_ukr *strip, int threads);

#endif
