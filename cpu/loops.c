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
  int a_in_place;
  char *b_panel, *a_blocks;
  size_t a_block_bytes;
  struct xg_barrier barrier;
};

struct worker { /* one thread's part */
  const struct job *job;
  struct xg_barrier *barrier;
  int threads, down, across; /* the grid */
  int row, column;           /* this thread's place in it */
  int64_t row0, row1;        /* rows of C */
  char *a_block;
  struct errand *errands; /* the first with groups left comes next */
};

struct block {   /* where the loops stand */
  int64_t jc, n; /* columns jc .. jc+n-1 */
  int64_t pc, k; /* k steps pc .. pc+k-1 */
  int64_t ic, m; /* rows ic .. ic+m-1 */
};

struct rows { /* of A, packed or in place */
  const char *data;
  int64_t rs, cs; /* strides within a sliver of MR rows, */
  int64_t next;   /* and bytes from one to the next */
};

struct range {
  int64_t first, last;
};

/* A piece of an operand that is packed soon: what is left of it to prefetch. It is as wide as
 * `groups` lines, or as 8 `groups` runs along k. */
struct errand {
  struct xg_fetch fetch;
  int64_t step, groups;
};

enum { ERRANDS = 2 };

/* The first of `count` things that share number `id` of `parts` begins with. */
static int64_t share(int64_t count, int64_t id, int64_t parts)
{
  return count / parts * id + min64(id, count % parts);
}

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

static struct xg_fetch next_fetch(struct errand *e)
{
  for (int i = 0; i < ERRANDS; i++, e++) {
    if (e->groups <= 0) continue;
    const struct xg_fetch f = e->fetch;
    e->fetch.at = (const char *)e->fetch.at + e->step;
    e->groups--;
    return f;
  }
  return (struct xg_fetch){NULL, 0, 0};
}

static void call(const struct worker *w, int64_t m, int64_t n, int64_t k, const struct rows *a,
                 const char *b, const union scalar *beta, char *c, int64_t rs_c)
{
  const struct job *j = w->job;
  const struct xg_fetch fetch = next_fetch(w->errands);
  if (j->u->strided)
    j->u->strided(m, n, k, &j->alpha, a->data, a->rs, a->cs, b, beta, c, rs_c, &fetch);
  else
    j->u->panel(m, n, k, &j->alpha, a->data, b, beta, c, rs_c);
}

/* Edges of kernels that do not mask, and C without unit stride: the kernel works on a copy of C. */
static void merge_tile(const struct worker *w, int64_t m, int64_t n, int64_t k,
                       const struct rows *a, const char *b, const union scalar *beta, char *c)
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
                       const struct rows *a, const char *b, const union scalar *beta, char *c)
{
  const struct job *j = w->job;
  const int whole = m == j->u->mr && n == j->u->nr;
  if (j->p->c.cs == 1 && (whole || j->u->flags & XG_UKR_MASKED))
    call(w, m, n, k, a, b, beta, c, j->p->c.rs);
  else
    merge_tile(w, m, n, k, a, b, beta, c);
}

/* ---------------------------------------------------------------- B, sliver by sliver */

/* The slivers of a panel that this thread multiplies by: those of its column of the grid. */
static struct range columns_of(const struct worker *w, const struct block *x)
{
  const int64_t nr = w->job->u->nr, slivers = (x->n + nr - 1) / nr;
  return (struct range){share(slivers, w->column, w->across),
                        share(slivers, w->column + 1, w->across)};
}

/* Those that it packs: its share of them. */
static struct range packed_by(const struct worker *w, struct range columns)
{
  const int64_t count = columns.last - columns.first;
  return (struct range){columns.first + share(count, w->row, w->down),
                        columns.first + share(count, w->row + 1, w->down)};
}

/* Whether a packed sliver serves once: one block of rows, and no other thread. Then all of them go
 * to one place, which stays in the cache. (Places do not depend on x->k: threads that share nothing
 * may be at different ones.) */
static int used_once(const struct worker *w)
{
  return w->down == 1 && w->row1 - w->row0 <= w->job->blocks.mc;
}

static char *packed_b(const struct worker *w, const struct block *x, int64_t sliver)
{
  const struct job *j = w->job;
  const int64_t place = used_once(w) ? columns_of(w, x).first : sliver;
  return j->b_panel + place * j->u->nr * j->blocks.kc * j->e;
}

