/* Products with small k and a large C. C is walked in strips of 8 rows, each from end to end of a
 * block of columns: long runs through few pages, whatever the leading dimension.
 *
 *   B   a block of columns is packed by each thread for itself and stays in L2 while all strips go
 *       by; k NC e bytes are at most B_BYTES
 *   A   8 rows at a time, read where they are or, if their use repays it, from a copy in L1
 *   C   written once. If beta is 0 and C is larger than the last cache, it goes past the caches in
 *       whole lines: nothing is read to be overwritten, and A and B stay where they are.
 *
 * k is not cut, so every element is one chain of additions: the bits are those of the blocked way.
 */
#include "loops_flat.h"

#include "loops.h"
#include "loops_common.h"
#include "pack.h"
#include "team.h"
#include "topo.h"
#include "ukr_find.h"
#include "workspace.h"

enum {
  ALIGN = 64,
  MOST_K = 32,
  LEAST_N = 48,
  C_BYTES = 1 << 20, /* of a C worth the trouble */
  B_BYTES = 256 * 1024,
  COPY_N = 256, /* columns from which on a copy of 8 rows of A is repaid */
  ROWS = 8
};

struct job {
  const struct xg_problem *p;
  const struct xg_ukr *u, *packer;
  union scalar alpha, beta;
  int64_t e, nc;
  int stream;
  char *memory;
  size_t bytes; /* of each thread */
};

static int64_t round_up(int64_t x, int64_t step)
{
  return (x + step - 1) / step * step;
}

int xg_is_flat(const struct xg_problem *o, const struct xg_ukr *u)
{
  if (!u || o->c.cs != 1 || o->k > MOST_K || o->n < LEAST_N || o->m < 2 * u->mr) return 0;
  return o->m > C_BYTES || o->n > C_BYTES || o->m * o->n * (int64_t)xg_sizeof(o->type) >= C_BYTES;
}

int64_t xg_flat_nc(const struct xg_problem *o, const struct xg_ukr *u)
{
  const int64_t step = 3 * u->nr, most = B_BYTES / (o->k * (int64_t)xg_sizeof(o->type));
  const int64_t blocks = (o->n + most - 1) / most;
  return round_up((o->n + blocks - 1) / blocks, step);
}

static size_t b_bytes(const struct xg_problem *o, const struct xg_ukr *u)
{
  return (size_t)round_up(xg_flat_nc(o, u) * o->k * (int64_t)xg_sizeof(o->type), ALIGN);
}

size_t xg_flat_workspace(const struct xg_problem *o, const struct xg_ukr *u, int threads)
{
  return (size_t)threads * b_bytes(o, u);
}

/* Columns jc .. jc+n-1 of B, in the kernel's slivers. */
static void pack_b(const struct job *j, int64_t jc, int64_t n, char *to)
{
  const struct xg_operand *b = &j->p->b;
  const int64_t vl = j->u->nr, k = j->p->k;
  int64_t same = 0; /* columns in slivers of full width */
  while (same < n && xg_sliver(n - same, vl) == 3 * vl) same += 3 * vl;
  if (same > 0)
    xg_pack(j->packer, (size_t)j->e, 3 * vl, same, k, at(b, j->e, 0, jc), b->cs, b->rs, to);
  for (int64_t i = same, columns; i < n; i += columns) {
    columns = xg_sliver(n - i, vl);
    j->packer->pack(round_up(columns, vl), columns, k, at(b, j->e, 0, jc + i), b->cs, b->rs,
                    to + i * k * j->e);
  }
}

/* Rows and columns of C that are one thread's. */
struct part {
  int64_t row0, row1, col0, col1;
};

