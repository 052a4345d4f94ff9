/* Cache block sizes from an analytic model. */
#ifndef XG_BLOCKING_H
#define XG_BLOCKING_H

#include <stdint.h>

#include "topo.h"
#include "ukr.h"

/* mc is a multiple of MR and nc of NR (or the whole m or n rounded up to one); kc <= k. */
struct xg_blocks {
  int64_t mc, nc, kc;
};

/* Block sizes for an m x n x k product (each >= 1) by `threads` threads. kc depends on the kernel,
 * the caches and k alone: it decides where sums are cut, and so the bits of the result. */
void xg_blocking(const struct xg_topo *t, const struct xg_ukr *u, int64_t m, int64_t n, int64_t k,
                 int threads, struct xg_blocks *out);

/* Whether a block of A with these strides, in elements, to be multiplied by n columns of B, is read
 * where it is as quickly as packed: in order, and neither L1 nor L2 loses part of it for want of
 * sets. */
int xg_stays_in_place(const struct xg_topo *t, const struct xg_ukr *u,
                      const struct xg_blocks *blocks, int64_t n, int64_t rs, int64_t cs);

/* Whether n columns of B, packed, take no more of L2 than a block of A may. */
int xg_panel_fits_l2(const struct xg_topo *t, const struct xg_ukr *u,
                     const struct xg_blocks *blocks, int64_t n);

#endif