static void pack_b(const struct worker *w, const struct block *x, int64_t sliver)
{
  const struct job *j = w->job;
  const struct xg_operand *b = &j->p->b;
  const int64_t nr = j->u->nr, jr = sliver * nr;
  xg_pack(j->packer, (size_t)j->e, nr, min64(nr, x->n - jr), x->k, at(b, j->e, x->pc, x->jc + jr),
          b->cs, b->rs, packed_b(w, x, sliver));
}

/* ---------------------------------------------------------------- errands */

/* Elements (i,p), 0 <= i < rows, 0 <= p < k, at src + i*is + p*ps. */
static struct errand errand_for(const struct job *j, const char *src, int64_t rows, int64_t is,
                                int64_t ps)
{
  enum { LINE = 64, RUNS = 8 };
  if (is == 1)
    return (struct errand){{src, ps * j->e, RUNS * ps * j->e},
                           LINE,
                           ((intptr_t)src % LINE + rows * j->e + LINE - 1) / LINE};
  if (ps == 1)
    return (struct errand){
        {src, is * j->e, RUNS * j->e}, RUNS * is * j->e, (rows + RUNS - 1) / RUNS};
  return (struct errand){.groups = 0};
}

/* Sends for the sliver of B that is packed after this one. */
static void send_for_b(const struct worker *w, const struct block *x, int64_t sliver)
{
  const struct job *j = w->job;
  const struct xg_operand *b = &j->p->b;
  const int64_t nr = j->u->nr, jr = sliver * nr;
  w->errands[0] = errand_for(j, at(b, j->e, x->pc, x->jc + jr), min64(nr, x->n - jr), b->cs, b->rs);
}

/* Sends for a sliver of B that is packed already. */
static void send_for_packed_b(const struct worker *w, const struct block *x, int64_t sliver)
{
  const struct job *j = w->job;
  w->errands[0] = errand_for(j, packed_b(w, x, sliver), j->u->nr, 1, j->u->nr);
}

