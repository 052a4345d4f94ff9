#include "grid.h"

int64_t xg_grid_step(const struct xg_ukr *u)
{
  static const int vector[XG_ISA_COUNT] = {16, 32, 64};
  return u->flags & XG_UKR_MASKED ? vector[u->isa] / (u->type == 'd' ? 8 : 4) : u->nr;
}

static int64_t ceil_div(int64_t a, int64_t b)
{
  return a / b + (a % b != 0);
}

/* What the slowest thread does, in multiply-adds that the kernel could have done meanwhile. */
static double work(const struct xg_ukr *u, const struct xg_blocks *blocks, int64_t m, int64_t n,
                   int64_t k, int a_in_place, struct xg_grid g)
{
  /* Measured on a Zen 4: an element takes as long to pack as 16 multiply-adds, and from L3 or
   * memory 8, part of which nothing hides; sharing a panel costs 3 us, twice. */
  const double pack = 16, read = 8, share = 3e5;
  const int64_t step = xg_grid_step(u);
  const double rows = (double)(ceil_div(ceil_div(m, u->mr), g.down) * u->mr);
  const double columns = (double)(ceil_div(ceil_div(n, step), g.across) * step);
  const double panels = (double)(ceil_div(n, blocks->nc) * ceil_div(k, blocks->kc));
  const double packed = columns / g.down + (a_in_place ? 0 : rows);
  return (rows * columns + pack * packed + read * (rows + columns)) * (double)k +
         (g.down > 1 ? 2 * panels * share : 0);
}

struct xg_grid xg_grid_for(const struct xg_ukr *u, const struct xg_blocks *blocks, int64_t m,
                           int64_t n, int64_t k, int a_in_place, int threads)
{
  struct xg_grid best = {1, threads};
  double least = work(u, blocks, m, n, k, a_in_place, best);
  for (int down = 2; down <= threads; down++) {
    const struct xg_grid g = {down, threads / down};
    if (threads % down != 0) continue;
    const double w = work(u, blocks, m, n, k, a_in_place, g);
    if (w < least) best = g, least = w;
  }
  return best;
}
