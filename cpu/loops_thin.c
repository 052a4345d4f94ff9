/* Thin products: C (l x s) = W (l x k) * S (k x s), s <= 16, where W is read once and is nearly all
 * of the memory traffic. The small matrix S is packed, or read where it is if it lies as packing
 * would lay it (a single column does); W never is packed. What matters is how W is walked:
 *
 *   - dot: W runs along k. A few rows of it (MR) at a time, each from end to end in pieces of PIECE
 *     bytes, the next piece prefetched meanwhile. Sums stay in L1 until the rows are through.
 *   - spread: the same for an s that nearly fills whole vectors: they run along s, and W is spread
 *     over them. Fewer loads for each multiplication, and no lanes to add.
 *   - axpy: W runs along l. A few steps of k (8 to 32) at a time, each a long run along l; the sums
 *     of that stretch of l stay in L2. So whole pages are read one after the other, whatever the
 *     leading dimension.
 *
 * Threads share l, taking parts of it where it is long, and rarely wait for one another: axpy packs
 * a few steps of S on the stack as it goes, and for dot and spread each thread packs an S of its
 * own where l is long enough for that. Each element is summed by one thread in an order that ukr.h
 * states: its bits depend on the form, s, k and the vector length, not on threads or blocks.
 */
#include "loops_thin.h"

#include "loops_small.h"
#include "loops_common.h"
#include "pack.h"
#include "shares.h"
#include "team.h"
#include "ukr_find.h"
#include "workspace.h"

enum {
  ALIGN = 64,
  PIECE = 4096,      /* bytes of a row of W that a dot step reads */
  SUMS = 256 * 1024, /* bytes of axpy sums: they share L2 with what is prefetched */
  AHEAD = 1024,      /* bytes that axpy prefetches ahead along l, */
  AHEAD_FEW = 2048,  /* for few columns, but for a single one, */
  AHEAD_NEAR = 512,  /* and for few columns from a cache: */
  FEW = 4,           /* more are not so fast that it would matter where W is */
  STEPS = 32,        /* of k that it takes at a time, at most, */
  PORTION = 128,     /* and that it packs of S at a time: whole groups of those */
  OWN_L = 64,        /* rows of W for each column of S and thread that repay an S of its own */
  DOT_K = 64,        /* shorter rows do not pay for adding up the lanes, */
  DOTS_K = 128,      /* even these do not with four columns or more */
  AXPY_L = 64,       /* shorter runs do not pay for the start */
  AXPY_K = 8,
  MOST_TAKERS = 64,
  IN_CACHE = 1 << 20 /* bytes of W that need no care for memory: the in-place kernel is faster */
};

enum form { DOT, SPREAD, AXPY };

struct thin { /* the product seen as W times S */
  enum form form;
  int64_t l, s, k, e;
  int64_t width; /* elements of packed S for a step of k */
  const char *w, *small;
  int ready;        /* S need not be packed */
  int64_t l_w, k_w; /* strides of W, in elements */
  int64_t s_s, k_s; /* of S */
  char *c;
  int64_t l_c, s_c;
};

struct job {
  struct thin t;
  const struct xg_ukr *u, *packer;
  union scalar alpha, beta;
  char *memory; /* NULL: none could be had */
  size_t own;   /* bytes of it for each thread; 0: all share a packed S */
  struct xg_barrier barrier;
  int64_t parts; /* of l that threads take one after the other; 0: each has its share */
  struct xg_taken *taken;
};

/* Of the short side XG_STREAM_S from `from` on: a forced kernel goes over a longer one in strips.
 */