/* Strips of a block of columns. */
static void strips(const struct job *j, const struct part *w, int64_t jc, int64_t n, const char *b,
                   int stream)
{
  _Alignas(ALIGN) char copy[ROWS * MOST_K * sizeof(double)];
  const struct xg_operand *a = &j->p->a, *c = &j->p->c;
  struct xg_strip x = {.n = n,
                       .k = j->p->k,
                       .rs_a = a->rs,
                       .cs_a = a->cs,
                       .b = b,
                       .rs_c = c->rs,
                       .alpha = &j->alpha,
                       .beta = &j->beta,
                       .stream = stream};
  for (int64_t i = w->row0; i < w->row1; i += ROWS) {
    x.m = min64(ROWS, w->row1 - i);
    x.a = at(a, j->e, i, 0);
    x.c = at(c, j->e, i, jc);
    if (n >= COPY_N) {
      j->packer->pack(ROWS, x.m, x.k, x.a, a->rs, a->cs, copy);
      x.a = copy, x.rs_a = 1, x.cs_a = ROWS;
    }
    j->u->strip->store(&x);
  }
}

/* Columns before the first whole line of C's rows. */
static int64_t to_line(const struct job *j, int64_t col)
{
  const intptr_t address = (intptr_t)at(&j->p->c, j->e, 0, col);
  return j->stream ? (-address & (ALIGN - 1)) / j->e : 0;
}

static void columns(const struct job *j, const struct part *w, char *buffer)
{
  int64_t jc = w->col0, n = min64(to_line(j, jc), w->col1 - jc);
  for (int whole = n == 0; jc < w->col1; jc += n, whole = 1) {
    if (whole) n = min64(j->nc, w->col1 - jc);
    pack_b(j, jc, n, buffer);
    strips(j, w, jc, n, buffer, whole && j->stream);
  }
}

/* Share `id` of 0 .. size-1 in units of `step`. */
static void share(int64_t size, int64_t step, int id, int threads, int64_t *first, int64_t *last)
{
  const int64_t units = (size + step - 1) / step;
  const int64_t longer = units % threads, base = units / threads;
  *first = min64((base * id + min64(id, longer)) * step, size);
  *last = min64((base * (id + 1) + min64(id + 1, longer)) * step, size);
}

/* Each thread packs its own B, so rows are shared as long as enough of them use it. */
static void body(int id, int threads, void *context)
{
  enum { ENOUGH = 16 };
  const struct job *j = context;
  struct part w = {0, j->p->m, 0, j->p->n};
  if (j->p->m >= (int64_t)threads * ENOUGH * ROWS || j->p->n < (int64_t)threads * LEAST_N)
    share(j->p->m, ROWS, id, threads, &w.row0, &w.row1);
  else
    share(j->p->n, 3 * j->u->nr, id, threads, &w.col0, &w.col1);
  if (w.row0 < w.row1 && w.col0 < w.col1) columns(j, &w, j->memory + (size_t)id * j->bytes);
}

/* Whether C is better written past the caches: then whole lines of it can be. */
static int streams(const struct xg_problem *o, int64_t e)
{
  const int64_t l3 = xg_topo()->l3;
  return o->beta == 0 && (uintptr_t)o->c.data % (uintptr_t)e == 0 && o->c.rs * e % ALIGN == 0 &&
         (o->m > l3 || o->n > l3 || o->m * o->n * e > l3);
}

void xg_flat_run(const struct xg_problem *o, const struct xg_ukr *u, int threads)
{
  struct job j = {.p = o,
                  .u = u,
                  .packer = xg_ukr_best(o->type, XG_UKR_PACK),
                  .e = (int64_t)xg_sizeof(o->type),
                  .nc = xg_flat_nc(o, u),
                  .bytes = b_bytes(o, u)};
  struct xg_workspace memory;
  j.stream = streams(o, j.e);
  if (o->type == XGEMM_F64)
    j.alpha.d = o->alpha, j.beta.d = o->beta;
  else
    j.alpha.f = (float)o->alpha, j.beta.f = (float)o->beta;
  if (xg_workspace_take(&memory, xg_flat_workspace(o, u, threads)) != 0) {
    xg_loops_bare(o, u, o->k);
    return;
  }
  j.memory = memory.memory;
  if (threads == 1)
    body(0, 1, &j);
  else
    xg_team_run(threads, body, &j);
  xg_workspace_give(&memory);
}
