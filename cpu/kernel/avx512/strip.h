/* The STRIP kernels' bodies (ukr.h), for the type that the including file has set up: real, vec, VL
 * and the helpers load, load_part, store, store_part, store_past, splat, add, mul, fmadd.
 *
 *             b[0..]    b[VL..]   b[2VL..]        zmm registers
 *            +---------+---------+---------+         24  sums, 8 rows x 3 vectors
 *     a[0]   | sum[0]  |         |         |          3  a row of B
 *      :     |    :    |    :    |    :    |          1  an element of A, broadcast
 *     a[7]   | sum[7]  |         |         |  -->     1  what is copied
 *            +---------+---------+---------+         29  of 32
 *
 * One k step: 24 FMAs, 3 vector loads, 8 broadcast loads. Bound by the FMA units like the 8 x 3
 * panel kernels, whose rows it shares: no more of them than an L1 has ways, so that a power of two
 * as leading dimension evicts none. The tiles of a strip follow one another along the rows of C:
 * runs of whole pages, whatever the leading dimension.
 *
 * A store takes registers' read ports away from FMAs (Zen 4: two cycles for 64 bytes), more so when
 * many come in a row. Where beta = 0 whole tiles are therefore written while the next one begins.
 *
 * What is copied goes through a register, a vector at a time: its loads wait for memory
 * while the FMAs go on. It is spread over all steps: a core has few buffers for lines on their way
 * from memory, and once they are taken the FMAs wait too.
 */
enum { MR = 8, VECS = 3, PREFETCH = 8, LINE = 64 };
enum kind { STORE, SUM };

/* A copy at work: registers while in the loop. */
struct place {
  const real *from;
  real *to;
  int64_t left;
};

static __attribute__((noinline)) struct place next_row(struct xg_copy **at, const real *from,
                                                       real *to, int64_t left)
{
  struct xg_copy *x = *at;
  if (to) store_part(to, load_part(from, left), left);
  if (x->rows > 0) {
    x->rows--;
    x->from = (const real *)x->from + x->from_ld;
    if (x->to) x->to = (real *)x->to + x->to_ld;
  } else {
    *at = x = x->next;
    if (!x) return (struct place){from, to, 0};
  }
  x->left = x->cols;
  return (struct place){x->from, x->to, x->cols};
}

/* `from` and `to` stay at the row's start, `left` tells how far it has come. */
static inline struct place resume(const struct xg_copy *x)
{
  if (!x) return (struct place){NULL, NULL, 0};
  const int64_t done = x->cols - x->left;
  return (struct place){(const real *)x->from + done, x->to ? (real *)x->to + done : NULL, x->left};
}

/* A vector, to nowhere too. Returns where the next one goes. */
static inline real *pass(const real *from, real *to)
{
  if (!to) return NULL;
  store(to, load(from));
  return to + VL;
}

static void copy_rest(struct xg_copy *x)
{
  struct place t = resume(x);
  while (t.left > 0) {
    for (; t.left > VL; t.from += VL, t.left -= VL) {
      __builtin_prefetch(t.from + x->ahead);
      t.to = pass(t.from, t.to);
    }
    t = next_row(&x, t.from, t.to, t.left);
  }
}

static inline __attribute__((always_inline)) const real *row(const real *a, int64_t bytes)
{
  return (const real *)((const char *)a + bytes);
}

/* What becomes of a row of sums. */
static inline __attribute__((always_inline)) void finish(const int vecs, const struct xg_strip *x,
                                                         real *c, const vec *sum, int64_t part)
{
  const real alpha = *(const real *)x->alpha, beta = *(const real *)x->beta;
#pragma GCC unroll 3
  for (int v = 0; v < vecs; v++, c += VL) {
    const int64_t n = v < vecs - 1 ? VL : part;
    vec r = sum[v];
    if (beta != 0)
      r = fmadd(splat(alpha), r, mul(splat(beta), n == VL ? load(c) : load_part(c, n)));
    else if (alpha != 1)
      r = mul(splat(alpha), r);
    if (n < VL)
      store_part(c, r, n);
    else if (x->stream)
      store_past(c, r);
    else
      store(c, r);
  }
}

