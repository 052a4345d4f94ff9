/* How threads divide a product between them. */
#ifndef XG_GRID_H
#define XG_GRID_H

#include <stdint.h>

#include "blocking.h"
#include "ukr.h"

/* What is to be divided: the oriented product. */
struct xg_field {
  int64_t m, n, k;
  int a_in_place; /* A is not packed */
  int b_by_tiles; /* B is packed by the tiles that multiply it, which costs nothing */
};

/* The rows of C are cut into `down` parts, the columns of every panel of B into `across`, more of
 * them than threads, which take what comes next when they are free. */
struct xg_grid {
  int64_t down, across;
  int shared; /* parts one above the other use the same packed columns of B, which whoever comes
                 first packs; else each part is computed from end to end by one thread */
};

enum {
  XG_PARTS_ACROSS = 4, /* for each thread, at most, */
  XG_PARTS = 16        /* and of all shared ones */
};

/* The grid on which `threads` are done first, some of which may be slow. Bits do not depend on it.
 */
struct xg_grid xg_grid_for(const struct xg_ukr *u, const struct xg_blocks *blocks,
                           const struct xg_field *f, int threads);

/* Columns that are divided no further: a vector where the kernel masks, else a tile. */
int64_t xg_grid_step(const struct xg_ukr *u);

#endif
