/* Products with large k and small m and n. k is cut into chunks, by shape alone; each has a C of
 * its own to sum in, and at the end these are added in order. Threads share the chunks.
 *
 *            chunk 0         chunk 1
 *        +---+---+---+---+---+---+---+---+--         KC steps of k at a time: a block of A and one
 *      A |   |   |   |   |   |   |   |   |           of B are copied to where the kernel reads them
 *        +---+---+---+---+---+---+---+---+--         well. While it does, it copies the next block:
 *                  used copied                       so waiting for memory and computing overlap.
 *
 * Copies need no turning where B runs along n (the kernel's vectors do); A may run either way. What
 * runs otherwise is packed when its block comes up. A B whose rows lie close together is read where
 * it is, its lines called for in place of copies: stores cost FMAs their time. With both operands
 * along the other way around the product is turned: C's strides do not matter here.
 */
#include "loops_deep.h"

#include "loops_common.h"
#include "pack.h"
#include "shares.h"
#include "team.h"
#include "ukr_find.h"
#include "workspace.h"

enum {
  ALIGN = 64,
  MOST_MN = 256,
  LEAST_K = 4096,
  CHUNK = 1024, /* the least */
  MOST_CHUNKS = 32,
  SUMS = 8 << 20,      /* most bytes of them */
  BLOCKS = 512 * 1024, /* bytes of a thread's copies: half of L2 */
  MOST_KC = 256,       /* additions in a run: the longer, the larger the error */
  KC_STEP = 16,
  AHEAD = 32 /* lines */
};

struct side { /* A or B, and where its copies go */
  const struct xg_operand *x;
  int64_t rows;   /* m or n */
  int64_t is, ps; /* strides along it and along k */
  int64_t width;  /* of panels; 0: copied as it is */
  int64_t ld;     /* of the copy */
  int in_place;   /* there is none: the kernel only calls for the lines */
};

struct job {
  struct xg_problem p;
  const struct xg_ukr *u, *packer;
  union scalar alpha, beta;
  struct xg_deep cut;
  struct side a, b;
  int64_t e, n_sums; /* row length of sums */
  char *sums, *memory;
  size_t bytes; /* of each thread */
  struct xg_barrier barrier;
  struct xg_taken *taken; /* chunks, of each thread */
};

struct hand {
  struct job *job;
  int id, threads;
};

struct block { /* copies of a block of A and B, and what is left to do for them */
  char *a, *b;
  const char *b_at; /* where B is read */
  struct xg_copy copy[2];
};

int xg_is_deep(const struct xg_problem *o, const struct xg_ukr *u)
{
  return u && o->m <= MOST_MN && o->n <= MOST_MN && o->k >= LEAST_K && o->m > u->mr && o->n > u->mr;
}

/* Elements of a copy of kc steps of A or B, whichever way it runs. */
static int64_t copied(int64_t rows, int64_t kc, const struct xg_ukr *u)
{
  return round_up(rows, u->nr) * (kc + u->nr);
}

struct xg_deep xg_deep_cut(const struct xg_problem *o, const struct xg_ukr *u)
{
  const int64_t e = (int64_t)xg_sizeof(o->type);
  const int64_t sum = round_up(o->m, u->nr) * round_up(o->n, u->nr) * e;
  const int64_t most = min64(min64(MOST_CHUNKS, SUMS / sum), (o->k + CHUNK - 1) / CHUNK);
  struct xg_deep d;
  const int64_t both = round_up(o->m, u->nr) + round_up(o->n, u->nr);
  d.kc = min64(BLOCKS / (2 * e * both) / KC_STEP * KC_STEP, MOST_KC);
  d.chunk = round_up((o->k + most - 1) / most, d.kc);
  d.split = (o->k + d.chunk - 1) / d.chunk;
  return d;
}

/* ---------------------------------------------------------------- copies */

static struct side side_of(const struct job *j, const struct xg_operand *x, int64_t rows,
                           int64_t is, int64_t ps, int may_run_along_k, int64_t width)
{
  struct side s = {.x = x, .rows = rows, .is = is, .ps = ps};
  if (is == 1)
    s.ld = round_up(rows, j->u->nr);
  else if (ps == 1 && may_run_along_k)
    s.ld = j->cut.kc + j->u->nr; /* off a power of two */
  else
    s.width = width;
  return s;
}

/* Whether the kernel reads B well where it is: rows that lie close together. */
static int is_dense(const struct side *b)
{
  return b->is == 1 && b->ps >= b->rows && b->ps <= 2 * b->rows;
}

