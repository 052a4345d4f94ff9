#include "../common/backend.h"
#include "../gpu/pick.h"
#include "weigh.h"

void xgb_weigh(struct xgb_weight *w, const struct xg_problem *p, const struct xg_choice *choice)
{
  const struct xg_gkr *kernel = choice->unit;
  const struct xg_gpu_card *card = xg_gpu_card(choice->device);
  *w = (struct xgb_weight){0};
  if (choice->backend != &xg_backend_gpu || !kernel || !card) return;
  struct xg_gather gather;
  struct xg_gkr_args args = xg_gpu_args(p, card, &gather);
  struct xg_gpu_cost cost = xg_gpu_cost(kernel, &args, gather.moved, card);
  *w = (struct xgb_weight){.bm = kernel->bm,
                           .bn = kernel->bn,
                           .blocks = kernel->blocks,
                           .split = cost.split,
                           .cuts = cost.cuts,
                           .rounds = kernel->rounds ? kernel->rounds(&args) : 0,
                           .sms = card->sms,
                           .streams = kernel->bandwidth > 0,
                           .tiles = cost.tiles,
                           .peak = xg_gpu_units_peak(kernel, card),
                           .bandwidth = card->bandwidth,
                           .seconds = cost.seconds};
}
