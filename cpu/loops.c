/* The five loops of Goto and van de Geijn as BLIS orders them. For each, what stays where:
 *
 *   loop_jc   NC columns of B and C
 *    loop_pc  KC of k: a KC x NC panel of B is packed, by all threads together, and stays in L3
 *     loop_ic  MC rows: an MC x KC block of A is packed, by each thread its own, or read where it
 *              is, and stays in L2
 *      loop_jr  NR columns: a KC x NR sliver of B stays in L1
 *       loop_ir  MR rows: a sliver of A streams from L2, a tile of C lives in registers
 *
 * Threads do not own anything: C is cut into parts (grid.h), more than there are threads, and who
 * is free takes the next one, so that a slow thread does less. Where threads share a panel of B,
 * parts are MR to some MC rows by KC of k, and the outer three loops are one count (locate()): a
 * part waits for its rows to be done up to its own k, and for the slivers it needs. There are two
 * panels, so that nobody waits at the end of one. Else a part is computed from end to end by one
 * thread.
 *
 * A thread waits only for what others have begun, so it does not matter how many of them come. k is
 * cut at the same places whatever the grid, and the sums of an element are made in the same order,
 * so its bits depend on neither.
 */
#include "errand.h"
#include "loops_common.h"
#include "loops_job.h"
#include "loops_tile.h"
#include "pack.h"
#include "team.h"

enum {
  PIECES = 4, /* into which the last parts are cut at most, */
  PIECE = 8   /* each of so many tiles */
};

struct worker { /* one thread's view */
  const struct xg_loops_job *job;
  struct xg_grid grid;
  int id, threads;
  int64_t mc, panels, cuts; /* of n and of k */
  int64_t room;             /* slivers of a packed panel for each column of the grid */
  int64_t whole, pieces;    /* parts that are not cut, and pieces of those that are */
  int64_t parts;            /* in a column of the grid, pieces counted */
  int64_t column;           /* where it is at work */
  char *a_block;
  char *b_panel;
  struct xg_tiles tiles;
};

struct block {        /* where the loops stand */
  int64_t row0, row1; /* this part: rows of C, */
  int64_t row;        /* which are number `row` of the grid's */
  int64_t turn;       /* panels of B before this one */
  int64_t jc, n;      /* columns jc .. jc+n-1, of which the part has */
  int64_t first, last, slivers;
  int64_t narrow, step, wider; /* the first `wider` slivers have narrow + step columns */
  int64_t pc, k;               /* k steps pc .. pc+k-1 */
  int64_t ic, m;               /* rows ic .. ic+m-1 */
  int64_t after;               /* the part that this thread does next */
};

struct range {
  int64_t first, last;
};

/* ---------------------------------------------------------------- B, sliver by sliver */

/* The columns of a panel that a part has, and their slivers, which are of nearly the same width.
 * Shares of a shorter panel are no longer: each column of the grid has its own part of the packed
 * panel. */
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

/* Whether a packed sliver serves once: for one block of rows, and no other thread. Then all of them
 * go to one place, which stays in the cache. */
static int used_once(const struct worker *w)
{
  return !w->grid.shared && (w->grid.down > 1 || w->job->p->m <= w->mc);
}

/* The place of a sliver among those of all panels, of the thread's own else. */
static int64_t place_of(const struct worker *w, const struct block *x, int64_t sliver)
{
  if (!w->grid.shared) return used_once(w) ? 0 : sliver;
  return (x->turn % XG_PANELS * w->grid.across + w->column) * w->room + sliver;
}

static char *packed_b(const struct worker *w, const struct block *x, int64_t sliver)
{
  const struct xg_loops_job *j = w->job;
  return w->b_panel + place_of(w, x, sliver) * j->u->nr * j->blocks.kc * j->e;
}

static struct xg_turns *turns_of(const struct worker *w, const struct block *x, int64_t sliver)
{
  return &w->job->turns[place_of(w, x, sliver)];
}

/* How often its place has been filled when the sliver is there. */
static int turn_of(const struct block *x)
{
  return (int)(x->turn / XG_PANELS + 1);
}