static struct thin view(const struct xg_problem *o, const struct xg_ukr *u, int64_t from)
{
  struct thin t = {.k = o->k, .e = (int64_t)xg_sizeof(o->type), .c = o->c.data};
  if (o->n <= o->m) {
    t.l = o->m, t.s = o->n;
    t.w = o->a.data, t.l_w = o->a.rs, t.k_w = o->a.cs;
    t.small = o->b.data, t.s_s = o->b.cs, t.k_s = o->b.rs;
    t.l_c = o->c.rs, t.s_c = o->c.cs;
  } else {
    t.l = o->n, t.s = o->m;
    t.w = o->b.data, t.l_w = o->b.cs, t.k_w = o->b.rs;
    t.small = o->a.data, t.s_s = o->a.rs, t.k_s = o->a.cs;
    t.l_c = o->c.cs, t.s_c = o->c.rs;
  }
  t.s = min64(t.s - from, XG_STREAM_S);
  t.small += from * t.s_s * t.e;
  t.c += from * t.s_c * t.e;
  const int64_t vectors = round_up(t.s, u->nr);
  t.form = t.k_w != 1 ? AXPY : u->stream->spread && 8 * t.s >= 7 * vectors ? SPREAD : DOT;
  t.width = t.form == SPREAD ? vectors : t.s;
  t.ready = t.k_s == t.width && (t.s == 1 || (t.form != DOT && t.s == t.width && t.s_s == 1));
  return t;
}

/* Whether W stays in L2 and the in-place kernel, which packs nothing, is the faster: as its B where
 * W runs along l, as its A where the columns that W is spread over fill half a vector. */
static int is_cached(const struct xg_problem *o, const struct thin *t)
{
  enum { HALF = 32 };
  return t->l <= IN_CACHE / (t->k * t->e) &&
         (o->n > o->m ? t->form == AXPY : t->s * t->e >= HALF) &&
         xg_is_small(o, xg_ukr_best(o->type, XG_UKR_INPLACE));
}

/* Whether L3 is likely to hold W; k may be 0 while a call is planned. */
static int is_near(const struct thin *t)
{
  return (double)t->l * (double)t->k * (double)t->e <= XG_STREAM_NEAR;
}

int xg_thin_serves(const struct xg_problem *o, const struct xg_ukr *u)
{
  const struct thin t = view(o, u, 0);
  return t.form != AXPY || t.l_w == 1;
}

int xg_is_thin(const struct xg_problem *o, const struct xg_ukr *u)
{
  if (!u || (o->m > XG_STREAM_S && o->n > XG_STREAM_S)) return 0;
  if (xg_is_tiny(o) || !xg_thin_serves(o, u)) return 0;
  const struct thin t = view(o, u, 0);
  if (t.l < 2 * t.s && t.s > 1) return 0; /* packing S would be too much of the work */
  const int pays =
      t.form == AXPY ? t.l >= AXPY_L && t.k >= AXPY_K : t.k >= (t.s >= 4 ? DOTS_K : DOT_K);
  return pays && !is_cached(o, &t);
}

/* ---------------------------------------------------------------- dot */

static int64_t piece_of(const struct job *j)
{
  return round_up(PIECE / j->t.e, j->u->nr);
}

/* Packs steps p .. p+k-1 of S; p is a multiple of the vector length. */
static void pack_small(const struct job *j, int64_t p, int64_t k, char *to)
{
  const struct thin *t = &j->t;
  const char *from = t->small + p * t->k_s * t->e;
  if (t->form == DOT)
    xg_pack(j->packer, (size_t)t->e, j->u->nr, k, t->s, from, t->k_s, t->s_s, to);
  else
    xg_pack(j->packer, (size_t)t->e, t->width, t->s, k, from, t->s_s, t->k_s, to);
}

