/* Products too small for packing to pay. The table is (type, kind) -> kernel, filled once by
 * ukr_find; the kernel itself goes by size class. */
#include "loops_small.h"

#include <string.h>

#include "loops.h"
#include "loops_common.h"
#include "loops_thin.h"
#include "pack.h"
#include "shares.h"
#include "team.h"
#include "ukr_find.h"

enum {
  SLIVER_BYTES = 32 * 1024, /* a sliver of B turned on the stack */
  INPLACE_MK = 256 * 256,   /* elements of A, read again for each sliver of B: L2 holds them */
  SHORT = 16,               /* steps of k that repay no preparations */
  LONG_K = 128, /* columns, or rows, up to which k may be cut: C is read again each time */
  INPLACE_MNK = 256 * 256 * 256, /* beyond it packing has paid for itself, */
  FEW_ROWS = 8,                  /* and so it has for blocks of fewer rows, which read more, */
  FEW_ROWS_MNK = 1024 * 1024     /* beyond this */
};

static int64_t kc_limit(const struct xg_ukr *u)
{
  return min64(XG_RUN, SLIVER_BYTES / (u->nr * (int64_t)xg_sizeof(xg_ukr_type(u))));
}

/* k <= kc_limit(u), without a division. */
static int whole_k(const struct xg_ukr *u, int64_t k)
{
  return k <= XG_RUN && k * u->nr * (int64_t)xg_sizeof(xg_ukr_type(u)) <= SLIVER_BYTES;
}

int64_t xg_small_kc(const struct xg_ukr *u, int64_t k)
{
  const int64_t most = kc_limit(u);
  if (k <= most) return k;
  const int64_t cuts = (k + most - 1) / most;
  return (k + cuts - 1) / cuts;
}

/* Whether a cache maps rows of k elements or of B to few sets, and they are used again by several
 * blocks of rows. */
static inline int few_sets(const struct xg_ukr *u, int64_t m, int64_t k, int64_t rs_b)
{
  enum { FEW_SETS = 1024 };
  return m > u->mr && k > SHORT && rs_b * (int64_t)xg_sizeof(xg_ukr_type(u)) % FEW_SETS == 0;
}

int xg_is_small(const struct xg_problem *o, const struct xg_ukr *u)
{
  const int64_t most = u->mr < FEW_ROWS ? FEW_ROWS_MNK : INPLACE_MNK;
  if (o->c.cs != 1) return 0;
  /* A single block of rows uses every element of B once, a single column every one of A: nothing to
   * pack for. */
  if (o->m <= u->mr || o->n == 1) return 1;
  /* So small a C is read and written again for each piece of k. */
  if (o->m <= LONG_K && o->n <= 3 * u->nr && !few_sets(u, o->m, o->k, o->a.rs)) return 1;
  /* Each factor is bounded before it is multiplied: no overflow. */
  return (o->k <= kc_limit(u) || (o->n <= LONG_K && o->k <= INPLACE_MK)) && o->m <= INPLACE_MK &&
         o->m * o->k <= INPLACE_MK && o->n <= most && o->m * o->k * o->n <= most;
}

/* Whether to copy B, which changes no bit: it does not run along n, or few_sets(). */
static int wants_copy(const struct xg_problem *o, const struct xg_ukr *u)
{
  return (o->b.cs != 1 && o->n != 1) || few_sets(u, o->m, o->k, o->b.rs);
}

/* Rows of a copy need be no longer than the half vectors that will read them. */
static int64_t sliver_width(const struct xg_ukr *u, int64_t n)
{
  const int64_t half = u->nr / 4;
  return min64(u->nr, (n + half - 1) / half * half);
}

/* B is copied, a sliver at a time. */
static __attribute__((noinline)) void copied(const struct xg_problem *o, const struct xg_ukr *u,
                                             int64_t p, int64_t k, const union scalar *alpha,
                                             const union scalar *beta)
{
  _Alignas(64) char sliver[SLIVER_BYTES];
  const int64_t e = (int64_t)xg_sizeof(o->type), nr = u->nr;
  const struct xg_ukr *packer = xg_ukr_best(o->type, XG_UKR_PACK);
  for (int64_t j = 0; j < o->n; j += nr) {
    const int64_t n = min64(nr, o->n - j), width = sliver_width(u, n);
    packer->pack(width, n, k, at(&o->b, e, p, j), o->b.cs, o->b.rs, sliver);
    u->inplace(o->m, n, k, alpha, at(&o->a, e, 0, p), o->a.rs, o->a.cs, sliver, width, beta,
               at(&o->c, e, 0, j), o->c.rs);
  }
}

/* ---------------------------------------------------------------- a last few columns */

