/* The five loops of Goto and van de Geijn as BLIS orders them. For each, what stays where:
 *
 *   loop_jc   NC columns of B and C
 *    loop_pc  KC of k: a KC x NC panel of B is packed, by all threads together, and stays in L3
 *     loop_ic  MC rows: an MC x KC block of A is packed, by each thread its own, or read where it
 *              is, and stays in L2
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

#include "errand.h"
#include "grid.h"
#include "loops_common.h"
#include "pack.h"
#include "team.h"
#include "turns.h"
#include "ukr_find.h"
#include "workspace.h"

enum {
  ALIGN = 64,
  SHORT_K = 128 /* up to which going on with the next sliver after each tile costs too much */
};

struct job { /* shared by the threads of one product */
  const struct xg_problem *p;
  const struct xg_ukr *u, *packer;
  struct xg_blocks blocks;
  union scalar alpha, beta, one;
  int64_t e; /* bytes of an element */
  int a_in_place;
  int b_stays_near; /* all of B meets MR rows of A while they are in L1 */
  char *b_panel, *a_blocks;
  size_t a_block_bytes;
  struct xg_turns *turns; /* of each sliver of the packed panel */
};

struct worker { /* one thread's part */
  const struct job *job;
  struct xg_grid grid;
  int64_t mc;
  int row, column;    /* this thread's place in it */
  int64_t row0, row1; /* rows of C */
  char *a_block;
  char *b_panel; /* its column's part */
  struct xg_turns *turns;
  struct xg_errand *errands; /* the first with groups left comes next */
};

struct block {   /* where the loops stand */
  int turn;      /* how many panels of B there have been, this one included */
  int64_t jc, n; /* columns jc .. jc+n-1, of which this thread has */
  int64_t first, last, slivers;
  int64_t narrow, step, wider; /* the first `wider` slivers have narrow + step columns */
  int64_t pc, k;               /* k steps pc .. pc+k-1 */
  int64_t ic, m;               /* rows ic .. ic+m-1 */
};

struct rows { /* of A, packed or in place */
  const char *data;
  int64_t rs, cs; /* strides within a sliver of MR rows, */
  int64_t next;   /* and bytes from one to the next */
};

struct columns { /* a sliver of B, packed, */
  char *data;
  const char *from; /* or to be packed meanwhile, unless NULL, from here: */
  int64_t rs;       /* row stride */
};

struct range {
  int64_t first, last;
};

/* ---------------------------------------------------------------- one register tile */

/* Where columns are short runs through memory, as in a C that was turned, whole ones are copied. */
static void copy_f32(int64_t m, int64_t n, float *to, int64_t to_rs, int64_t to_cs,
                     const float *from, int64_t from_rs, int64_t from_cs)
{
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = 0; i < m; i++) to[i * to_rs + j * to_cs] = from[i * from_rs + j * from_cs];
}

static void copy_f64(int64_t m, int64_t n, double *to, int64_t to_rs, int64_t to_cs,
                     const double *from, int64_t from_rs, int64_t from_cs)
{
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = 0; i < m; i++) to[i * to_rs + j * to_cs] = from[i * from_rs + j * from_cs];
}

static void copy_tile(int64_t e, int64_t m, int64_t n, void *to, int64_t to_rs, int64_t to_cs,
                      const void *from, int64_t from_rs, int64_t from_cs)
{
  if (e == sizeof(float))
    copy_f32(m, n, to, to_rs, to_cs, from, from_rs, from_cs);
  else
    copy_f64(m, n, to, to_rs, to_cs, from, from_rs, from_cs);
}

static void call(const struct worker *w, int64_t m, int64_t n, int64_t k, const struct rows *a,
                 const struct columns *b, const union scalar *beta, char *c, int64_t rs_c)
{
  const struct job *j = w->job;
  const struct xg_fetch fetch = xg_next_fetch(w->errands);
  if (b->from)
    j->u->packing(m, n, k, &j->alpha, a->data, a->rs, a->cs, b->from, b->rs, b->data, beta, c, rs_c,
                  &fetch);
  else if (j->u->strided)
    j->u->strided(m, n, k, &j->alpha, a->data, a->rs, a->cs, b->data, beta, c, rs_c, &fetch);
  else
    j->u->panel(m, n, k, &j->alpha, a->data, b->data, beta, c, rs_c);
}