/* `rows` rows of W from `first` on, over all of k. Without packed S it is packed piece by piece. */
static void dot_rows(const struct job *j, const char *packed, int64_t first, int64_t rows,
                     char *piece_buffer)
{
  enum { MOST_ROWS = 8, VECTOR = 64 };
  _Alignas(ALIGN) char sums[MOST_ROWS * XG_STREAM_S * VECTOR];
  const struct thin *t = &j->t;
  const int64_t piece = piece_of(j);
  struct xg_stream x = {
      .l = rows, .s = t->s, .ld = t->l_w, .sums = sums, .first = 1, .near = is_near(t)};
  for (int64_t p = 0; p < t->k; p += piece, x.first = 0) {
    x.k = min64(piece, t->k - p);
    x.w = t->w + (first * t->l_w + p) * t->e;
    x.ahead = p + piece < t->k ? piece : rows * t->l_w - p;
    x.small = packed ? packed + p * t->width * t->e : piece_buffer;
    if (!packed) pack_small(j, p, x.k, piece_buffer);
    (t->form == DOT ? j->u->stream->dot : j->u->stream->spread)(&x);
  }
  const struct xg_stream_end end = {.l = rows,
                                    .s = t->s,
                                    .sums = sums,
                                    .alpha = &j->alpha,
                                    .beta = &j->beta,
                                    .c = t->c + first * t->l_c * t->e,
                                    .l_c = t->l_c,
                                    .s_c = t->s_c};
  (t->form == DOT ? j->u->stream->dot_end : j->u->stream->spread_end)(&end);
}

static void dot_range(const struct job *j, const char *packed, int64_t first, int64_t last)
{
  const int64_t step = j->u->mr;
  for (int64_t r = first; r < last; r += step) dot_rows(j, packed, r, min64(step, last - r), NULL);
}

static __attribute__((noinline)) void dot_without_memory(const struct job *j)
{
  _Alignas(ALIGN) char piece[XG_STREAM_S * PIECE];
  const int64_t step = j->u->mr;
  for (int64_t r = 0; r < j->t.l; r += step) dot_rows(j, NULL, r, min64(step, j->t.l - r), piece);
}

/* ---------------------------------------------------------------- axpy */

static int64_t stretch(const struct thin *t, const struct xg_ukr *u)
{
  const int64_t step = 8 * u->nr;
  return min64(SUMS / (t->s * t->e) / step * step, round_up(t->l, step));
}

static int64_t steps_of(const struct thin *t)
{
  if (is_near(t)) return t->s == 1 ? 8 : t->s <= FEW ? 16 : STEPS;
  return t->s <= FEW ? 8 : t->s <= 8 ? 16 : STEPS;
}

static int is_one_group(const struct thin *t)
{
  return t->k <= XG_STREAM_GROUP * steps_of(t);
}

/* Few columns of a W in a cache: how it comes from there is what matters. */
static int is_fast(const struct thin *t)
{
  return is_near(t) && t->s <= FEW;
}

/* No further than the run is long: what comes next is its next steps, not other threads' rows. */
static int64_t ahead_of(const struct thin *t, int64_t run)
{
  const int64_t far = t->s > 1 && t->s <= FEW ? AHEAD_FEW : AHEAD;
  return min64((is_fast(t) ? AHEAD_NEAR : far) / t->e, run);
}

/* Rows l .. l+run-1 of W. */
static void axpy_run(const struct job *j, int64_t l, int64_t run, char *sums, char *total)
{
  _Alignas(ALIGN) char packed[PORTION * XG_STREAM_S * sizeof(double)];
  const struct thin *t = &j->t;
  const int64_t steps = steps_of(t), group = XG_STREAM_GROUP * steps;
  struct xg_stream x = {.l = run,
                        .s = t->s,
                        .ld = t->k_w,
                        .sums = sums,
                        .ahead = ahead_of(t, run),
                        .next = steps * t->k_w,
                        .near = is_fast(t)};
  for (int64_t p = 0; p < t->k; p += steps) {
    x.k = min64(steps, t->k - p);
    x.w = t->w + (l + p * t->k_w) * t->e;
    if (!t->ready && p % PORTION == 0) pack_small(j, p, min64(PORTION, t->k - p), packed);
    x.small = t->ready ? t->small + p * t->s * t->e : packed + p % PORTION * t->s * t->e;
    x.first = p % group == 0;
    x.total = (p + steps) % group == 0 || p + steps >= t->k ? total : NULL;
    x.total_first = p < group;
    j->u->stream->axpy(&x);
  }
  const struct xg_stream_end end = {.l = run,
                                    .s = t->s,
                                    .sums = total,
                                    .alpha = &j->alpha,
                                    .beta = &j->beta,
                                    .c = t->c + l * t->l_c * t->e,
                                    .l_c = t->l_c,
                                    .s_c = t->s_c};
  j->u->stream->axpy_end(&end);
}

