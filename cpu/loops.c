/* The five loops of Goto and van de Geijn as BLIS orders them. For each, what stays where:
 *
 *   loop_jc   NC columns of B and C
 *    loop_pc  KC of k: a KC x NC panel of B is packed, by all threads together, and stays in L3
 *     loop_ic  MC rows: an MC x KC block of A is packed, by each thread its own, and stays in L2
 *      loop_jr  NR columns: a KC x NR sliver of B stays in L1
 *       loop_ir  MR rows: a sliver of A streams from L2, a tile of C lives in registers
 *
 * Threads form a grid of `down` x `across`: each row of it owns a range of C's rows (loop_ic), each
 * column a range of the columns of every B panel (loop_jr). k is cut at the same places whatever
 * the grid, and every element is summed by one thread in one order, so its bits do not depend on
 * either.
 */
#include "loops.h"

#include <string.h>

#include "loops_common.h"
#include "pack.h"
#include "team.h"
#include "ukr_find.h"
#include "workspace.h"

enum { ALIGN = 64 };

struct job { /* shared by the threads of one product */
  const struct xg_problem *p;
  const struct xg_ukr *u, *packer;
  struct xg_blocks blocks;
  union scalar alpha, beta, one;
  int64_t e; /* bytes of an element */
  char *b_panel, *a_blocks;
  size_t a_block_bytes;
  struct xg_barrier barrier;
};

struct worker { /* one thread's part */
  const struct job *job;
  struct xg_barrier *barrier;
  int id, threads;
  int64_t row0, row1; /* rows of C */
  int place, across;  /* which share of a B panel's columns */
  char *a_block;
};

struct block {   /* where the loops stand */
  int64_t jc, n; /* columns jc .. jc+n-1 */
  int64_t pc, k; /* k steps pc .. pc+k-1 */
  int64_t ic, m; /* rows ic .. ic+m-1 */
};

/* The first of `count` things that share number `id` of `parts` begins with. */
static int64_t share(int64_t count, int64_t id, int64_t parts)
{
  return count / parts * id + min64(id, count % parts);
}

/* ---------------------------------------------------------------- one register tile */

static void copy_tile(int64_t e, int64_t m, int64_t n, char *to, int64_t to_rs, int64_t to_cs,
                      const char *from, int64_t from_rs, int64_t from_cs)
{
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      char *t = to + (i * to_rs + j * to_cs) * e;
      const char *f = from + (i * from_rs + j * from_cs) * e;
      if (e == sizeof(float))
        memcpy(t, f, sizeof(float));
      else
        memcpy(t, f, sizeof(double));
    }
}

/* Edges of kernels that do not mask, and C without unit stride: the kernel works on a copy of C. */
static void merge_tile(const struct job *j, int64_t m, int64_t n, int64_t k, const char *a,
                       const char *b, const union scalar *beta, char *c)
{
  const struct xg_operand *x = &j->p->c;
  _Alignas(ALIGN) char tile[XG_TILE_BYTES];
  const int overwrite = j->u->type == 'd' ? beta->d == 0 : beta->f == 0;
  const int64_t nr = j->u->nr;
  if (!overwrite) {
    memset(tile, 0, (size_t)(j->u->mr * nr * j->e));
    copy_tile(j->e, m, n, tile, nr, 1, c, x->rs, x->cs);
  }
  j->u->panel(j->u->mr, nr, k, &j->alpha, a, b, beta, tile, nr);
  copy_tile(j->e, m, n, c, x->rs, x->cs, tile, nr, 1);
}

static void micro_tile(const struct job *j, int64_t m, int64_t n, int64_t k, const char *a,
                       const char *b, const union scalar *beta, char *c)
{
  const int whole = m == j->u->mr && n == j->u->nr;
  if (j->p->c.cs == 1 && (whole || j->u->flags & XG_UKR_MASKED))
    j->u->panel(m, n, k, &j->alpha, a, b, beta, c, j->p->c.rs);
  else
    merge_tile(j, m, n, k, a, b, beta, c);
}

/* ---------------------------------------------------------------- the loops, innermost first */

/* MR rows at a time: the tiles of one sliver of B. */
static void loop_ir(const struct worker *w, const struct block *x, int64_t jr)
{
  const struct job *j = w->job;
  const int64_t mr = j->u->mr, nr = j->u->nr, k = x->k;
  const union scalar *beta = x->pc == 0 ? &j->beta : &j->one;
  const char *b = j->b_panel + jr * k * j->e;
  for (int64_t ir = 0; ir < x->m; ir += mr)
    micro_tile(j, min64(mr, x->m - ir), min64(nr, x->n - jr), k, w->a_block + ir * k * j->e, b,
               beta, at(&j->p->c, j->e, x->ic + ir, x->jc + jr));
}

/* NR columns at a time, over this thread's share of the panel of B. */
static void loop_jr(const struct worker *w, const struct block *x)
{
  const int64_t nr = w->job->u->nr, slivers = (x->n + nr - 1) / nr;
  const int64_t end = share(slivers, w->place + 1, w->across);
  for (int64_t s = share(slivers, w->place, w->across); s < end; s++) loop_ir(w, x, s * nr);
}