/* Edges of kernels that do not mask, and C without unit stride: the kernel works on a copy of C. */
static void merge_tile(const struct worker *w, int64_t m, int64_t n, int64_t k,
                       const struct rows *a, const struct columns *b, const union scalar *beta,
                       char *c)
{
  const struct job *j = w->job;
  const struct xg_operand *x = &j->p->c;
  _Alignas(ALIGN) char tile[XG_TILE_BYTES];
  const int overwrite = j->u->type == 'd' ? beta->d == 0 : beta->f == 0;
  const int masks = j->u->flags & XG_UKR_MASKED;
  const int64_t mr = j->u->mr, nr = j->u->nr;
  for (int64_t q = 0; q < n; q++) __builtin_prefetch(c + q * x->cs * j->e, 1);
  if (!overwrite) {
    memset(tile, 0, (size_t)(mr * nr * j->e));
    copy_tile(j->e, m, n, tile, nr, 1, c, x->rs, x->cs);
  }
  call(w, masks ? m : mr, masks ? n : nr, k, a, b, beta, tile, nr);
  copy_tile(j->e, m, n, c, x->rs, x->cs, tile, nr, 1);
}

static void micro_tile(const struct worker *w, int64_t m, int64_t n, int64_t k,
                       const struct rows *a, const struct columns *b, const union scalar *beta,
                       char *c)
{
  const struct job *j = w->job;
  const int whole = m == j->u->mr && n == j->u->nr;
  if (j->p->c.cs == 1 && (whole || j->u->flags & XG_UKR_MASKED))
    call(w, m, n, k, a, b, beta, c, j->p->c.rs);
  else
    merge_tile(w, m, n, k, a, b, beta, c);
}

/* ---------------------------------------------------------------- B, sliver by sliver */

/* The columns of a panel that this thread multiplies by, and their slivers, which are of nearly the
 * same width. Shares of a shorter panel are no longer: each column of the grid has its own part of
 * the packed panel. */
static void divide_columns(const struct worker *w, struct block *x)
{
  const int64_t step = xg_grid_step(w->job->u), count = ceil_div(x->n, step);
  const int64_t first = xg_share(count, w->column, w->grid.across);
  const int64_t mine = xg_share(count, w->column + 1, w->grid.across) - first;
  x->first = first * step;
  x->last = min64((first + mine) * step, x->n);
  x->slivers = ceil_div(mine * step, w->job->u->nr);
  x->narrow = x->slivers ? mine / x->slivers * step : 0;
  x->wider = x->slivers ? mine % x->slivers : 0;
  x->step = step;
}

static struct range sliver_at(const struct block *x, int64_t sliver)
{
  const int64_t first = x->first + sliver * x->narrow + min64(sliver, x->wider) * x->step;
  const int64_t width = sliver < x->wider ? x->narrow + x->step : x->narrow;
  return (struct range){first, min64(first + width, x->last)};
}

/* Those that it packs: its share of them. */
static struct range packed_by(const struct worker *w, int64_t slivers)
{
  if (!w->grid.shared) return (struct range){0, slivers};
  return (struct range){xg_share(slivers, w->row, w->grid.down),
                        xg_share(slivers, w->row + 1, w->grid.down)};
}

/* Whether a packed sliver serves once: one block of rows, and no other thread. Then all of them go
 * to one place, which stays in the cache. (Places do not depend on x->k: threads that share nothing
 * may be at different ones.) */
static int used_once(const struct worker *w)
{
  return !w->grid.shared && w->row1 - w->row0 <= w->mc;
}

static char *packed_b(const struct worker *w, int64_t sliver)
{
  const struct job *j = w->job;
  return w->b_panel + (used_once(w) ? 0 : sliver) * j->u->nr * j->blocks.kc * j->e;
}

static void note_filled(const struct worker *w, int64_t sliver)
{
  if (w->grid.shared) xg_note_filled(&w->turns[sliver]);
}

static void pack_b(const struct worker *w, const struct block *x, int64_t sliver)
{
  const struct job *j = w->job;
  const struct xg_operand *b = &j->p->b;
  const struct range r = sliver_at(x, sliver);
  xg_pack(j->packer, (size_t)j->e, j->u->nr, r.last - r.first, x->k,
          at(b, j->e, x->pc, x->jc + r.first), b->cs, b->rs, packed_b(w, sliver));
  note_filled(w, sliver);
}

/* Whether the first tile of a sliver can pack it while it computes: rows of B run through memory.
 */
static int packs_by_tiles(const struct job *j)
{
  return j->u->packing && j->p->b.cs == 1;
}

/* ---------------------------------------------------------------- errands */