/* Beyond the sums of `most` rows; a single group of chains needs none of its own. */
static char *total_of(const struct thin *t, int64_t most, char *sums)
{
  return is_one_group(t) ? sums : sums + most * t->s * t->e;
}

static void axpy_range(const struct job *j, int64_t first, int64_t last, char *sums)
{
  const int64_t most = stretch(&j->t, j->u);
  char *total = total_of(&j->t, most, sums);
  for (int64_t l = first; l < last; l += most) axpy_run(j, l, min64(most, last - l), sums, total);
}

static __attribute__((noinline)) void axpy_without_memory(const struct job *j)
{
  enum { VECTORS = 4, VECTOR = 64 };
  _Alignas(ALIGN) char sums[2 * XG_STREAM_S * VECTORS * VECTOR];
  const int64_t most = VECTORS * j->u->nr;
  char *total = total_of(&j->t, most, sums);
  for (int64_t l = 0; l < j->t.l; l += most) axpy_run(j, l, min64(most, j->t.l - l), sums, total);
}

/* ---------------------------------------------------------------- threads and memory */

/* Share `id` of `shares` of 0 .. size-1 in units of `step`. */
static void share(int64_t size, int64_t step, int64_t id, int64_t shares, int64_t *first,
                  int64_t *last)
{
  const int64_t units = ceil_div(size, step);
  *first = min64(xg_share(units, id, shares) * step, size);
  *last = min64(xg_share(units, id + 1, shares) * step, size);
}

/* In which l is shared out: whole blocks of rows, if there are so many that their number does not
 * matter; lines of C. */
static int64_t unit_of(const struct thin *t, const struct xg_ukr *u, int threads)
{
  enum { MANY = 16 };
  return t->form == AXPY ? 2 * u->nr : t->l >= MANY * u->mr * threads ? u->mr : 1;
}

/* Into how many parts that threads take one after the other, since cores differ in speed from one
 * moment to the next: several for each where they are still long. 0: each has its share. */
static int64_t parts_of(const struct thin *t, const struct xg_ukr *u, int threads)
{
  enum { EACH = 8, LEAST_BYTES = 256 * 1024, LEAST_RUN = 32 * 1024 };
  const double run = (double)t->l * (double)t->e;
  const double parts = t->form == AXPY ? run / LEAST_RUN : run * (double)t->k / LEAST_BYTES;
  const int64_t units = t->l / unit_of(t, u, threads);
  if (threads > MOST_TAKERS || parts < 2 * threads || units < 2 * threads) return 0;
  return min64(units, parts < EACH * threads ? (int64_t)parts : EACH * threads);
}

/* Packs S: for this thread, or a share of it for all. */
static const char *packed_by(struct job *j, int id, int threads)
{
  const struct thin *t = &j->t;
  char *packed = j->memory + (size_t)id * j->own;
  int64_t first = 0, last = t->k;
  if (t->ready) return t->small;
  if (j->own == 0) share(t->k, j->u->nr, id, threads, &first, &last);
  if (first < last) pack_small(j, first, last - first, packed + first * t->width * t->e);
  if (j->own == 0 && threads > 1) xg_barrier_wait_n(&j->barrier, threads);
  return packed;
}

/* Part `part` of `parts` of l. S is packed when the first part needs it, if it is not yet. */
static void run_part(struct job *j, int id, int threads, int64_t part, int64_t parts,
                     const char **packed)
{
  int64_t first, last;
  share(j->t.l, unit_of(&j->t, j->u, threads), part, parts, &first, &last);
  if (j->t.form == AXPY) {
    axpy_range(j, first, last, j->memory + (size_t)id * j->own);
    return;
  }
  if (!*packed) *packed = packed_by(j, id, threads);
  dot_range(j, *packed, first, last);
}

