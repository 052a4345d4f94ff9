#include "grid.h"

#include "loops_common.h"

int64_t xg_grid_step(const struct xg_ukr *u)
{
  static const int vector[XG_ISA_COUNT] = {16, 32, 64};
  return u->flags & XG_UKR_MASKED ? vector[u->isa] / (u->type == 'd' ? 8 : 4) : u->nr;
}

/* Each for itself where tiles pack: every thread has whole tiles to do it, and a single block of
 * rows, so that it keeps no more than a sliver. */
static int is_shared(const struct xg_ukr *u, const struct xg_blocks *blocks,
                     const struct xg_field *f, int down)
{
  const int64_t tall = ceil_div(f->m, u->mr);
  return down > 1 &&
         !(f->b_by_tiles && tall / down >= 2 && ceil_div(tall, down) * u->mr <= blocks->mc);
}

/* What the slowest thread does, in multiply-adds that the kernel could have done meanwhile. */
static double work(const struct xg_ukr *u, const struct xg_blocks *blocks, const struct xg_field *f,
                   struct xg_grid g)
{
  /* Measured on a Zen 4: an element takes as long to pack as 16 multiply-adds, and from L3 or
   * memory 8, part of which nothing hides; sharing a panel costs 3 us, twice. */
  const double pack = 16, read = 8, share = 3e5;
  const int64_t step = xg_grid_step(u);
  const double rows = (double)(ceil_div(ceil_div(f->m, u->mr), g.down) * u->mr);
  const double columns = (double)(ceil_div(ceil_div(f->n, step), g.across) * step);
  const double panels = (double)(ceil_div(f->n, blocks->nc) * ceil_div(f->k, blocks->kc));
  const double packed = (f->b_by_tiles ? 0 : columns / g.down) + (f->a_in_place ? 0 : rows);
  return (rows * columns + pack * packed + read * (rows + columns)) * (double)f->k +
         (g.shared ? 2 * panels * share : 0);
}

struct xg_grid xg_grid_for(const struct xg_ukr *u, const struct xg_blocks *blocks,
                           const struct xg_field *f, int threads)
{
  struct xg_grid best = {1, threads, 0};
  double least = work(u, blocks, f, best);
  for (int down = 2; down <= threads; down++) {
    const struct xg_grid g = {down, threads / down, is_shared(u, blocks, f, down)};
    if (threads % down != 0) continue;
    const double w = work(u, blocks, f, g);
    if (w < least) best = g, least = w;
  }
  return best;
}