/* Sends for the sliver of B that is packed after this one. */
static void send_for_b(const struct worker *w, const struct block *x, int64_t sliver)
{
  const struct job *j = w->job;
  const struct xg_operand *b = &j->p->b;
  const struct range r = sliver_at(x, sliver);
  w->errands[0] =
      xg_errand_for(j->e, at(b, j->e, x->pc, x->jc + r.first), r.last - r.first, b->cs, b->rs);
}

/* Sends for a sliver of B that is packed already. */
static void send_for_packed_b(const struct worker *w, int64_t sliver)
{
  const struct job *j = w->job;
  w->errands[0] = xg_errand_for(j->e, packed_b(w, sliver), j->u->nr, 1, j->u->nr);
}

/* Sends for the block of A that comes next: the rows below, else the next steps of k. */
static void send_for_a(const struct worker *w, const struct block *x)
{
  const struct job *j = w->job;
  const struct xg_operand *a = &j->p->a;
  int64_t ic = x->ic + x->m, pc = x->pc, m = min64(x->m, w->row1 - ic);
  if (ic >= w->row1) ic = w->row0, pc += x->k, m = min64(w->mc, w->row1 - ic);
  if (pc >= j->p->k) return;
  w->errands[1] = xg_errand_for(j->e, at(a, j->e, ic, pc), m, a->rs, a->cs);
}

/* After the last sliver of a panel: A, and B too where the next steps of k follow at once. */
static void send_for_next(const struct worker *w, const struct block *x, int64_t sliver)
{
  struct block next = *x;
  send_for_a(w, x);
  next.pc += x->k;
  if (next.pc < w->job->p->k && w->row1 - x->ic <= x->m) send_for_b(w, &next, sliver);
}

/* ---------------------------------------------------------------- the loops, innermost first */

/* MR rows at a time: the tiles of one sliver of B, which the first one packs if asked to. After all
 * of this thread's rows the sliver's place may be filled again. */
static void loop_ir(const struct worker *w, const struct block *x, struct rows a, int64_t sliver,
                    int packs)
{
  const struct job *j = w->job;
  const int64_t mr = j->u->mr;
  const struct range r = sliver_at(x, sliver);
  const union scalar *beta = x->pc == 0 ? &j->beta : &j->one;
  struct columns b = {packed_b(w, sliver), NULL, j->p->b.rs};
  if (packs) b.from = at(&j->p->b, j->e, x->pc, x->jc + r.first);
  for (int64_t ir = 0; ir < x->m; ir += mr, a.data += a.next) {
    micro_tile(w, min64(mr, x->m - ir), r.last - r.first, x->k, &a, &b, beta,
               at(&j->p->c, j->e, x->ic + ir, x->jc + r.first));
    if (b.from) note_filled(w, sliver), b.from = NULL;
  }
  if (w->grid.shared && x->ic + x->m >= w->row1) xg_note_used(&w->turns[sliver]);
}

/* NR columns at a time, over this thread's share of the panel of B. */
static void loop_jr(const struct worker *w, const struct block *x, const struct rows *a)
{
  const int64_t slivers = x->slivers;
  for (int64_t s = 0; s < slivers; s++) {
    if (s == slivers - 1)
      send_for_a(w, x);
    else if (x->m > w->job->u->mr)
      send_for_packed_b(w, s + 1);
    loop_ir(w, x, *a, s, 0);
  }
}

/* The same for the first rows, while the panel is being packed: first the slivers that this thread
 * packs, each used while it is in the cache, then what the others have packed meanwhile. */
static void loop_jr_packing(const struct worker *w, const struct block *x, const struct rows *a)
{
  const int64_t slivers = x->slivers;
  const struct range own = packed_by(w, slivers);
  const int packs = packs_by_tiles(w->job) && x->m >= w->job->u->mr;
  for (int64_t s = own.first; s < own.last; s++) {
    if (w->grid.shared) xg_await_free(&w->turns[s], x->turn, w->grid.down);
    if (!packs) pack_b(w, x, s);
    if (s + 1 < own.last)
      send_for_b(w, x, s + 1);
    else
      send_for_next(w, x, own.first);
    loop_ir(w, x, *a, s, packs);
  }
  for (int64_t i = own.last - own.first, s = own.last; i < slivers; i++, s++) {
    if (s == slivers) s = 0;
    xg_await_filled(&w->turns[s], x->turn);
    loop_ir(w, x, *a, s, 0);
  }
}

