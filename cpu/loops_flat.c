/* Products with small k and a large C. C is walked in strips of 8 rows, each from end to end of a
 * block of columns: long runs through few pages, whatever the leading dimension.
 *
 *   B   a block of columns is packed by each thread for itself and stays in L2 while all strips go
 *       by; k NC e bytes are at most B_BYTES
 *   A   8 rows at a time, read where they are or, if their use repays it, from a copy in L1
 *   C   written once. If beta is 0 and C would fill the last cache, it goes past the caches in
 *       whole lines: nothing is read to be overwritten, and A and B stay where they are.
 *
 * k is not cut, so every element is one chain of additions: the bits are those of the blocked way.
 */
#include "loops_flat.h"

#include "loops.h"
#include "loops_common.h"
#include "pack.h"
#include "shares.h"
#include "team.h"
#include "topo.h"
#include "ukr_find.h"
#include "workspace.h"

enum {
  ALIGN = 64,
  MOST_K = 32,
  LEAST_N = 48,
  C_BYTES = 1 << 20, /* of a C worth the trouble */
  B_BYTES = 512 * 1024,
  COPY_N = 256, /* columns from which on a copy of 8 rows of A is repaid */
  ROWS = 8,
  UNIT_ROWS = 16 * ROWS, /* the fewest for which a block of B is packed */
  UNITS = 8,             /* for each thread to take, one after the other */
  BYTES_PER_NS = 20      /* the same from memory */
};

struct job {
  const struct xg_problem *p;
  const struct xg_ukr *u, *packer;
  union scalar alpha, beta;
  int64_t e, nc;
  int64_t peel; /* columns before the first whole line of C's rows */
  int64_t rows, row_blocks, units;
  int stream;
  char *memory;
  size_t bytes;           /* of each thread */
  struct xg_taken *taken; /* units, of each thread */
};

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
  return (size_t)threads * (b_bytes(o, u) + sizeof(struct xg_taken));
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

/* The lines of 8 rows of A, which the kernel would else wait for at the head of each strip. */
static void fetch_a(const struct job *j, int64_t i)
{
  const struct xg_operand *a = &j->p->a;
  const int64_t rows = min64(ROWS, j->p->m - i), k = j->p->k, line = ALIGN / j->e;
  if (a->cs == 1)
    for (int64_t r = 0; r < rows; r++)
      for (int64_t p = 0; p < k; p += line) __builtin_prefetch(at(a, j->e, i + r, p));
  else
    for (int64_t p = 0; p < k; p++) __builtin_prefetch(at(a, j->e, i, p));
}

/* Strips of rows row0 .. row1-1 and a block of columns. */
static void strips(const struct job *j, int64_t row0, int64_t row1, int64_t jc, int64_t n,
                   const char *b, int stream)
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
  for (int64_t i = row0; i < row1; i += ROWS) {
    x.m = min64(ROWS, row1 - i);
    x.a = at(a, j->e, i, 0);
    x.c = at(c, j->e, i, jc);
    if (n >= COPY_N) {
      j->packer->pack(ROWS, x.m, x.k, x.a, a->rs, a->cs, copy);
      x.a = copy, x.rs_a = 1, x.cs_a = ROWS;
      if (i + ROWS < row1) fetch_a(j, i + ROWS);
    }
    j->u->strip->store(&x);
  }
}

/* Columns before the first whole line of C's rows. */
static int64_t to_line(const struct job *j)
{
  return j->stream ? (-(intptr_t)j->p->c.data & (ALIGN - 1)) / j->e : 0;
}

/* What threads take: rows of a block of columns. Each packs its own B, so a block
 * of columns is cut into as many blocks of rows as use enough of it. */
static void cut(struct job *j, int threads)
{
  const int64_t m = j->p->m, n = j->p->n, step = 3 * j->u->nr;
  const int64_t wanted = threads > 1 ? (int64_t)threads * UNITS : 1;
  j->row_blocks = min64((m + UNIT_ROWS - 1) / UNIT_ROWS, wanted);
  j->rows = round_up((m + j->row_blocks - 1) / j->row_blocks, ROWS);
  j->row_blocks = (m + j->rows - 1) / j->rows;
  const int64_t blocks = threads > j->row_blocks ? wanted / j->row_blocks : 1;
  j->nc = min64(xg_flat_nc(j->p, j->u), round_up((n + blocks - 1) / blocks, step));
  j->peel = min64(to_line(j), n);
  j->units = j->row_blocks * ((n - j->peel + j->nc - 1) / j->nc + (j->peel > 0));
}

static void body(int id, int threads, void *context)
{
  struct job *j = context;
  char *buffer = j->memory + (size_t)id * j->bytes;
  int64_t packed = -1;
  for (int64_t u; (u = xg_take(j->taken, j->units, id, threads)) < j->units;) {
    const int64_t block = u / j->row_blocks, row = u % j->row_blocks * j->rows;
    const int peels = j->peel > 0 && block == 0;
    const int64_t jc = peels ? 0 : j->peel + (block - (j->peel > 0)) * j->nc;
    const int64_t n = peels ? j->peel : min64(j->nc, j->p->n - jc);
    if (block != packed) pack_b(j, jc, n, buffer);
    packed = block;
    strips(j, row, min64(row + j->rows, j->p->m), jc, n, buffer, j->stream && !peels);
  }
  if (j->stream) j->u->strip->fence();
}

/* Whether C is better written past the caches: then whole lines of it can be. */
static int streams(const struct xg_problem *o, int64_t e)
{
  const int64_t l3 = xg_topo()->l3 / 4 * 3; /* the rest holds A and B, and what others do */
  return o->beta == 0 && (uintptr_t)o->c.data % (uintptr_t)e == 0 && o->c.rs * e % ALIGN == 0 &&
         (o->m > l3 || o->n > l3 || o->m * o->n * e > l3);
}

void xg_flat_run(const struct xg_problem *o, const struct xg_ukr *u, int threads)
{
  struct job j = {.p = o,
                  .u = u,
                  .packer = xg_ukr_best(o->type, XG_UKR_PACK),
                  .e = (int64_t)xg_sizeof(o->type),
                  .bytes = b_bytes(o, u)};
  struct xg_workspace memory;
  j.stream = streams(o, j.e);
  cut(&j, threads);
  if (o->type == XGEMM_F64)
    j.alpha.d = o->alpha, j.beta.d = o->beta;
  else
    j.alpha.f = (float)o->alpha, j.beta.f = (float)o->beta;
  if (xg_workspace_take(&memory, xg_flat_workspace(o, u, threads)) != 0) {
    xg_loops_bare(o, u, o->k);
    return;
  }
  j.memory = memory.memory;
  j.taken = (struct xg_taken *)(j.memory + (size_t)threads * j.bytes);
  for (int t = 0; t < threads; t++) atomic_init(&j.taken[t].parts, 0);
  if (threads == 1)
    body(0, 1, &j);
  else
    xg_team_run_parts(threads, xg_flops(o) / XG_FLOPS_PER_NS + xg_ideal_bytes(o) / BYTES_PER_NS,
                      body, &j, 0);
  xg_workspace_give(&memory);
}