/* How many of the last columns of C, too few to fill a quarter of a vector, are better computed as
 * rows of C^T, with vectors along m: A must run along m. (Turning it costs what that saves.) */
static inline int64_t narrow_columns(const struct xg_ukr *u, int64_t m, int64_t n, int64_t k,
                                     int64_t rs_a)
{
  if (rs_a != 1 || m < u->nr || k < SHORT) return 0;
  const int64_t last = n % (u->nr / 2);
  return last <= u->nr / 8 ? last : 0;
}

static void copy_elements(int64_t e, int64_t rows, int64_t cols, char *to, int64_t to_rs,
                          int64_t to_cs, const char *from, int64_t from_rs, int64_t from_cs)
{
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < cols; j++) {
      char *t = to + (i * to_rs + j * to_cs) * e;
      const char *f = from + (i * from_rs + j * from_cs) * e;
      if (e == sizeof(float))
        memcpy(t, f, sizeof(float));
      else
        memcpy(t, f, sizeof(double));
    }
}

/* The last `cols` columns, nr rows at a time, through a piece of C^T. An element's additions and
 * roundings are the kernel's, so its bits are those that the other way gives. */
static __attribute__((noinline)) void narrow(const struct xg_problem *o, const struct xg_ukr *u,
                                             int64_t p, int64_t k, int64_t cols,
                                             const union scalar *alpha, const union scalar *beta)
{
  _Alignas(64) char piece[SLIVER_BYTES / 32];
  const int64_t e = (int64_t)xg_sizeof(o->type), nr = u->nr, j = o->n - cols;
  const int reads = o->type == XGEMM_F64 ? beta->d != 0 : beta->f != 0;
  for (int64_t i = 0; i < o->m; i += nr) {
    const int64_t rows = min64(nr, o->m - i);
    char *c = at(&o->c, e, i, j);
    if (reads) copy_elements(e, rows, cols, piece, 1, nr, c, o->c.rs, 1);
    u->inplace(cols, rows, k, alpha, at(&o->b, e, p, j), o->b.cs, o->b.rs, at(&o->a, e, i, p),
               o->a.cs, beta, piece, nr);
    copy_elements(e, rows, cols, c, o->c.rs, 1, piece, 1, nr);
  }
}

/* ---------------------------------------------------------------- vectors along k */

/* Whether the sums are vectors along k, and the kernel's dot computes the product, its last columns
 * or, for a single row, the transposed one. Columns so few would leave most of a vector along n
 * empty. */
enum way { ALONG_N, DOT, DOT_LAST, DOT_TRANSPOSED };

static inline int64_t last_columns(const struct xg_ukr *u, int64_t n)
{
  return n % (u->nr / 2);
}

static inline enum way way_of(const struct xg_ukr *u, int64_t m, int64_t n, int64_t k, int64_t cs_a,
                              int64_t rs_b)
{
  enum { SHORT_K = 32 }; /* less does not pay for adding lanes */
  if (k < SHORT_K || !u->dot) return ALONG_N;
  if (cs_a == 1 && n <= u->nr / 8) return DOT;
  if (m == 1 && rs_b == 1) return DOT_TRANSPOSED;
  /* One order for all where B may be the transpose of A, so that their product is symmetric. */
  if (m == n && rs_b == 1) return ALONG_N;
  const int64_t last = last_columns(u, n);
  return cs_a == 1 && last > 0 && last <= u->nr / 8 ? DOT_LAST : ALONG_N;
}

/* ---------------------------------------------------------------- the whole product */

static inline void set(union scalar *s, xgemm_type type, double value)
{
  if (type == XGEMM_F64)
    s->d = value;
  else
    s->f = (float)value;
}

static void run(const struct xg_problem *o, const struct xg_ukr *u, enum way way)
{
  const int64_t e = (int64_t)xg_sizeof(o->type);
  const int64_t dot = way == DOT ? o->n : way == DOT_LAST ? last_columns(u, o->n) : 0;
  const int64_t thin = way != ALONG_N ? 0 : narrow_columns(u, o->m, o->n, o->k, o->a.rs);
  union scalar alpha, beta, one;
  set(&alpha, o->type, o->alpha);
  set(&beta, o->type, o->beta);
  set(&one, o->type, 1);
  struct xg_problem main = *o;
  main.n -= thin + dot;
  const int64_t kc = xg_small_kc(u, o->k);
  for (int64_t p = 0; p < o->k; p += kc) {
    const int64_t k = min64(kc, o->k - p);
    const union scalar *scale = p == 0 ? &beta : &one;
    if (thin) narrow(o, u, p, k, thin, &alpha, scale);
    if (dot)
      u->dot(o->m, dot, k, &alpha, at(&o->a, e, 0, p), o->a.rs, at(&o->b, e, p, main.n), o->b.rs,
             o->b.cs, scale, at(&o->c, e, 0, main.n), o->c.rs);
    if (main.n == 0) continue;
    if (way == DOT_TRANSPOSED)
      u->dot(o->n, 1, k, &alpha, at(&o->b, e, p, 0), o->b.cs, at(&o->a, e, 0, p), o->a.cs, 0, scale,
             o->c.data, 1);
    else if (!wants_copy(&main, u))
      u->inplace(main.m, main.n, k, &alpha, at(&o->a, e, 0, p), o->a.rs, o->a.cs,
                 at(&o->b, e, p, 0), o->b.rs, scale, o->c.data, o->c.rs);
    else if (main.b.rs == 1 && u->turned)
      u->turned(main.m, main.n, k, &alpha, at(&o->a, e, 0, p), o->a.rs, o->a.cs, at(&o->b, e, p, 0),
                o->b.cs, scale, o->c.data, o->c.rs);
    else
      copied(&main, u, p, k, &alpha, scale);
  }
}