static inline __attribute__((always_inline)) void tile(const int rows, const int vecs,
                                                       const enum kind kind, struct xg_strip *x,
                                                       const real *b, real *c, int64_t part)
{
  vec sum[MR][VECS];
  const int64_t rs_c = x->rs_c, rs_b = x->rs_b ? x->rs_b : vecs * VL, cs = x->cs_a;
  const int64_t rs = x->rs_a * (int64_t)sizeof(real), fetch_b = PREFETCH * rs_b;
  const real *a0 = x->a, *a3 = row(a0, 3 * rs), *a6 = row(a3, 3 * rs);
#pragma GCC unroll 8
  for (int i = 0; i < rows; i++)
#pragma GCC unroll 3
    for (int v = 0; v < vecs; v++) sum[i][v] = splat(0);
  if (kind == STORE && !x->stream) {
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 3
      for (int v = 0; v < vecs; v++) __builtin_prefetch(c + i * rs_c + (vecs + v) * VL, 1);
  }
  struct place t = resume(kind == SUM ? x->copy : NULL);
  uint32_t due = 0;
  const int64_t ahead = kind == SUM && x->copy ? x->copy->ahead : 0;
#pragma GCC unroll 1
  for (int64_t p = x->k; p > 0; p--) {
    vec y[VECS];
#pragma GCC unroll 3
    for (int v = 0; v < vecs; v++) {
      y[v] = v < vecs - 1 ? load(b + v * VL) : load_part(b + v * VL, part);
      __builtin_prefetch(b + fetch_b + v * VL);
    }
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++) {
      const vec ai = splat(*row(i < 3 ? a0 : i < 6 ? a3 : a6, i % 3 * rs));
#pragma GCC unroll 3
      for (int v = 0; v < vecs; v++) sum[i][v] = fmadd(ai, y[v], sum[i][v]);
    }
    if (kind == SUM && t.left > 0 && __builtin_add_overflow(due, x->pace, &due)) {
      if (t.left > VL) {
        __builtin_prefetch(t.from + ahead);
        t.to = pass(t.from, t.to);
        t.from += VL, t.left -= VL;
      } else {
        t = next_row(&x->copy, t.from, t.to, t.left);
      }
    }
    a0 += cs, a3 += cs, a6 += cs, b += rs_b;
  }
  if (kind == SUM && x->copy) x->copy->left = t.left;
#pragma GCC unroll 8
  for (int i = 0; i < rows; i++) {
    real *r = c + i * rs_c;
    if (kind == STORE) {
      finish(vecs, x, r, sum[i], part);
      continue;
    }
#pragma GCC unroll 3
    for (int v = 0; v < vecs; v++, r += VL)
      store(r, x->first ? sum[i][v] : add(load(r), sum[i][v]));
  }
}

/* ---------------------------------------------------------------- whole tiles, beta = 0 */

static inline __attribute__((always_inline)) void put(const int past, real *c, vec sum)
{
  if (past)
    store_past(c, sum);
  else
    store(c, sum);
}

/* A row of B, which is called for some steps before. */
static inline __attribute__((always_inline)) void read_b(const real *b, vec y[VECS])
{
#pragma GCC unroll 3
  for (int v = 0; v < VECS; v++) {
    y[v] = load(b + v * VL);
    __builtin_prefetch(b + (PREFETCH * VECS + v) * VL);
  }
}

/* The first step of a tile. Where there is a tile `before` its sums are written meanwhile. */
static inline __attribute__((always_inline)) void
first_step(const int past, const struct xg_strip *x, const real *b, real *before, vec sum[MR][VECS])
{
  const int64_t rs = x->rs_a * (int64_t)sizeof(real);
  const real *a0 = x->a, *a3 = row(a0, 3 * rs), *a6 = row(a3, 3 * rs);
  const vec alpha = splat(*(const real *)x->alpha), zero = splat(0);
  vec y[VECS];
  read_b(b, y);
#pragma GCC unroll 8
  for (int i = 0; i < MR; i++) {
    const vec ai = splat(*row(i < 3 ? a0 : i < 6 ? a3 : a6, i % 3 * rs));
#pragma GCC unroll 3
    for (int v = 0; v < VECS; v++) {
      if (before) put(past, before + i * x->rs_c + v * VL, mul(alpha, sum[i][v]));
      sum[i][v] = fmadd(ai, y[v], zero);
    }
  }
}

static inline __attribute__((always_inline)) void further_steps(const struct xg_strip *x,
                                                                const real *b, vec sum[MR][VECS])
{
  const int64_t rs = x->rs_a * (int64_t)sizeof(real), cs = x->cs_a;
  const real *a0 = (const real *)x->a + cs, *a3 = row(a0, 3 * rs), *a6 = row(a3, 3 * rs);
#pragma GCC unroll 1
  for (int64_t p = x->k - 1; p > 0; p--) {
    vec y[VECS];
    read_b(b, y);
#pragma GCC unroll 8
    for (int i = 0; i < MR; i++) {
      const vec ai = splat(*row(i < 3 ? a0 : i < 6 ? a3 : a6, i % 3 * rs));
#pragma GCC unroll 3
      for (int v = 0; v < VECS; v++) sum[i][v] = fmadd(ai, y[v], sum[i][v]);
    }
    a0 += cs, a3 += cs, a6 += cs, b += VECS * VL;
  }
}