static void note_filled(const struct worker *w, const struct block *x, int64_t sliver)
{
  if (w->grid.shared) xg_note_filled(turns_of(w, x, sliver));
}

/* Whether it is this thread that packs the sliver; else it is packed on return. */
static int take_to_pack(const struct worker *w, const struct block *x, int64_t sliver)
{
  if (!w->grid.shared) return 1;
  struct xg_turns *t = turns_of(w, x, sliver);
  if (xg_take_to_fill(t, turn_of(x))) {
    xg_await_free(t, turn_of(x), (int)w->grid.down);
    return 1;
  }
  xg_await_filled(t, turn_of(x));
  return 0;
}

static void pack_b(const struct worker *w, const struct block *x, int64_t sliver)
{
  const struct xg_loops_job *j = w->job;
  const struct xg_operand *b = &j->p->b;
  const struct range r = sliver_at(x, sliver);
  xg_pack(j->packer, (size_t)j->e, j->u->nr, r.last - r.first, x->k,
          at(b, j->e, x->pc, x->jc + r.first), b->cs, b->rs, packed_b(w, x, sliver));
  note_filled(w, x, sliver);
}

/* ---------------------------------------------------------------- parts */

/* Where a column of the grid stands after `ticket` parts. */
static void locate(const struct worker *w, int64_t ticket, struct block *x)
{
  const struct xg_loops_job *j = w->job;
  const int64_t mr = j->u->mr, down = w->grid.down, tall = ceil_div(j->p->m, mr);
  int64_t piece = 0, pieces = 1;
  if (ticket >= w->whole) {
    piece = (ticket - w->whole) % w->pieces, pieces = w->pieces;
    ticket = w->whole + (ticket - w->whole) / w->pieces;
  }
  x->turn = ticket / down, x->row = ticket % down;
  const int64_t panel = w->grid.shared ? x->turn / w->cuts : x->turn;
  const int64_t first = xg_share(tall, x->row, down);
  const int64_t tiles = xg_share(tall, x->row + 1, down) - first;
  x->row0 = min64((first + xg_share(tiles, piece, pieces)) * mr, j->p->m);
  x->row1 = min64((first + xg_share(tiles, piece + 1, pieces)) * mr, j->p->m);
  x->jc = panel * j->blocks.nc, x->n = min64(j->blocks.nc, j->p->n - x->jc);
  x->pc = w->grid.shared ? x->turn % w->cuts * j->blocks.kc : 0;
  x->k = min64(j->blocks.kc, j->p->k - x->pc);
  divide_columns(w, x);
}

static atomic_int *done_of(const struct worker *w, const struct block *x)
{
  return &w->job->done[w->column * w->grid.down + x->row];
}

static int64_t take_part(const struct worker *w)
{
  return atomic_fetch_add_explicit(&w->job->taken[w->column].parts, 1, memory_order_relaxed);
}

/* ---------------------------------------------------------------- errands */

/* Sends for a sliver of B that is packed after this one, */
static void send_for_b(const struct worker *w, const struct block *x, int64_t sliver)
{
  const struct xg_loops_job *j = w->job;
  const struct xg_operand *b = &j->p->b;
  const struct range r = sliver_at(x, sliver);
  w->tiles.errands[0] =
      xg_errand_for(j->e, at(b, j->e, x->pc, x->jc + r.first), r.last - r.first, b->cs, b->rs);
}

/* or is packed already. */
static void send_for_packed_b(const struct worker *w, const struct block *x, int64_t sliver)
{
  const struct xg_loops_job *j = w->job;
  w->tiles.errands[0] = xg_errand_for(j->e, packed_b(w, x, sliver), j->u->nr, 1, j->u->nr);
}

static void send_for_sliver(const struct worker *w, const struct block *x, int64_t sliver)
{
  struct xg_turns *t = w->grid.shared ? turns_of(w, x, sliver) : NULL;
  if (x->ic == x->row0 && (!t || xg_is_untaken(t, turn_of(x))))
    send_for_b(w, x, sliver);
  else if (x->m > w->job->u->mr && (!t || xg_is_filled(t, turn_of(x))))
    send_for_packed_b(w, x, sliver);
}