/* Steps p .. p+k-1 of a side: what to copy. */
static struct xg_copy copy_of(const struct job *j, const struct side *s, int64_t p, int64_t k,
                              char *to)
{
  const int64_t line = ALIGN / j->e, along_rows = s->is == 1;
  struct xg_copy c = {.from = (const char *)s->x->data + p * s->ps * j->e,
                      .to = s->in_place ? NULL : to,
                      .rows = (along_rows ? k : s->rows) - 1,
                      .cols = along_rows ? s->rows : k,
                      .from_ld = along_rows ? s->ps : s->is,
                      .to_ld = s->in_place ? 0 : s->ld};
  c.left = c.cols;
  c.ahead = c.from_ld * ((AHEAD * line + c.cols - 1) / c.cols);
  return c;
}

/* Copying ends with the block if each step of its tiles does so much of it. */
static uint32_t pace_of(const struct job *j, const struct xg_copy *copy, int64_t k)
{
  const int64_t vl = j->u->nr;
  double vectors = 0, tiles = 0;
  for (; copy; copy = copy->next) vectors += (copy->rows + 1) * ((copy->cols + vl - 1) / vl);
  for (int64_t n = j->p.n; n > 0; n -= xg_sliver(n, vl)) tiles++;
  tiles *= (j->p.m + j->u->mr - 1) / j->u->mr;
  const double pace = vectors / (tiles * k) * 4294967296.0 + 1;
  return pace < UINT32_MAX ? (uint32_t)pace : UINT32_MAX;
}

/* Links what is to be copied for steps p .. p+k-1. */
static struct xg_copy *copies(const struct job *j, int64_t p, int64_t k, struct block *to)
{
  struct xg_copy *first = NULL;
  to->b_at = j->b.in_place ? (const char *)j->b.x->data + p * j->b.ps * j->e : to->b;
  if (!j->b.width) {
    to->copy[1] = copy_of(j, &j->b, p, k, to->b);
    first = &to->copy[1];
  }
  if (!j->a.width) {
    to->copy[0] = copy_of(j, &j->a, p, k, to->a);
    to->copy[0].next = first;
    first = &to->copy[0];
  }
  return first;
}

static void pack_side(const struct job *j, const struct side *s, int64_t p, int64_t k, char *to)
{
  const char *from = (const char *)s->x->data + p * s->ps * j->e;
  for (int64_t i = 0, rows; i < s->rows; i += rows, to += s->width * k * j->e) {
    rows = min64(s->width, s->rows - i);
    j->packer->pack(s->width, rows, k, from + i * s->is * j->e, s->is, s->ps, to);
  }
}

/* ---------------------------------------------------------------- a block, a chunk, a thread */

static void strips(const struct job *j, const struct block *x, int64_t k, int first, char *sums,
                   struct xg_copy **copy)
{
  const struct side *a = &j->a;
  const int64_t mr = j->u->mr, count = (j->p.m + mr - 1) / mr;
  const int64_t rows = a->width ? mr : (j->p.m + count - 1) / count; /* even strips */
  struct xg_strip s = {.n = j->p.n,
                       .k = k,
                       .rs_a = a->width || a->is == 1 ? 1 : a->ld,
                       .cs_a = a->width     ? mr
                               : a->is == 1 ? a->ld
                                            : 1,
                       .b = x->b_at,
                       .rs_b = j->b.width      ? j->b.width
                               : j->b.in_place ? j->b.ps
                                               : j->b.ld,
                       .rs_c = j->n_sums,
                       .first = first,
                       .pace = pace_of(j, *copy, k),
                       .copy = *copy};
  for (int64_t i = 0; i < j->p.m; i += s.m) {
    s.m = min64(rows, j->p.m - i);
    s.a = x->a + (a->width ? i * k : i * s.rs_a) * j->e;
    s.c = sums + i * j->n_sums * j->e;
    j->u->strip->sum(&s);
  }
  *copy = s.copy;
}

/* Steps from .. to-1 of k, none where they are past the end. */
struct span {
  int64_t from, to;
};

static struct span take_chunk(const struct hand *h)
{
  const struct job *j = h->job;
  const int64_t i = xg_take(j->taken, j->cut.split, h->id, h->threads), chunk = j->cut.chunk;
  return (struct span){min64(i * chunk, j->p.k), min64((i + 1) * chunk, j->p.k)};
}

/* The block of copies after the one at p, in this chunk or in the next one taken. */
static struct span after(const struct hand *h, int64_t p, struct span *chunk)
{
  const int64_t kc = h->job->cut.kc;
  if (p + kc < chunk->to) return (struct span){p + kc, min64(p + 2 * kc, chunk->to)};
  *chunk = take_chunk(h);
  return (struct span){chunk->from, min64(chunk->from + kc, chunk->to)};
}

