/* Products with one of m and n at most 16: one long matrix streamed once from memory. */
#ifndef XG_LOOPS_THIN_H
#define XG_LOOPS_THIN_H

#include "../common/problem.h"
#include "ukr.h"

/* Whether an oriented product (xg_orient) is served by a stream kernel: by type, sizes and strides
 * alone, and never if xg_cpu_tiny() takes the product, so that the bits are the same whichever way
 * a call comes in. `stream` may be NULL: there is no such kernel. */
int xg_is_thin(const struct xg_problem *oriented, const struct xg_ukr *stream);

/* Whether a stream kernel can compute it, if forced to: where the longer matrix has a unit stride.
 * Past 16 by 16 it goes in strips, for which that matrix is read again. */
int xg_thin_serves(const struct xg_problem *oriented, const struct xg_ukr *stream);

/* Bytes of workspace. Dot and spread: the small matrix, packed, s k e (s and k rounded up to
 * vectors), once or for each thread, and none if it lies as packing would lay it. Axpy: at most 512
 * KiB of sums for each thread. */
size_t xg_thin_workspace(const struct xg_problem *oriented, const struct xg_ukr *stream,
                         int threads);

/* Whether two threads would not have to wait for one another. */
int xg_thin_is_loose(const struct xg_problem *oriented, const struct xg_ukr *stream);

/* Computes a thin product that is neither nothing nor scale-only, on at most `threads` threads
 * (already acquired); one would take about `ns` nanoseconds. Never fails: without memory it packs
 * small pieces again and again, to the same bits. */
void xg_thin_run(const struct xg_problem *oriented, const struct xg_ukr *stream, int threads,
                 double ns);

#endif
