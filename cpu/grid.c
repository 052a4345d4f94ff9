#include "grid.h"

#include <math.h>

#include "loops_common.h"

int64_t xg_grid_step(const struct xg_ukr *u)
{
  static const int vector[XG_ISA_COUNT] = {16, 32, 64};
  return u->flags & XG_UKR_MASKED ? vector[u->isa] / (u->type == 'd' ? 8 : 4) : u->nr;
}

/* Costs are in multiply-adds that the kernel could have done meanwhile. */
struct cost {
  const struct xg_ukr *u;
  const struct xg_blocks *blocks;
  const struct xg_field *f;
  int threads;
  int64_t tall, wide;   /* tiles of rows, steps of a panel's columns */
  int64_t panels, cuts; /* of n and of k */
};

/* Measured on a Zen 4: an element takes as long to pack as 16 multiply-adds, as 4 where a tile does
 * it by the way, and from L3 or memory 8, part of which nothing hides; two threads that share a
 * panel lose 35 us, more of them more; to begin a part takes 0.1 us. */
static const double pack = 16, by_tiles = 4, read = 8, share = 2e6, begin = 1e4;

/* One thread of many may at any time run at half speed: another program's has half of its core, or
 * another virtual machine's. What it has begun others wait for at the end, so much of it: */
static double late(int threads)
{
  const double most = 0.6, part = 0.04 * threads - 0.07;
  return part < most ? part : most;
}

static double pack_b(const struct cost *c)
{
  return c->f->b_by_tiles ? by_tiles : pack;
}

/* One part, for all of k. Blocks of rows each read the columns. */
static double part(const struct cost *c, double rows, int64_t columns, double pack_b)
{
  const double blocks = ceil(rows / (double)c->blocks->mc), m = rows, n = (double)columns;
  return (m * n + read * (m + n * blocks) + pack_b * n + (c->f->a_in_place ? 0 : pack * m)) *
             (double)c->f->k +
         begin;
}

static int64_t rows_of(const struct cost *c, int64_t down)
{
  return ceil_div(c->tall, down) * c->u->mr;
}

static int64_t columns_of(const struct cost *c, int64_t across)
{
  return ceil_div(c->wide, across) * xg_grid_step(c->u);
}

/* Parts from end to end. One above the other they pack the same columns again, which tiles do by
 * the way if there are some of them, a sliver at a time: so rows must be a single block. */
static int can_part(const struct cost *c, struct xg_grid g)
{
  if (g.across > c->wide && g.across > c->threads) return 0;
  return g.down == 1 ||
         (c->f->b_by_tiles && c->tall / g.down >= 2 && rows_of(c, g.down) <= c->blocks->mc);
}

static double parted(const struct cost *c, struct xg_grid g)
{
  const double one = part(c, (double)rows_of(c, g.down), columns_of(c, g.across), pack_b(c));
  const int64_t parts = c->panels * g.down * g.across;
  return one * ((double)ceil_div(parts, c->threads) + late(c->threads));
}

/* Parts that share columns, KC of k at a time: a part waits for the one before it, of the same
 * rows, which was given out as many parts ago as the grid is down; the last ones are cut finer. */
static double shared(const struct cost *c, struct xg_grid g)
{
  const int64_t crew = ceil_div(c->threads, g.across), columns = columns_of(c, g.across);
  const double turns = (double)(c->panels * c->cuts), panels = (double)c->panels;
  const int several = g.down >= 2 * crew;
  const double rows = several ? (double)c->f->m / (double)g.down : (double)rows_of(c, g.down);
  const double waits = turns > 1 && !several ? 1 : 1 / turns / 2;
  return part(c, rows, columns, 0) * panels *
             ((double)ceil_div(g.down, crew) + waits * late(c->threads)) +
         pack_b(c) * (double)(columns * c->f->k) * panels / (double)crew +
         turns * share * sqrt(c->threads / 2.0);
}

struct best {
  struct xg_grid grid;
  double cost;
};

static void try(struct best *b, struct xg_grid g, double cost)
{
  if (cost >= b->cost) return;
  b->grid = g, b->cost = cost;
}

static void try_parted(const struct cost *c, struct best *b)
{
  for (int each = 1; each <= XG_PARTS_ACROSS; each *= 2)
    for (int64_t parts = (int64_t)c->threads * each, down = 1; down <= parts; down++) {
      const struct xg_grid g = {down, parts / down, 0};
      if (parts % down == 0 && can_part(c, g)) try(b, g, parted(c, g));
    }
}

static void try_shared(const struct cost *c, struct best *b)
{
  static const int each[] = {1, 2, 3, 4, 6, 8};
  for (int across = 1; across < c->threads; across++) {
    if (c->threads % across != 0 || across > c->wide) continue;
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
      const struct xg_grid g = {(int64_t)(c->threads / across) * each[i], across, 1};
      if (g.down <= c->tall || i == 0) try(b, g, shared(c, g));
    }
  }
}

struct xg_grid xg_grid_for(const struct xg_ukr *u, const struct xg_blocks *blocks,
                           const struct xg_field *f, int threads)
{
  const struct cost c = {.u = u,
                         .blocks = blocks,
                         .f = f,
                         .threads = threads,
                         .tall = ceil_div(f->m, u->mr),
                         .wide = ceil_div(min64(f->n, blocks->nc), xg_grid_step(u)),
                         .panels = ceil_div(f->n, blocks->nc),
                         .cuts = ceil_div(f->k, blocks->kc)};
  const struct xg_grid alone = {1, threads, 0};
  struct best b = {alone, parted(&c, alone)};
  if (threads == 1) return alone;
  try_parted(&c, &b);
  try_shared(&c, &b);
  return b.grid;
}