static void body(int id, int threads, void *context)
{
  struct job *j = context;
  const char *packed = j->own == 0 ? packed_by(j, id, threads) : NULL;
  if (j->parts == 0) {
    run_part(j, id, threads, id, threads, &packed);
    return;
  }
  for (int64_t part; (part = xg_take(j->taken, j->parts, id, threads)) < j->parts;)
    run_part(j, id, threads, part, j->parts, &packed);
}

static size_t packed_bytes(const struct thin *t, const struct xg_ukr *u)
{
  return t->ready ? 0 : (size_t)round_up(t->width * round_up(t->k, u->nr) * t->e, ALIGN);
}

static size_t sums_bytes(const struct thin *t, const struct xg_ukr *u)
{
  const int64_t sums = round_up(stretch(t, u) * t->s * t->e, ALIGN);
  return (size_t)(is_one_group(t) ? sums : 2 * sums);
}

/* Whether `threads` threads need not wait for one another. */
static int is_loose(const struct thin *t, int threads)
{
  return t->form == AXPY || t->ready || t->l >= OWN_L * t->s * threads;
}

/* Bytes that each thread has for itself. */
static size_t own_bytes(const struct thin *t, const struct xg_ukr *u, int threads)
{
  return t->form == AXPY ? sums_bytes(t, u) : is_loose(t, threads) ? packed_bytes(t, u) : 0;
}

size_t xg_thin_workspace(const struct xg_problem *o, const struct xg_ukr *u, int threads)
{
  const struct thin t = view(o, u, 0);
  const size_t own = own_bytes(&t, u, threads);
  return own > 0 ? (size_t)threads * own : packed_bytes(&t, u);
}

int xg_thin_is_loose(const struct xg_problem *o, const struct xg_ukr *u)
{
  const struct thin t = view(o, u, 0);
  return is_loose(&t, 2);
}

static void run_strip(struct job *j, int threads, double ns)
{
  const int64_t units = j->t.l / unit_of(&j->t, j->u, threads) + 1;
  if (threads > units) threads = (int)units;
  j->own = own_bytes(&j->t, j->u, threads);
  j->parts = threads > 1 ? parts_of(&j->t, j->u, threads) : 0;
  if (j->parts > 0)
    for (int t = 0; t < threads; t++) atomic_init(&j->taken[t].parts, 0);
  if (threads == 1)
    body(0, 1, j);
  else if (is_loose(&j->t, threads))
    xg_team_run_parts(threads, ns, body, j, sizeof *j);
  else
    xg_team_run(threads, body, j);
}

static void run_without_memory(const struct job *j)
{
  if (j->t.form == AXPY)
    axpy_without_memory(j);
  else
    dot_without_memory(j);
}

void xg_thin_run(const struct xg_problem *o, const struct xg_ukr *u, int threads, double ns)
{
  struct xg_taken counters[MOST_TAKERS];
  struct job j = {.u = u, .packer = xg_ukr_best(o->type, XG_UKR_PACK), .taken = counters};
  struct xg_workspace memory = {NULL, -1};
  if (o->type == XGEMM_F64)
    j.alpha.d = o->alpha, j.beta.d = o->beta;
  else
    j.alpha.f = (float)o->alpha, j.beta.f = (float)o->beta;
  const size_t bytes = xg_thin_workspace(o, u, threads);
  const int taken = bytes > 0 && xg_workspace_take(&memory, bytes) == 0;
  j.memory = memory.memory;
  for (int64_t i = 0; i < min64(o->m, o->n); i += XG_STREAM_S) {
    j.t = view(o, u, i);
    if (bytes == 0 || taken)
      run_strip(&j, threads, ns);
    else
      run_without_memory(&j);
  }
  if (taken) xg_workspace_give(&memory);
}
