/* The blocked product: five loops around a panel kernel. */
#ifndef XG_LOOPS_H
#define XG_LOOPS_H

#include "../common/problem.h"
#include "blocking.h"
#include "ukr.h"

/* The largest register tile of a panel kernel, in bytes: edges are merged through a buffer of it.
 */
enum { XG_TILE_BYTES = 16384 };

/* The same product with C's columns contiguous where its strides allow: vectors run along the
 * dimension in which C has unit stride, so column-major C is computed as C^T = B^T A^T. Returns 1
 * if it transposed. Of a single row or column the strides that no element needs are set to 1. */
int xg_orient(const struct xg_problem *p, struct xg_problem *oriented);

/* Transposes an oriented product where panel kernel `u` is quicker with C's rows as its columns. */
int xg_orient_panel(const struct xg_ukr *u, int64_t kc, struct xg_problem *oriented);

static inline int xg_is_better_transposed(const struct xg_problem *p)
{
  const int by_row = p->c.cs == 1 || p->n == 1, by_column = p->c.rs == 1 || p->m == 1;
  return by_column && (by_row ? p->m > p->n : 1);
}

/* Bytes of workspace: packed panels of B shared by all threads, one or, for several threads, two,
 * and a packed block of A and counters for each:
 *     panels (NC/NR + threads) (e NR KC + 64) + threads (e ceil(MC/MR) MR KC + 320),
 * each part rounded up to 64 bytes. */
size_t xg_loops_workspace(const struct xg_ukr *u, const struct xg_blocks *blocks, int threads);

/* Computes an oriented product that is neither nothing nor scale-only, on at most `threads` threads
 * (already acquired). Never fails: without memory it uses smaller MC and NC, at last
 * xg_loops_bare(). */
void xg_loops_run(const struct xg_problem *oriented, const struct xg_ukr *u,
                  const struct xg_blocks *blocks, int threads);

/* The same product, to the bit, element by element and without any workspace. */
void xg_loops_bare(const struct xg_problem *oriented, const struct xg_ukr *u, int64_t kc);

#endif