static void send_for_rows(const struct worker *w, int64_t ic, int64_t row1, int64_t pc)
{
  const struct xg_loops_job *j = w->job;
  const struct xg_operand *a = &j->p->a;
  w->tiles.errands[1] =
      xg_errand_for(j->e, at(a, j->e, ic, pc), min64(w->mc, row1 - ic), a->rs, a->cs);
}

/* After the last sliver: A of the rows below, else of the next steps of k, with B, or of the part
 * that comes next, which is taken for that. */
static void send_for_next(const struct worker *w, struct block *x)
{
  struct block next = *x;
  if (x->ic + x->m < x->row1) {
    send_for_rows(w, x->ic + x->m, x->row1, x->pc);
    return;
  }
  next.pc += x->k;
  if (w->grid.shared || next.pc >= w->job->p->k) {
    x->after = take_part(w);
    if (x->after >= w->parts) return;
    locate(w, x->after, &next);
  }
  send_for_rows(w, next.row0, next.row1, next.pc);
  if (!w->grid.shared) send_for_b(w, &next, 0);
}

/* ---------------------------------------------------------------- the loops, innermost first */

/* MR rows at a time: the tiles of one sliver of B, which the first one packs if asked to. */
static void loop_ir(const struct worker *w, const struct block *x, struct xg_rows a, int64_t sliver,
                    int packs)
{
  const struct xg_loops_job *j = w->job;
  const int64_t mr = j->u->mr;
  const struct range r = sliver_at(x, sliver);
  const union scalar *beta = x->pc == 0 ? &j->beta : &j->one;
  struct xg_columns b = {packed_b(w, x, sliver), NULL, j->p->b.rs};
  if (packs) b.from = at(&j->p->b, j->e, x->pc, x->jc + r.first);
  for (int64_t ir = 0; ir < x->m; ir += mr, a.data += a.next) {
    xg_tile(&w->tiles, min64(mr, x->m - ir), r.last - r.first, x->k, &a, &b, beta,
            at(&j->p->c, j->e, x->ic + ir, x->jc + r.first));
    if (b.from) note_filled(w, x, sliver), b.from = NULL;
  }
}

/* NR columns at a time. Threads that share them begin at different ones, so that each packs its
 * share for its first rows, used while it is in the cache, and finds others packed. */
static void loop_jr(const struct worker *w, struct block *x, const struct xg_rows *a)
{
  const int first_rows = x->ic == x->row0, last_rows = x->ic + x->m >= x->row1;
  const int by_tiles = xg_packs_by_tiles(w->job) && x->m >= w->job->u->mr;
  int64_t s = w->grid.shared ? x->slivers * w->id / w->threads : 0;
  for (int64_t i = 0; i < x->slivers; i++) {
    const int64_t next = s + 1 < x->slivers ? s + 1 : 0;
    const int packs = first_rows && take_to_pack(w, x, s);
    if (packs && !by_tiles) pack_b(w, x, s);
    if (i + 1 < x->slivers)
      send_for_sliver(w, x, next);
    else
      send_for_next(w, x);
    loop_ir(w, x, *a, s, packs && by_tiles);
    if (w->grid.shared && last_rows) xg_note_used(turns_of(w, x, s));
    s = next;
  }
}

static struct xg_rows take_a(const struct worker *w, const struct block *x)
{
  const struct xg_loops_job *j = w->job;
  const struct xg_operand *a = &j->p->a;
  const char *data = at(a, j->e, x->ic, x->pc);
  const int64_t mr = j->u->mr;
  if (j->a_in_place) return (struct xg_rows){data, a->rs, a->cs, mr * a->rs * j->e};
  xg_pack(j->packer, (size_t)j->e, mr, x->m, x->k, data, a->rs, a->cs, w->a_block);
  return (struct xg_rows){w->a_block, 1, mr, mr * x->k * j->e};
}