/* Sends for the block of A that comes next: the rows below, else the next steps of k. */
static void send_for_a(const struct worker *w, const struct block *x)
{
  const struct job *j = w->job;
  const struct xg_operand *a = &j->p->a;
  int64_t ic = x->ic + x->m, pc = x->pc, m = min64(x->m, w->row1 - ic);
  if (ic >= w->row1) ic = w->row0, pc += x->k, m = min64(j->blocks.mc, w->row1 - ic);
  if (pc >= j->p->k) return;
  w->errands[1] = errand_for(j, at(a, j->e, ic, pc), m, a->rs, a->cs);
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

/* MR rows at a time: the tiles of one sliver of B. */
static void loop_ir(const struct worker *w, const struct block *x, struct rows a, int64_t sliver)
{
  const struct job *j = w->job;
  const int64_t mr = j->u->mr, nr = j->u->nr, jr = sliver * nr, n = min64(nr, x->n - jr);
  const union scalar *beta = x->pc == 0 ? &j->beta : &j->one;
  const char *b = packed_b(w, x, sliver);
  for (int64_t ir = 0; ir < x->m; ir += mr, a.data += a.next)
    micro_tile(w, min64(mr, x->m - ir), n, x->k, &a, b, beta,
               at(&j->p->c, j->e, x->ic + ir, x->jc + jr));
}

/* NR columns at a time, over this thread's share of the panel of B. */
static void loop_jr(const struct worker *w, const struct block *x, const struct rows *a)
{
  const struct range r = columns_of(w, x);
  for (int64_t s = r.first; s < r.last; s++) {
    if (s == r.last - 1)
      send_for_a(w, x);
    else
      send_for_packed_b(w, x, s + 1);
    loop_ir(w, x, *a, s);
  }
}

/* The same for the first rows, while the panel is being packed: first the slivers that this thread
 * packs, each used while it is in the cache, then what the others have packed meanwhile. */
static void loop_jr_packing(const struct worker *w, const struct block *x, const struct rows *a)
{
  const struct range r = columns_of(w, x), own = packed_by(w, r);
  for (int64_t s = own.first; s < own.last; s++) {
    pack_b(w, x, s);
    if (s + 1 < own.last)
      send_for_b(w, x, s + 1);
    else
      send_for_next(w, x, own.first);
    loop_ir(w, x, *a, s);
  }
  if (w->down == 1) return;
  xg_barrier_wait_n(w->barrier, w->threads);
  for (int64_t s = r.first; s < own.first; s++) loop_ir(w, x, *a, s);
  for (int64_t s = own.last; s < r.last; s++) loop_ir(w, x, *a, s);
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
  const int64_t rows = w->row1 - w->row0, mc = j->blocks.mc;
  const int64_t blocks = rows > 0 ? (rows + mc - 1) / mc : 1;
  const int64_t mr = j->u->mr, tiles = (rows + mr - 1) / mr;
  x->ic = w->row0;
  for (int64_t i = 0; i < blocks; i++, x->ic += x->m) {
    x->m = min64(w->row0 + share(tiles, i + 1, blocks) * mr, w->row1) - x->ic;
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
    const int others = x->pc > 0 ? w->down > 1 : x->jc > 0; /* whether their part is packed over */
    if (others) xg_barrier_wait_n(w->barrier, w->threads);  /* until the old panel is used up */
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

/* The grid whose largest part of C is smallest, the squarest of those. But with few rows one row of
 * threads, of which none shares a panel or waits at a barrier, makes up for parts a fifth larger.
 */
static int rows_of_grid(const struct job *j, int threads)
{
  enum { FEW_ROWS = 192 };
  const int64_t mr = j->u->mr, nr = j->u->nr;
  const int64_t tall = (j->p->m + mr - 1) / mr;
  const int64_t wide = (min64(j->p->n, j->blocks.nc) + nr - 1) / nr;
  int best = 1;
  int64_t best_area = INT64_MAX, best_rim = INT64_MAX, row_area = 0;
  for (int down = 1; down <= threads; down++) {
    if (threads % down != 0) continue;
    const int64_t h = (tall + down - 1) / down * mr;
    const int64_t v = (wide + threads / down - 1) / (threads / down) * nr;
    if (down == 1) row_area = h * v;
    if (h * v < best_area || (h * v == best_area && h + v < best_rim))
      best = down, best_area = h * v, best_rim = h + v;
  }
  return j->p->m <= FEW_ROWS && row_area - best_area <= best_area / 5 ? 1 : best;
}

static void body(int id, int threads, void *context)
{
  struct job *j = context;
  const int down = rows_of_grid(j, threads), across = threads / down;
  const int64_t mr = j->u->mr, tall = (j->p->m + mr - 1) / mr;
  const int row = id / across;
  struct errand errands[ERRANDS] = {{.groups = 0}};
  const struct worker w = {.job = j,
                           .barrier = &j->barrier,
                           .threads = threads,
                           .down = down,
                           .across = across,
                           .row = row,
                           .column = id % across,
                           .row0 = min64(share(tall, row, down) * mr, j->p->m),
                           .row1 = min64(share(tall, row + 1, down) * mr, j->p->m),
                           .a_block = j->a_blocks + (size_t)id * j->a_block_bytes,
                           .errands = errands};
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
  j.a_in_place = u->strided && xg_stays_in_place(xg_topo(), u, blocks, oriented->n, oriented->a.rs,
                                                 oriented->a.cs);
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

/* What a kernel computes for a row of n elements: whole vectors, or whole tiles if it does not
 * mask. */
static double computed(const struct xg_ukr *u, int64_t n)
{
  static const int vector[XG_ISA_COUNT] = {16, 32, 64};
  const int64_t lanes = vector[u->isa] / (u->type == 'd' ? 8 : 4);
  const int64_t step = u->flags & XG_UKR_MASKED ? lanes : u->nr;
  return (double)((n + step - 1) / step * step);
}

/* A turned C is written element by element, once for each KC steps of k; that costs as much as MOVE
 * steps of a lane (4 cycles for f32 and 8 for f64 where 64 bytes of FMA results are made a cycle).
 */
int xg_orient_panel(const struct xg_ukr *u, int64_t kc, struct xg_problem *oriented)
{
  enum { MOVE = 64 };
  const double m = (double)oriented->m, n = (double)oriented->n, k = (double)kc;
  const double as_is = m * computed(u, oriented->n) * k, turned = n * computed(u, oriented->m) * k;
  if (turned + MOVE * m * n >= as_is) return 0;
  *oriented = xg_problem_transposed(oriented);
  return 1;
}
