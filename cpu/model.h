/* How fast the packed loops should be with a kernel, from its tile and the machine's caches alone.
 * docs/cpu.md derives the terms and puts measurements beside them. */
#ifndef XG_MODEL_H
#define XG_MODEL_H

#include "blocking.h"
#include "topo.h"
#include "ukr.h"

/* Cycles of one core; bytes. A step is one step of k of a whole tile. */
struct xg_model {
  int registers;                      /* accumulators, a row of B, an element of A */
  double fma, load, l2;               /* cycles a step needs of each unit; they overlap */
  double step;                        /* the largest, or the latency of an FMA */
  const char *limit;                  /* which of them that is */
  double store;                       /* cycles at the end of a tile: C read, scaled, written */
  struct xg_blocks blocks;            /* for the product asked about */
  int64_t b_sliver, a_block, b_panel; /* bytes of what L1, L2 and L3 are to keep */
  double compute, update, pack, edge; /* cycles of the product on one thread: steps of whole tiles,
                                         ends of tiles, packing, waste at the edges */
  double share;                       /* of the FMA peak */
};

/* For a PANEL kernel and an oriented product of m, n, k >= 1 on `threads` threads. */
void xg_model(const struct xg_topo *t, const struct xg_ukr *u, int64_t m, int64_t n, int64_t k,
              int threads, struct xg_model *out);

#endif
