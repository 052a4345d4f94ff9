/* What the cost model thinks of the kernel that a product takes on the card: bench/fit_gpu.py fits
 * the model's numbers to it. weigh_cuda.c, or weigh_none.c without CUDA. */
#ifndef XGB_WEIGH_H
#define XGB_WEIGH_H

#include "../common/plan.h"
#include "case.h"

/* Fills *w; its `seconds` are 0 if the choice is none of a kernel on a card. */
void xgb_weigh(struct xgb_weight *w, const struct xg_problem *p, const struct xg_choice *choice);

#endif