static struct rows take_a(const struct worker *w, const struct block *x)
{
  const struct job *j = w->job;
  const struct xg_operand *a = &j->p->a;
  const char *data = at(a, j->e, x->ic, x->pc);
  const int64_t mr = j->u->mr;
  if (j->a_in_place) return (struct rows){data, a->rs, a->cs, mr * a->rs * j->e};
  xg_pack(j->packer, (size_t)j->e, mr, x->m, x->k, data, a->rs, a->cs, w->a_block);
  return (struct rows){w->a_block, 1, mr, mr * x->k * j->e};
}

/* MC rows at a time, over this thread's rows. Without any it still packs its share of B. */
static void loop_ic(const struct worker *w, struct block *x)
{
  const struct job *j = w->job;
  const int64_t rows = w->row1 - w->row0, mc = w->mc;
  const int64_t blocks = rows > 0 ? (rows + mc - 1) / mc : 1;
  const int64_t mr = j->u->mr, tiles = (rows + mr - 1) / mr;
  x->ic = w->row0;
  for (int64_t i = 0; i < blocks; i++, x->ic += x->m) {
    x->m = min64(w->row0 + xg_share(tiles, i + 1, blocks) * mr, w->row1) - x->ic;
    const struct rows a = take_a(w, x);
    if (i == 0)
      loop_jr_packing(w, x, &a);
    else
      loop_jr(w, x, &a);
  }
}

/* KC of k at a time. */
static void loop_pc(const struct worker *w, struct block *x)
{
  const struct job *j = w->job;
  for (x->pc = 0; x->pc < j->p->k; x->pc += x->k) {
    x->k = min64(j->blocks.kc, j->p->k - x->pc);
    x->turn++;
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
    divide_columns(w, &x);
    loop_pc(w, &x);
  }
}

/* ---------------------------------------------------------------- threads and memory */

/* Slivers of the packed panel that each column of the grid has room for. */
static int64_t room_for_b(const struct job *j, int across)
{
  const int64_t step = xg_grid_step(j->u);
  return ceil_div(ceil_div(ceil_div(j->blocks.nc, step), across) * step, j->u->nr);
}

static void body(int id, int threads, void *context)
{
  struct job *j = context;
  const struct xg_problem *p = j->p;
  const struct xg_field f = {p->m, p->n, p->k, j->a_in_place, packs_by_tiles(j)};
  const struct xg_grid g = xg_grid_for(j->u, &j->blocks, &f, threads);
  const int64_t mr = j->u->mr, nr = j->u->nr, tall = ceil_div(p->m, mr);
  const int64_t room = room_for_b(j, g.across);
  const int row = id / g.across, column = id % g.across;
  const int alone = g.down > 1 && !g.shared; /* it packs for itself, a sliver at a time */
  const int64_t place = alone ? id : column * room;
  struct xg_errand errands[XG_ERRANDS] = {{.groups = 0}};
  const struct worker w = {.job = j,
                           .grid = g,
                           .mc = j->b_stays_near && !alone ? mr : j->blocks.mc,
                           .row = row,
                           .column = column,
                           .row0 = min64(xg_share(tall, row, g.down) * mr, p->m),
                           .row1 = min64(xg_share(tall, row + 1, g.down) * mr, p->m),
                           .a_block = j->a_blocks + (size_t)id * j->a_block_bytes,
                           .b_panel = j->b_panel + place * nr * j->blocks.kc * j->e,
                           .turns = j->turns + column * room,
                           .errands = errands};
  loop_jc(&w);
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
  return (size_t)(blocks->nc / u->nr + threads);
}

static size_t b_bytes(const struct xg_ukr *u, const struct xg_blocks *blocks, int threads)
{
  const size_t sliver = (size_t)(u->nr * blocks->kc) * xg_sizeof(xg_ukr_type(u));
  return whole_lines(slivers_in(u, blocks, threads) * sliver);
}

size_t xg_loops_workspace(const struct xg_ukr *u, const struct xg_blocks *blocks, int threads)
{
  return b_bytes(u, blocks, threads) + (size_t)threads * a_bytes(u, blocks) +
         slivers_in(u, blocks, threads) * sizeof(struct xg_turns);
}

static void start(struct job *j, char *memory, int threads)
{
  j->b_panel = memory;
  j->a_blocks = memory + b_bytes(j->u, &j->blocks, threads);
  j->a_block_bytes = a_bytes(j->u, &j->blocks);
  j->turns = memset(j->a_blocks + (size_t)threads * j->a_block_bytes, 0,
                    slivers_in(j->u, &j->blocks, threads) * sizeof *j->turns);
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