/* MC rows at a time, over this thread's rows: pack a block of A. */
static void loop_ic(const struct worker *w, struct block *x)
{
  const struct job *j = w->job;
  const struct xg_operand *a = &j->p->a;
  const int64_t rows = w->row1 - w->row0, blocks = (rows + j->blocks.mc - 1) / j->blocks.mc;
  const int64_t mr = j->u->mr, tiles = (rows + mr - 1) / mr;
  x->ic = w->row0;
  for (int64_t i = 0; i < blocks; i++, x->ic += x->m) {
    x->m = min64(w->row0 + share(tiles, i + 1, blocks) * mr, w->row1) - x->ic;
    xg_pack(j->packer, (size_t)j->e, j->u->mr, x->m, x->k, at(a, j->e, x->ic, x->pc), a->rs, a->cs,
            w->a_block);
    loop_jr(w, x);
  }
}

/* KC of k at a time: pack a panel of B, each thread its share of the slivers. */
static void loop_pc(const struct worker *w, struct block *x)
{
  const struct job *j = w->job;
  const struct xg_operand *b = &j->p->b;
  const int64_t nr = j->u->nr, slivers = (x->n + nr - 1) / nr;
  const int64_t first = share(slivers, w->id, w->threads) * nr;
  const int64_t last = min64(share(slivers, w->id + 1, w->threads) * nr, x->n);
  for (x->pc = 0; x->pc < j->p->k; x->pc += x->k) {
    x->k = min64(j->blocks.kc, j->p->k - x->pc);
    if (x->jc + x->pc > 0) xg_barrier_wait_n(w->barrier, w->threads); /* the old panel is used up */
    if (first < last)
      xg_pack(j->packer, (size_t)j->e, nr, last - first, x->k, at(b, j->e, x->pc, x->jc + first),
              b->cs, b->rs, j->b_panel + first * x->k * j->e);
    xg_barrier_wait_n(w->barrier, w->threads); /* the new one is complete */
    loop_ic(w, x);
  }
}

/* NC columns at a time. */
static void loop_jc(const struct worker *w)
{
  const struct job *j = w->job;
  struct block x = {0};
  for (x.jc = 0; x.jc < j->p->n; x.jc += x.n) {
    x.n = min64(j->blocks.nc, j->p->n - x.jc);
    loop_pc(w, &x);
  }
}

/* ---------------------------------------------------------------- threads and memory */

/* The grid whose largest part of C is smallest, the squarest of those. */
static int rows_of_grid(const struct job *j, int threads)
{
  const int64_t mr = j->u->mr, nr = j->u->nr;
  const int64_t tall = (j->p->m + mr - 1) / mr;
  const int64_t wide = (min64(j->p->n, j->blocks.nc) + nr - 1) / nr;
  int best = 1;
  int64_t best_area = INT64_MAX, best_rim = INT64_MAX;
  for (int down = 1; down <= threads; down++) {
    if (threads % down != 0) continue;
    const int64_t h = (tall + down - 1) / down * mr;
    const int64_t v = (wide + threads / down - 1) / (threads / down) * nr;
    if (h * v < best_area || (h * v == best_area && h + v < best_rim))
      best = down, best_area = h * v, best_rim = h + v;
  }
  return best;
}

static void body(int id, int threads, void *context)
{
  struct job *j = context;
  const int down = rows_of_grid(j, threads), across = threads / down;
  const int64_t mr = j->u->mr, tall = (j->p->m + mr - 1) / mr;
  const struct worker w = {.job = j,
                           .barrier = &j->barrier,
                           .id = id,
                           .threads = threads,
                           .row0 = min64(share(tall, id / across, down) * mr, j->p->m),
                           .row1 = min64(share(tall, id / across + 1, down) * mr, j->p->m),
                           .place = id % across,
                           .across = across,
                           .a_block = j->a_blocks + (size_t)id * j->a_block_bytes};
  loop_jc(&w);
}

static size_t round_up(size_t bytes)
{
  return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static size_t a_bytes(const struct xg_ukr *u, const struct xg_blocks *blocks)
{
  return round_up((size_t)xg_packed_size(u->mr, blocks->mc, blocks->kc) *
                  xg_sizeof(xg_ukr_type(u)));
}

static size_t b_bytes(const struct xg_ukr *u, const struct xg_blocks *blocks)
{
  return round_up((size_t)xg_packed_size(u->nr, blocks->nc, blocks->kc) *
                  xg_sizeof(xg_ukr_type(u)));
}

size_t xg_loops_workspace(const struct xg_ukr *u, const struct xg_blocks *blocks, int threads)
{
  return b_bytes(u, blocks) + (size_t)threads * a_bytes(u, blocks);
}

static void start(struct job *j, char *memory, int threads)
{
  j->b_panel = memory;
  j->a_blocks = memory + b_bytes(j->u, &j->blocks);
  j->a_block_bytes = a_bytes(j->u, &j->blocks);
  if (threads == 1)
    body(0, 1, j);
  else
    xg_team_run(threads, body, j);
}

static int64_t half(int64_t size, int64_t step)
{
  return size <= step ? step : (size / 2 + step - 1) / step * step;
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
  struct job j = {.p = oriented,
                  .u = u,
                  .packer = xg_ukr_best(oriented->type, XG_UKR_PACK),
                  .blocks = *blocks,
                  .e = (int64_t)xg_sizeof(oriented->type)};
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

int xg_orient(const struct xg_problem *p, struct xg_problem *oriented)
{
  const int transpose = xg_is_better_transposed(p);
  *oriented = transpose ? xg_problem_transposed(p) : *p;
  if (oriented->n == 1) oriented->c.cs = 1;
  return transpose;
}