/* A chunk is taken when its first block is to be copied. */
static void chunks(const struct hand *h, char *memory)
{
  const struct job *j = h->job;
  const int64_t kc = j->cut.kc;
  const size_t a_bytes = (size_t)(copied(j->p.m, kc, j->u) * j->e);
  const size_t b_bytes = (size_t)(copied(j->p.n, kc, j->u) * j->e);
  struct block both[2];
  for (int i = 0; i < 2; i++) {
    both[i].a = memory + (size_t)i * (a_bytes + b_bytes);
    both[i].b = both[i].a + a_bytes;
  }
  struct span chunk = take_chunk(h), now = {chunk.from, min64(chunk.from + kc, chunk.to)}, next;
  if (now.from == now.to) return;
  struct xg_copy *copy = copies(j, now.from, now.to - now.from, &both[0]);
  for (int turn = 0; now.from < now.to; now = next, turn ^= 1) {
    struct block *x = &both[turn];
    const int64_t p = now.from, steps = now.to - p;
    if (copy) j->u->strip->copy_rest(copy);
    if (j->a.width) pack_side(j, &j->a, p, steps, x->a);
    if (j->b.width) pack_side(j, &j->b, p, steps, x->b);
    next = after(h, p, &chunk);
    copy = next.from < next.to ? copies(j, next.from, next.to - next.from, &both[turn ^ 1]) : NULL;
    strips(j, x, steps, p % j->cut.chunk == 0,
           j->sums + p / j->cut.chunk * j->p.m * j->n_sums * j->e, &copy);
  }
}

/* Rows of C from the sums of all chunks. */
static void fold(const struct job *j, int64_t first, int64_t last)
{
  const struct xg_operand *c = &j->p.c;
  struct xg_fold f = {.n = j->p.n,
                      .parts = j->cut.split,
                      .part = j->p.m * j->n_sums,
                      .alpha = &j->alpha,
                      .beta = &j->beta,
                      .cs_c = c->cs};
  for (int64_t i = first; i < last; i++) {
    f.sums = j->sums + i * j->n_sums * j->e;
    f.c = at(c, j->e, i, 0);
    j->u->strip->fold(&f);
  }
}

static void body(int id, int threads, void *context)
{
  struct job *j = context;
  chunks(&(struct hand){j, id, threads}, j->memory + (size_t)id * j->bytes);
  if (threads > 1) xg_barrier_wait_n(&j->barrier, threads);
  fold(j, xg_share(j->p.m, id, threads), xg_share(j->p.m, id + 1, threads));
}

/* ---------------------------------------------------------------- memory */

static size_t block_bytes(const struct xg_problem *o, const struct xg_ukr *u)
{
  const int64_t kc = xg_deep_cut(o, u).kc;
  return (size_t)(2 * (copied(o->m, kc, u) + copied(o->n, kc, u))) * xg_sizeof(o->type);
}

/* Room for the sums as they are and turned. */
static size_t sums_bytes(const struct xg_problem *o, const struct xg_ukr *u)
{
  return (size_t)(xg_deep_cut(o, u).split * round_up(o->m, u->nr) * round_up(o->n, u->nr)) *
         xg_sizeof(o->type);
}

size_t xg_deep_workspace(const struct xg_problem *o, const struct xg_ukr *u, int threads)
{
  return sums_bytes(o, u) + (size_t)threads * (block_bytes(o, u) + sizeof(struct xg_taken));
}

void xg_deep_run(const struct xg_problem *o, const struct xg_ukr *u, int threads)
{
  struct xg_workspace memory;
  struct job j = {.p = o->b.cs != 1 && o->a.rs == 1 ? xg_problem_transposed(o) : *o,
                  .u = u,
                  .packer = xg_ukr_best(o->type, XG_UKR_PACK),
                  .cut = xg_deep_cut(o, u),
                  .e = (int64_t)xg_sizeof(o->type),
                  .bytes = block_bytes(o, u)};
  if (o->type == XGEMM_F64)
    j.alpha.d = o->alpha, j.beta.d = o->beta;
  else
    j.alpha.f = (float)o->alpha, j.beta.f = (float)o->beta;
  j.n_sums = round_up(j.p.n, u->nr);
  j.a = side_of(&j, &j.p.a, j.p.m, j.p.a.rs, j.p.a.cs, 1, u->mr);
  j.b = side_of(&j, &j.p.b, j.p.n, j.p.b.cs, j.p.b.rs, 0, j.n_sums);
  j.b.in_place = is_dense(&j.b);
  if (xg_workspace_take(&memory, xg_deep_workspace(o, u, threads)) != 0) {
    xg_deep_bare(o, &j.cut);
    return;
  }
  j.sums = memory.memory;
  j.memory = j.sums + sums_bytes(o, u);
  j.taken = (struct xg_taken *)(j.memory + (size_t)threads * j.bytes);
  for (int t = 0; t < threads; t++) atomic_init(&j.taken[t].parts, 0);
  if (threads == 1)
    body(0, 1, &j);
  else
    xg_team_run(threads, body, &j);
  xg_workspace_give(&memory);
}
