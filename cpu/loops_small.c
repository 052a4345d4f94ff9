/* Products too small for packing to pay. The table is (type, kind) -> kernel, filled once by
 * ukr_find; the kernel itself goes by size class. */
#include "loops_small.h"

#include "loops.h"
#include "pack.h"
#include "team.h"
#include "ukr_find.h"

enum {
  SLIVER_BYTES = 32 * 1024,      /* a sliver of B turned on the stack */
  INPLACE_MK = 256 * 256,        /* elements of A, read again for each sliver of B: L2 holds them */
  INPLACE_MNK = 256 * 256 * 256, /* beyond it packing has paid for itself */
  TINY_MNK = 40 * 40 * 40,       /* below it a second thread does not pay */
  TINY_SIDE = 256
};

union scalar {
  float f;
  double d;
};

static int64_t min64(int64_t a, int64_t b)
{
  return a < b ? a : b;
}

static char *at(const struct xg_operand *x, int64_t e, int64_t i, int64_t j)
{
  return (char *)x->data + (i * x->rs + j * x->cs) * e;
}

static int64_t kc_limit(const struct xg_ukr *u)
{
  return SLIVER_BYTES / (u->nr * (int64_t)xg_sizeof(xg_ukr_type(u)));
}

int64_t xg_small_kc(const struct xg_ukr *u, int64_t k)
{
  const int64_t most = kc_limit(u);
  if (k <= most) return k;
  const int64_t cuts = (k + most - 1) / most;
  return (k + cuts - 1) / cuts;
}

int xg_is_small(const struct xg_problem *o, const struct xg_ukr *u)
{
  if (o->c.cs != 1) return 0;
  /* A single block of rows uses every element of B once, a single column every one of A: nothing to
   * pack for. */
  if (o->m <= u->mr || o->n == 1) return 1;
  /* Each factor is bounded before it is multiplied: no overflow. */
  return o->k <= kc_limit(u) && o->m <= INPLACE_MK && o->m * o->k <= INPLACE_MK &&
         o->n <= INPLACE_MNK && o->m * o->k * o->n <= INPLACE_MNK;
}

/* Whether to copy B, which changes no bit: it does not run along n, or its rows lie so that a cache
 * maps them to few sets and they are used by several blocks of rows. */
static int wants_copy(const struct xg_problem *o, const struct xg_ukr *u)
{
  enum { FEW_SETS = 1024 };
  if (o->b.cs != 1 && o->n != 1) return 1;
  return o->m > u->mr && o->k > 16 && o->b.rs * (int64_t)xg_sizeof(o->type) % FEW_SETS == 0;
}

/* B is copied, a sliver at a time. */
static __attribute__((noinline)) void copied(const struct xg_problem *o, const struct xg_ukr *u,
                                             int64_t p, int64_t k, const union scalar *alpha,
                                             const union scalar *beta)
{
  _Alignas(64) char sliver[SLIVER_BYTES];
  const struct xg_ukr *packer = xg_ukr_best(o->type, XG_UKR_PACK);
  const int64_t e = (int64_t)xg_sizeof(o->type), nr = u->nr;
  for (int64_t j = 0; j < o->n; j += nr) {
    const int64_t n = min64(nr, o->n - j);
    packer->pack(nr, n, k, at(&o->b, e, p, j), o->b.cs, o->b.rs, sliver);
    u->inplace(o->m, n, k, alpha, at(&o->a, e, 0, p), o->a.rs, o->a.cs, sliver, nr, beta,
               at(&o->c, e, 0, j), o->c.rs);
  }
}

static inline void run(const struct xg_problem *o, const struct xg_ukr *u)
{
  const int64_t e = (int64_t)xg_sizeof(o->type);
  union scalar alpha, beta, one;
  if (o->type == XGEMM_F64) {
    alpha.d = o->alpha, beta.d = o->beta, one.d = 1;
  } else {
    alpha.f = (float)o->alpha, beta.f = (float)o->beta, one.f = 1;
  }
  const int64_t kc = xg_small_kc(u, o->k);
  for (int64_t p = 0; p < o->k; p += kc) {
    const int64_t k = min64(kc, o->k - p);
    const union scalar *scale = p == 0 ? &beta : &one;
    if (!wants_copy(o, u))
      u->inplace(o->m, o->n, k, &alpha, at(&o->a, e, 0, p), o->a.rs, o->a.cs, at(&o->b, e, p, 0),
                 o->b.rs, scale, o->c.data, o->c.rs);
    else
      copied(o, u, p, k, &alpha, scale);
  }
}

void xg_small_run(const struct xg_problem *oriented, const struct xg_ukr *inplace)
{
  run(oriented, inplace);
}

/* ---------------------------------------------------------------- threads */

struct job {
  const struct xg_problem *p;
  const struct xg_ukr *u;
};

/* Strips of columns if there are enough for all, else blocks of rows: whole vectors either way. */
static void body(int id, int threads, void *context)
{
  const struct job *j = context;
  struct xg_problem part = *j->p;
  const int64_t e = (int64_t)xg_sizeof(part.type), nr = j->u->nr;
  const int64_t strips = (part.n + nr - 1) / nr;
  const int by_columns = strips % threads == 0 || strips >= 4 * threads || part.m < 4 * threads;
  const int64_t step = by_columns ? nr : 1, count = by_columns ? strips : part.m;
  const int64_t first = count * id / threads * step;
  const int64_t last = min64(count * (id + 1) / threads * step, by_columns ? part.n : part.m);
  if (first >= last) return;
  if (by_columns) {
    part.b.data = at(&part.b, e, 0, first);
    part.c.data = at(&part.c, e, 0, first);
    part.n = last - first;
  } else {
    part.a.data = at(&part.a, e, first, 0);
    part.c.data = at(&part.c, e, first, 0);
    part.m = last - first;
  }
  run(&part, j->u);
}

void xg_small_run_threads(const struct xg_problem *oriented, const struct xg_ukr *inplace,
                          int threads)
{
  struct job j = {oriented, inplace};
  if (threads == 1)
    run(oriented, inplace);
  else
    xg_team_run(threads, body, &j);
}

/* ---------------------------------------------------------------- the tiny path */

int xg_cpu_tiny(const struct xg_problem *p)
{
  if (xg_is_scale_only(p)) {
    xg_scale_host(p);
    return 1;
  }
  if (p->m > TINY_SIDE || p->n > TINY_SIDE || p->k > TINY_SIDE || p->m * p->n * p->k > TINY_MNK)
    return 0;
  struct xg_problem o;
  xg_orient(p, &o);
  const struct xg_ukr *u = xg_ukr_best(p->type, XG_UKR_INPLACE);
  if (!xg_is_small(&o, u)) return 0;
  run(&o, u);
  return 1;
}