static enum way whole_way(const struct xg_problem *o, const struct xg_ukr *u)
{
  return way_of(u, o->m, o->n, o->k, o->a.cs, o->b.rs);
}

void xg_small_run(const struct xg_problem *oriented, const struct xg_ukr *inplace)
{
  run(oriented, inplace, whole_way(oriented, inplace));
}

/* ---------------------------------------------------------------- threads */

enum { PIECES = 4, PIECE_NS = 2000 /* shorter ones do not repay asking for them */ };

struct job {
  struct xg_problem p;
  const struct xg_ukr *u;
  struct xg_taken *taken; /* of the pieces, or NULL: each thread has its part */
};

static int64_t vector(const struct xg_ukr *u)
{
  return u->nr > 1 ? u->nr / 2 : 1;
}

/* Into how many parts the rows of C go, the columns into threads / that many: such that the largest
 * part is least. Columns are cut between vectors, so no cache line of an aligned C is written from
 * two sides, and rather than rows, since then each thread reads its own columns of B. Fewer rows
 * than half a tile take as long as that. */
static int rows_of_grid(const struct xg_problem *p, const struct xg_ukr *u, int threads)
{
  const int64_t vectors = (p->n + vector(u) - 1) / vector(u), few = (u->mr + 1) / 2;
  int best = 1;
  int64_t least = INT64_MAX;
  for (int down = 1; down <= threads; down++) {
    if (threads % down != 0) continue;
    const int64_t across = threads / down, rows = (p->m + down - 1) / down;
    const int64_t area = (rows > few ? rows : few) * ((vectors + across - 1) / across);
    if (area < least) best = down, least = area;
  }
  return best;
}

/* Part `id` of that grid; of it, one of `pieces`, by columns if there are enough of them, since a B
 * that must be copied is then copied once. */
static void run_piece(const struct job *j, int id, int threads, int64_t piece, int64_t pieces)
{
  struct xg_problem part = j->p;
  const int64_t e = (int64_t)xg_sizeof(part.type), v = vector(j->u);
  const int down = rows_of_grid(&part, j->u, threads), across = threads / down;
  const int64_t vectors = (part.n + v - 1) / v, y = id / across, x = id % across;
  int64_t i = part.m * y / down, rows = part.m * (y + 1) / down - i;
  int64_t first = vectors * x / across, width = vectors * (x + 1) / across - first;
  if (width >= pieces) {
    first += xg_share(width, piece, pieces);
    width = xg_share(width, piece + 1, pieces) - xg_share(width, piece, pieces);
  } else {
    i += xg_share(rows, piece, pieces);
    rows = xg_share(rows, piece + 1, pieces) - xg_share(rows, piece, pieces);
  }
  const int64_t col = first * v, columns = min64((first + width) * v, part.n) - col;
  if (rows <= 0 || columns <= 0) return;
  part.a.data = at(&part.a, e, i, 0);
  part.b.data = at(&part.b, e, 0, col);
  part.c.data = at(&part.c, e, i, col);
  part.m = rows, part.n = columns;
  run(&part, j->u, whole_way(&j->p, j->u)); /* not the part's: it may have a single row */
}

static void body(int id, int threads, void *context)
{
  const struct job *j = context;
  if (!j->taken) {
    run_piece(j, id, threads, 0, 1);
    return;
  }
  const int64_t count = (int64_t)threads * PIECES;
  for (int64_t unit; (unit = xg_take(j->taken, count, id, threads)) < count;)
    run_piece(j, (int)(unit / PIECES), threads, unit % PIECES, PIECES);
}

/* Among many threads one is often late, having lost its core: parts are then in pieces, which
 * others may take. */
