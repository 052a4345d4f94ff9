/* Which GPU kernel: candidates, legality, cost, the cheapest. Forced by name if a name is given. */
#ifndef XG_GPU_PICK_H
#define XG_GPU_PICK_H

#include "device.h"
#include "gkr.h"

/* Workspace and epilogue are left empty. */
struct xg_gkr_args xg_gpu_args(const struct xg_problem *p, const struct xg_gpu_card *card);

/* NULL if the kernel can do this product on this card, else why not. */
const char *xg_gpu_illegal(const struct xg_gkr *kernel, const struct xg_gkr_args *args, char type,
                           const struct xg_gpu_card *card);

/* Seconds of arithmetic, predicted: whole waves of tiles at the kernel's measured efficiency. */
double xg_gpu_cost(const struct xg_gkr *kernel, const struct xg_gkr_args *args,
                   const struct xg_gpu_card *card);

/* The cheapest legal kernel, or the one named. *seconds is its cost. */
xgemm_status xg_gpu_pick(const struct xg_problem *p, const struct xg_gpu_card *card,
                         const char *name, const struct xg_gkr **kernel, double *seconds);

#endif
