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

/* down * across threads: each row of the grid owns a range of C's rows, each column a range of the
 * columns of every panel of B. */
struct xg_grid {
  int down, across;
  int shared; /* the threads of a column pack B together, else each for itself */
};

/* The grid on which the slowest thread is done first. Bits do not depend on it. */
struct xg_grid xg_grid_for(const struct xg_ukr *u, const struct xg_blocks *blocks,
                           const struct xg_field *f, int threads);

/* Columns that are divided no further: a vector where the kernel masks, else a tile. */
int64_t xg_grid_step(const struct xg_ukr *u);

#endif