static inline __attribute__((always_inline)) void
whole_tiles(const int past, const struct xg_strip *x, const real *b, real *c, int64_t count)
{
  enum { COLUMNS = VECS * VL };
  const vec alpha = splat(*(const real *)x->alpha);
  vec sum[MR][VECS];
  first_step(past, x, b, NULL, sum);
  for (;; c += COLUMNS) {
    if (!past) {
#pragma GCC unroll 8
      for (int i = 0; i < MR; i++)
#pragma GCC unroll 3
        for (int v = 0; v < VECS; v++) __builtin_prefetch(c + i * x->rs_c + COLUMNS + v * VL, 1);
    }
    further_steps(x, b + COLUMNS, sum);
    b += x->k * COLUMNS;
    if (--count == 0) break;
    first_step(past, x, b, c, sum);
  }
#pragma GCC unroll 8
  for (int i = 0; i < MR; i++)
#pragma GCC unroll 3
    for (int v = 0; v < VECS; v++) put(past, c + i * x->rs_c + v * VL, mul(alpha, sum[i][v]));
}

static __attribute__((noinline)) void tiles_past(const struct xg_strip *x, int64_t count)
{
  whole_tiles(1, x, x->b, x->c, count);
}

static __attribute__((noinline)) void tiles_kept(const struct xg_strip *x, int64_t count)
{
  whole_tiles(0, x, x->b, x->c, count);
}

/* Computes what it can of a strip that way and leaves the rest. */
static void begin_strip(struct xg_strip *x)
{
  if (x->m < MR || x->rs_b != 0 || *(const real *)x->beta != 0) return;
  int64_t count = 0;
  for (int64_t n = x->n; xg_sliver(n, VL) == VECS * VL; n -= VECS * VL) count++;
  if (count == 0) return;
  if (x->stream)
    tiles_past(x, count);
  else
    tiles_kept(x, count);
  x->n -= count * VECS * VL;
  x->b = (const real *)x->b + count * VECS * VL * x->k;
  x->c = (real *)x->c + count * VECS * VL;
}

static inline __attribute__((always_inline)) void strip(const int rows, const enum kind kind,
                                                        struct xg_strip *x)
{
  const real *b = x->b;
  real *c = x->c;
  for (int64_t n = x->n, columns; n > 0; n -= columns, c += columns) {
    columns = xg_sliver(n, VL);
    const int64_t part = (columns - 1) % VL + 1, width = columns - part + VL;
    if (width == 3 * VL)
      tile(rows, 3, kind, x, b, c, part);
    else if (width == 2 * VL)
      tile(rows, 2, kind, x, b, c, part);
    else
      tile(rows, 1, kind, x, b, c, part);
    b += x->rs_b ? width : width * x->k;
  }
}

static inline __attribute__((always_inline)) void rows_of(const enum kind kind, struct xg_strip *x)
{
  switch (x->m) {
  case 1:
    strip(1, kind, x);
    break;
  case 2:
    strip(2, kind, x);
    break;
  case 3:
    strip(3, kind, x);
    break;
  case 4:
    strip(4, kind, x);
    break;
  case 5:
    strip(5, kind, x);
    break;
  case 6:
    strip(6, kind, x);
    break;
  case 7:
    strip(7, kind, x);
    break;
  default:
    strip(8, kind, x);
    break;
  }
}

static void store_strip(const struct xg_strip *given)
{
  struct xg_strip x = *given;
  begin_strip(&x);
  if (x.n > 0) rows_of(STORE, &x);
}

static void fence(void)
{
  _mm_sfence();
}

static void sum_strip(struct xg_strip *x)
{
  rows_of(SUM, x);
}

static void fold(const struct xg_fold *x)
{
  const real alpha = *(const real *)x->alpha, beta = *(const real *)x->beta;
  const real *sums = x->sums;
  for (int64_t j = 0; j < x->n; j += VL) {
    const int64_t part = x->n - j < VL ? x->n - j : VL;
    vec total = load_part(sums + j, part);
    for (int64_t i = 1; i < x->parts; i++)
      total = add(total, load_part(sums + i * x->part + j, part));
    real *c = (real *)x->c + j * x->cs_c;
    real old[VL];
    for (int64_t i = 0; i < VL; i++) old[i] = beta != 0 && i < part ? c[i * x->cs_c] : 0;
    vec r = mul(splat(alpha), total);
    if (beta != 0) r = fmadd(splat(alpha), total, mul(splat(beta), load(old)));
    store(old, r);
    for (int64_t i = 0; i < part; i++) c[i * x->cs_c] = old[i];
  }
}

static const struct xg_strip_fns functions = {store_strip, fence, sum_strip, copy_rest, fold};