/* MC rows at a time. A part without any takes its turn with the slivers all the same. */
static void loop_ic(const struct worker *w, struct block *x)
{
  const struct xg_loops_job *j = w->job;
  const int64_t rows = x->row1 - x->row0, mr = j->u->mr, tiles = ceil_div(rows, mr);
  const int64_t blocks = rows > 0 ? ceil_div(rows, w->mc) : 1;
  x->ic = x->row0;
  for (int64_t i = 0; i < blocks; i++, x->ic += x->m) {
    x->m = min64(x->row0 + xg_share(tiles, i + 1, blocks) * mr, x->row1) - x->ic;
    const struct xg_rows a = take_a(w, x);
    loop_jr(w, x, &a);
  }
}

/* KC of k at a time. */
static void loop_pc(const struct worker *w, struct block *x)
{
  const struct xg_loops_job *j = w->job;
  for (x->pc = 0; x->pc < j->p->k; x->pc += x->k) {
    x->k = min64(j->blocks.kc, j->p->k - x->pc);
    loop_ic(w, x);
  }
}

/* KC of k that others have begun: after what comes before it in the same rows. */
static void take_turn(const struct worker *w, struct block *x)
{
  xg_team_await(done_of(w, x), (int)x->turn);
  loop_ic(w, x);
  atomic_fetch_add_explicit(done_of(w, x), 1, memory_order_release);
}

/* Parts of one column of the grid, NC columns after NC columns, while there are some. */
static void loop_jc(const struct worker *w)
{
  struct block x;
  for (int64_t part = take_part(w); part < w->parts; part = x.after) {
    locate(w, part, &x);
    if (x.slivers == 0) x.after = take_part(w);
    if (w->grid.shared)
      take_turn(w, &x);
    else
      loop_pc(w, &x);
  }
}

/* ---------------------------------------------------------------- threads */

/* Slivers of a packed panel that each column of the grid has room for. */
static int64_t room_for_b(const struct xg_loops_job *j, int64_t across)
{
  const int64_t step = xg_grid_step(j->u);
  return ceil_div(ceil_div(ceil_div(j->blocks.nc, step), across) * step, j->u->nr);
}

/* The last parts of shared rows, one for each thread, are cut into pieces, if there were others. */
static void count_parts(struct worker *w)
{
  const int64_t down = w->grid.down, tall = ceil_div(w->job->p->m, w->job->u->mr);
  const int64_t turns = w->grid.shared ? w->panels * w->cuts : w->panels;
  const int64_t crew = ceil_div(w->threads, w->grid.across);
  const int64_t pieces = min64(min64(tall / down / PIECE, turns * down / crew / 2), PIECES);
  const int64_t cut = w->grid.shared && pieces > 1 ? min64(crew, down) : 0;
  w->pieces = cut ? pieces : 1;
  w->whole = turns * down - cut;
  w->parts = w->whole + cut * w->pieces;
}

void xg_loops_body(int id, int threads, void *context)
{
  const struct xg_loops_job *j = context;
  const struct xg_problem *p = j->p;
  struct xg_errand errands[XG_ERRANDS] = {{.groups = 0}};
  struct worker w = {.job = j,
                     .grid = threads == j->threads ? j->grid : xg_loops_grid(j, threads),
                     .id = id,
                     .threads = threads,
                     .panels = ceil_div(p->n, j->blocks.nc),
                     .cuts = ceil_div(p->k, j->blocks.kc),
                     .a_block = j->a_blocks + (size_t)id * j->a_block_bytes,
                     .tiles = {j->u, &p->c, j->e, j->alpha, errands}};
  w.mc = j->b_stays_near && (w.grid.shared || w.grid.down == 1) ? j->u->mr : j->blocks.mc;
  w.room = used_once(&w) ? 1 : room_for_b(j, w.grid.across);
  w.b_panel = j->b_panel + (w.grid.shared ? 0 : id * w.room * j->u->nr * j->blocks.kc * j->e);
  count_parts(&w);
  for (int64_t i = 0; i < w.grid.across; i++) {
    w.column = (id * w.grid.across / threads + i) % w.grid.across;
    loop_jc(&w);
  }
}