void xg_small_run_threads(const struct xg_problem *oriented, const struct xg_ukr *inplace,
                          int threads, double ns)
{
  enum { MANY = 4, MOST = 64 };
  if (threads == 1) {
    run(oriented, inplace, whole_way(oriented, inplace));
    return;
  }
  struct xg_taken taken[MOST];
  struct job j = {*oriented, inplace, NULL};
  if (threads >= MANY && threads <= MOST && ns >= (double)threads * PIECES * PIECE_NS) {
    for (int t = 0; t < threads; t++) atomic_init(&taken[t].parts, 0);
    j.taken = taken;
  }
  xg_team_run_parts(threads, ns, body, &j, sizeof j);
}

/* ---------------------------------------------------------------- the tiny path */

static __attribute__((noinline)) int tiny_otherwise(const struct xg_problem *p)
{
  const struct xg_ukr *u = xg_ukr_best(p->type, XG_UKR_INPLACE);
  struct xg_problem o;
  if (!whole_k(u, p->k)) return 0;
  xg_orient(p, &o);
  run(&o, u, whole_way(&o, u));
  return 1;
}

/* xg_is_better_transposed(p) as given; its fields are picked one by one, see xg_cpu_tiny(). */
static __attribute__((noinline)) int tiny_dot(const struct xg_problem *p, const struct xg_ukr *u,
                                              int transposed)
{
  const struct xg_operand *a = transposed ? &p->b : &p->a, *b = transposed ? &p->a : &p->b;
  const int64_t m = transposed ? p->n : p->m, n = transposed ? p->m : p->n;
  union scalar alpha, beta;
  set(&alpha, p->type, p->alpha);
  set(&beta, p->type, p->beta);
  u->dot(m, n, p->k, &alpha, a->data, transposed ? a->cs : a->rs, b->data,
         transposed ? b->cs : b->rs, transposed ? b->rs : b->cs, &beta, p->c.data,
         transposed ? p->c.cs : p->c.rs);
  return 1;
}

/* An oriented product with unit stride along the rows of C. Whatever is not the plain case leaves
 * by a call at the end, so that no register has to be saved for it. */
static inline __attribute__((always_inline)) int
tiny(const struct xg_problem *p, int64_t m, int64_t n, const struct xg_operand *a, int64_t rs_a,
     int64_t cs_a, const struct xg_operand *b, int64_t rs_b, int64_t cs_b, int64_t rs_c)
{
  const struct xg_ukr *u = atomic_load_explicit(
      &xg_ukr_chosen[p->type == XGEMM_F64][XG_UKR_INPLACE], memory_order_acquire);
  if (!u) return tiny_otherwise(p);
  if (p->k >= SHORT) { /* a shorter one goes along n, as it is */
    if (!whole_k(u, p->k)) return tiny_otherwise(p);
    const enum way way = way_of(u, m, n, p->k, cs_a, rs_b);
    if (way == DOT) return tiny_dot(p, u, a == &p->b);
    if (way != ALONG_N || few_sets(u, m, p->k, rs_b) || narrow_columns(u, m, n, p->k, rs_a))
      return tiny_otherwise(p);
  }
  if (cs_b != 1 && n != 1) return tiny_otherwise(p);
  union scalar alpha, beta;
  set(&alpha, p->type, p->alpha);
  set(&beta, p->type, p->beta);
  u->inplace(m, n, p->k, &alpha, a->data, rs_a, cs_a, b->data, rs_b, &beta, p->c.data, rs_c);
  return 1;
}

static __attribute__((noinline)) int tiny_scale(const struct xg_problem *p)
{
  if (!xg_is_nothing(p)) xg_scale_host(p);
  return 1;
}

/* The fields are picked one by one: xg_orient() copies the whole, reading in vectors what the front
 * end has just written in words, and that stalls for longer than the smallest products take. */
int xg_cpu_tiny(const struct xg_problem *p)
{
  if (xg_is_scale_only(p)) return tiny_scale(p);
  if (!xg_is_tiny(p)) return xg_cpu_direct(p);
  if (xg_is_better_transposed(p))
    return tiny(p, p->n, p->m, &p->b, p->b.cs, p->b.rs, &p->a, p->a.cs, p->a.rs, p->c.cs);
  if (p->c.cs == 1 || p->n == 1)
    return tiny(p, p->m, p->n, &p->a, p->a.rs, p->a.cs, &p->b, p->b.rs, p->b.cs, p->c.rs);
  return 0;
}

int xg_small_direct(const struct xg_problem *p)
{
  const struct xg_ukr *u = xg_ukr_best(p->type, XG_UKR_INPLACE);
  struct xg_problem o;
  xg_orient(p, &o);
  if (xg_is_thin(&o, xg_ukr_best(p->type, XG_UKR_STREAM)) || !xg_is_small(&o, u)) return 0;
  run(&o, u, whole_way(&o, u));
  return 1;
}
