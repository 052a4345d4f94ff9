/* The packed way of a product: its threads and their memory. */
#include <string.h>

#include "loops_job.h"
#include "pack.h"
#include "team.h"
#include "ukr_find.h"
#include "workspace.h"

enum {
  ALIGN = 64,
  SHORT_K = 128 /* up to which going on with the next sliver after each tile costs too much */
};

struct xg_grid xg_loops_grid(const struct xg_loops_job *j, int threads)
{
  const struct xg_problem *p = j->p;
  const struct xg_field f = {p->m, p->n, p->k, j->a_in_place, xg_packs_by_tiles(j)};
  return xg_grid_for(j->u, &j->blocks, &f, threads);
}

static size_t whole_lines(size_t bytes)
{
  return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static size_t a_bytes(const struct xg_ukr *u, const struct xg_blocks *blocks)
{
  return whole_lines((size_t)xg_packed_size(u->mr, blocks->mc, blocks->kc) *
                     xg_sizeof(xg_ukr_type(u)));
}

/* One more for each thread: their parts begin anew. */
static size_t slivers_in(const struct xg_ukr *u, const struct xg_blocks *blocks, int threads)
{
  return (size_t)((blocks->nc / u->nr + threads) * (threads > 1 ? XG_PANELS : 1));
}

static size_t b_bytes(const struct xg_ukr *u, const struct xg_blocks *blocks, int threads)
{
  const size_t sliver = (size_t)(u->nr * blocks->kc) * xg_sizeof(xg_ukr_type(u));
  return whole_lines(slivers_in(u, blocks, threads) * sliver);
}

static size_t taken_bytes(int threads)
{
  return (size_t)threads * XG_PARTS_ACROSS * sizeof(struct xg_taken);
}

static size_t counts_bytes(int threads)
{
  return taken_bytes(threads) + (size_t)threads * XG_PARTS * sizeof(atomic_int);
}

size_t xg_loops_workspace(const struct xg_ukr *u, const struct xg_blocks *blocks, int threads)
{
  return b_bytes(u, blocks, threads) + (size_t)threads * a_bytes(u, blocks) +
         slivers_in(u, blocks, threads) * sizeof(struct xg_turns) + counts_bytes(threads);
}

static void start(struct xg_loops_job *j, char *memory, int threads)
{
  j->b_panel = memory;
  j->a_blocks = memory + b_bytes(j->u, &j->blocks, threads);
  j->a_block_bytes = a_bytes(j->u, &j->blocks);
  char *counts = j->a_blocks + (size_t)threads * j->a_block_bytes;
  j->taken = memset(counts, 0, counts_bytes(threads));
  j->done = (atomic_int *)(counts + taken_bytes(threads));
  j->turns = (struct xg_turns *)(counts + counts_bytes(threads));
  j->threads = threads;
  j->grid = xg_loops_grid(j, threads);
  if (j->grid.shared) memset(j->turns, 0, slivers_in(j->u, &j->blocks, threads) * sizeof *j->turns);
  if (threads == 1)
    xg_loops_body(0, 1, j);
  else
    xg_team_run(threads, xg_loops_body, j);
}

static int64_t half(int64_t size, int64_t step)
{
  return size <= step ? step : round_up(size / 2, step);
}

/* The next smaller MC and NC; 0 when there is none. KC stays: it decides the order of additions. */
static int shrink(const struct xg_ukr *u, struct xg_blocks *b)
{
  if (b->mc <= u->mr && b->nc <= u->nr) return 0;
  b->mc = half(b->mc, u->mr);
  b->nc = half(b->nc, u->nr);
  return 1;
}

void xg_loops_run(const struct xg_problem *oriented, const struct xg_ukr *u,
                  const struct xg_blocks *blocks, int threads)
{
  struct xg_loops_job j = {.p = oriented,
                           .u = u,
                           .packer = xg_ukr_best(oriented->type, XG_UKR_PACK),
                           .blocks = *blocks,
                           .e = (int64_t)xg_sizeof(oriented->type)};
  j.a_in_place = u->strided && xg_stays_in_place(xg_topo(), u, blocks, oriented->n, oriented->a.rs,
                                                 oriented->a.cs);
  j.b_stays_near = blocks->kc > SHORT_K && j.a_in_place && oriented->a.cs == 1 &&
                   xg_panel_fits_l2(xg_topo(), u, blocks, oriented->n);
  if (oriented->type == XGEMM_F64) {
    j.alpha.d = oriented->alpha, j.beta.d = oriented->beta, j.one.d = 1;
  } else {
    j.alpha.f = (float)oriented->alpha, j.beta.f = (float)oriented->beta, j.one.f = 1;
  }
  do {
    struct xg_workspace w;
    if (xg_workspace_take(&w, xg_loops_workspace(u, &j.blocks, threads)) != 0) continue;
    start(&j, w.memory, threads);
    xg_workspace_give(&w);
    return;
  } while (shrink(u, &j.blocks));
  xg_loops_bare(oriented, u, blocks->kc);
}
