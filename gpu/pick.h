/* Which GPU kernel: candidates, legality, cost, the cheapest. Forced by name if a name is given. */
#ifndef XG_GPU_PICK_H
#define XG_GPU_PICK_H

#include "device.h"
#include "gather.h"
#include "gkr.h"

/* What a kernel would take for a product, and why. Seconds are predictions. */
struct xg_gpu_cost {
  int split;         /* parts that k is cut into */
  int cuts;          /* sums of parts of k are added up afterwards */
  double tiles;      /* block tiles, times the parts that k is cut into */
  double waves;      /* rounds: tiles / (multiprocessors x resident blocks), or the kernel's word */
  double last_share; /* of the last round's places, how many are filled */
  double edge_waste; /* share of the arithmetic that lies outside C */
  double arithmetic; /* seconds at the rate of the FMA or Tensor units */
  double memory;     /* seconds to move the operands once, and what is gathered or reduced */
  double seconds;    /* the larger, and the start and end of a tile */
};

/* The arguments for a kernel. With `gather`, operands that pay for it are those of the dense
 * copies, aligned, and *gather says which; NULL: none is copied. Workspace and epilogue are left
 * empty. */
struct xg_gkr_args xg_gpu_args(const struct xg_problem *p, const struct xg_gpu_card *card,
                               struct xg_gather *gather);

/* NULL if the kernel has code for this card, else why not. */
const char *xg_gpu_no_code(const struct xg_gkr *kernel, const struct xg_gpu_card *card);

/* NULL if the kernel can do this product on this card, else why not. */
const char *xg_gpu_illegal(const struct xg_gkr *kernel, const struct xg_gkr_args *args, char type,
                           const struct xg_gpu_card *card);

/* flop/s of the units that the kernel works on. */
double xg_gpu_units_peak(const struct xg_gkr *kernel, const struct xg_gpu_card *card);

/* `gathered`: bytes that copying operands dense moves before the kernel starts. */
struct xg_gpu_cost xg_gpu_cost(const struct xg_gkr *kernel, const struct xg_gkr_args *args,
                               double gathered, const struct xg_gpu_card *card);

/* The cheapest legal kernel, or the one named, for device operands. */
xgemm_status xg_gpu_pick(const struct xg_problem *p, const struct xg_gpu_card *card,
                         const char *name, const struct xg_gkr **kernel, struct xg_gpu_cost *cost);

/* The whole choice in words: a line for each kernel of the type, with its cost or the reason
 * against it, and for the one picked the limits of the card that its tile meets. Returns the length
 * that the text has, as snprintf does. */
int xg_gpu_explain_pick(const struct xg_problem *p, const struct xg_gpu_card *card,
                        const struct xg_gkr *picked, char *buffer, size_t size);

#endif
