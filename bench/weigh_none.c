/* The build has no CUDA. */
#include "weigh.h"

void xgb_weigh(struct xgb_weight *w, const struct xg_problem *p, const struct xg_choice *choice)
{
  (void)p, (void)choice;
  *w = (struct xgb_weight){0};
}
