/* The STREAM kernels' bodies (ukr.h) in 16 registers, for the type that the including file has set
 * up: real, vec, VL and the helpers load, load_part, store, store_part, splat, fmadd, mul, fused,
 * add_halves. A line has two vectors, and loops go by lines so that each is prefetched once.
 *
 * dot: 6 rows of W by 2 columns of S. W is read from memory once and from L1 again for each further
 * pair of columns; the passes share out the rows whose next piece is to be prefetched:
 *
 *              S0 S1      a vector of k: 6 loads of W, 2 of S, 12 FMAs
 *        W0     .  .      registers: 12 sums, 2 of S, 1 of W
 *        ...
 *        W5     .  .
 *
 * axpy: `wide` vectors along l by a group of columns of S, over the steps of k that one call has
 * (the loops give 8 or 16: as many runs through memory side by side). The groups of one stretch
 * of l follow each other, so W comes from L1 for all but the first:
 *
 *      s        1    2    3-6   7-12   13-16      a step of k: `wide` loads of W, a broadcast and
 *      groups   1    1     1     2       3        `wide` FMAs a column
 *      wide     8    4     2     2       2        registers: 12 sums at most, `wide` of W, 1 of S
 */
enum { ROWS = 6, PAIR = 2, GROUP = 6, LINE = 2 * VL };

struct dot_pass {
  int64_t row, col;
  int64_t from; /* the first row of those to prefetch */
};

static inline __attribute__((always_inline)) void dot_step(const int rows, const int cols,
                                                           vec sum[ROWS][PAIR],
                                                           const real *const *w, int64_t p,
                                                           const real *b)
{
  vec v[PAIR];
#pragma GCC unroll 2
  for (int i = 0; i < cols; i++) v[i] = load(b + i * VL);
#pragma GCC unroll 6
  for (int r = 0; r < rows; r++) {
    vec y = load(w[r] + p);
    if (cols > 1) __asm__("" : "+x"(y)); /* else each FMA loads it again */
#pragma GCC unroll 2
    for (int i = 0; i < cols; i++) sum[r][i] = fmadd(y, v[i], sum[r][i]);
  }
}

/* The sums of a chain of additions join those of the chains before; the first finds none. */
static inline void join(real *sums, vec sum, int first)
{
  store(sums, first ? sum : add(load(sums), sum));
}

static inline __attribute__((always_inline)) void dot_tile(const int rows, const int cols,
                                                           const int fetches,
                                                           const struct xg_stream *x,
                                                           const struct dot_pass *at)
{
  vec sum[ROWS][PAIR];
  const int64_t s = x->s, ld = x->ld, whole = x->k / VL * VL, lines = x->k / LINE * LINE;
  real *sums = (real *)x->sums + (at->row * s + at->col) * VL;
  const real *b = (const real *)x->small + at->col * VL;
  const real *w[ROWS], *next = (const real *)x->w + at->from * ld + x->ahead;
#pragma GCC unroll 6
  for (int r = 0; r < rows; r++) {
    w[r] = (const real *)x->w + (at->row + r) * ld;
#pragma GCC unroll 2
    for (int i = 0; i < cols; i++) sum[r][i] = splat(0);
  }
  int64_t p = 0;
#pragma GCC unroll 1
  for (; p < lines; p += LINE, b += 2 * s * VL) {
#pragma GCC unroll 6
    for (int f = 0; f < fetches; f++) __builtin_prefetch(next + f * ld + p, 0, 2);
    dot_step(rows, cols, sum, w, p, b);
    dot_step(rows, cols, sum, w, p + VL, b + s * VL);
  }
  if (p < whole) {
    dot_step(rows, cols, sum, w, p, b);
    p += VL, b += s * VL;
  }
  if (p < x->k) {
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++) {
      const vec y = load_part(w[r] + p, x->k - p);
#pragma GCC unroll 2
      for (int i = 0; i < cols; i++)
        sum[r][i] = fmadd(y, load_part(b + i * VL, x->k - p), sum[r][i]);
    }
  }
#pragma GCC unroll 6
  for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
    for (int i = 0; i < cols; i++) join(sums + (r * s + i) * VL, sum[r][i], x->first);
}

/* Every column of S, `fetches` rows prefetched by each pass. */
static inline __attribute__((always_inline)) void dot_rows(const int rows, const int fetches,
                                                           const struct xg_stream *x, int64_t row)
{
  struct dot_pass at = {row, 0, row};
  const int64_t last = row + rows - fetches;
  for (; at.col + PAIR <= x->s; at.col += PAIR) {
    dot_tile(rows, PAIR, fetches, x, &at);
    at.from = at.from + fetches < last ? at.from + fetches : last;
  }
  if (at.col < x->s) dot_tile(rows, 1, fetches, x, &at);
}

static __attribute__((noinline)) void dot_1(const struct xg_stream *x)
{
  dot_rows(ROWS, 6, x, 0);
}

static __attribute__((noinline)) void dot_2(const struct xg_stream *x)
{
  dot_rows(ROWS, 3, x, 0);
}

static __attribute__((noinline)) void dot_3(const struct xg_stream *x)
{
  dot_rows(ROWS, 2, x, 0);
}

static __attribute__((noinline)) void dot_6(const struct xg_stream *x)
{
  dot_rows(ROWS, 1, x, 0);
}

static void dot(const struct xg_stream *x)
{
  const int64_t passes = (x->s + PAIR - 1) / PAIR;
  if (x->l == ROWS)
    (passes == 1 ? dot_1 : passes == 2 ? dot_2 : passes < 6 ? dot_3 : dot_6)(x);
  else
    for (int64_t row = 0; row < x->l; row++) dot_rows(1, 1, x, row);
}

/* One element of C. */
static inline void finish(real *c, real sum, real alpha, real beta)
{
  *c = beta == 0 ? alpha * sum : fused(alpha, sum, beta * *c);
}

static void dot_end(const struct xg_stream_end *x)
{
  const real alpha = *(const real *)x->alpha, beta = *(const real *)x->beta;
  const real *sums = x->sums;
  for (int64_t r = 0; r < x->l; r++)
    for (int64_t i = 0; i < x->s; i++, sums += VL)
      finish((real *)x->c + r * x->l_c + i * x->s_c, add_halves(load(sums)), alpha, beta);
}

/* Columns col .. col+cols-1. `part` elements in the last of the tile's vectors, VL but at the end
 * of l. */
static inline __attribute__((always_inline)) void axpy_tile(const int s, const int col,
                                                            const int cols, const int wide,
                                                            const struct xg_stream *x, int64_t l,
                                                            int64_t part)
{
  vec sum[12];
  real *sums = (real *)x->sums + l * s + col * VL;
  const real *w = (const real *)x->w + l, *b = (const real *)x->small + col;
  const int64_t ld = x->ld;
  const int64_t fetch = l + x->ahead < x->l ? x->ahead : x->next + x->ahead - x->l;
#pragma GCC unroll 8
  for (int v = 0; v < wide; v++)
#pragma GCC unroll 6
    for (int i = 0; i < cols; i++) sum[v * cols + i] = splat(0);
#pragma GCC unroll 1
  for (int64_t p = x->k; p > 0; p--, w += ld, b += s) {
    vec y[8];
#pragma GCC unroll 8
    for (int v = 0; v < wide; v++) {
      y[v] = wide == 1 && part < VL ? load_part(w, part) : load(w + v * VL);
      if (col == 0 && v * VL % LINE == 0) __builtin_prefetch(w + v * VL + fetch, 0, 2);
    }
#pragma GCC unroll 6
    for (int i = 0; i < cols; i++) {
      const vec z = splat(b[i]);
#pragma GCC unroll 8
      for (int v = 0; v < wide; v++) sum[v * cols + i] = fmadd(y[v], z, sum[v * cols + i]);
    }
  }
  if (!x->first) {
#pragma GCC unroll 8
    for (int v = 0; v < wide; v++)
#pragma GCC unroll 6
      for (int i = 0; i < cols; i++)
        sum[v * cols + i] = add(load(sums + (v * s + i) * VL), sum[v * cols + i]);
  }
  if (x->total) sums = (real *)x->total + l * s + col * VL;
  if (x->total && !x->total_first) {
#pragma GCC unroll 8
    for (int v = 0; v < wide; v++)
#pragma GCC unroll 6
      for (int i = 0; i < cols; i++)
        sum[v * cols + i] = add(load(sums + (v * s + i) * VL), sum[v * cols + i]);
  }
#pragma GCC unroll 8
  for (int v = 0; v < wide; v++)
#pragma GCC unroll 6
    for (int i = 0; i < cols; i++) store(sums + (v * s + i) * VL, sum[v * cols + i]);
}

/* The groups of columns, as even as they come. */
static inline __attribute__((always_inline)) void
axpy_groups(const int s, const int wide, const struct xg_stream *x, int64_t l, int64_t part)
{
  const int groups = (s + GROUP - 1) / GROUP;
#pragma GCC unroll 3
  for (int g = 0; g < groups; g++)
    axpy_tile(s, s * g / groups, s * (g + 1) / groups - s * g / groups, wide, x, l, part);
}

static inline __attribute__((always_inline)) void axpy_s(const int s, const struct xg_stream *x)
{
  const int wide = s == 1 ? 8 : s == 2 ? 4 : 2;
  int64_t l = 0;
  for (; l + wide * VL <= x->l; l += wide * VL) axpy_groups(s, wide, x, l, VL);
  for (; l < x->l; l += VL) axpy_groups(s, 1, x, l, x->l - l < VL ? x->l - l : VL);
}

/* clang-format off */
#define AXPY(s) static void axpy_##s(const struct xg_stream *x) { axpy_s(s, x); }
AXPY(1) AXPY(2) AXPY(3) AXPY(4) AXPY(5) AXPY(6) AXPY(7) AXPY(8)
AXPY(9) AXPY(10) AXPY(11) AXPY(12) AXPY(13) AXPY(14) AXPY(15) AXPY(16)
#undef AXPY
    /* clang-format on */

    static void axpy(const struct xg_stream *x)
{
  static void (*const by_s[])(const struct xg_stream *) = {
      axpy_1, axpy_2,  axpy_3,  axpy_4,  axpy_5,  axpy_6,  axpy_7,  axpy_8,
      axpy_9, axpy_10, axpy_11, axpy_12, axpy_13, axpy_14, axpy_15, axpy_16};
  by_s[x->s - 1](x);
}

static void axpy_end(const struct xg_stream_end *x)
{
  const real alpha = *(const real *)x->alpha, beta = *(const real *)x->beta;
  const real *sums = x->sums;
  for (int64_t l = 0; l < x->l; l += VL)
    for (int64_t i = 0; i < x->s; i++, sums += VL) {
      real *c = (real *)x->c + l * x->l_c + i * x->s_c;
      const int64_t part = x->l - l < VL ? x->l - l : VL;
      if (x->l_c != 1) {
        for (int64_t r = 0; r < part; r++) finish(c + r * x->l_c, sums[r], alpha, beta);
        continue;
      }
      vec y = mul(splat(alpha), load(sums));
      if (beta != 0) y = fmadd(splat(alpha), load(sums), mul(splat(beta), load_part(c, part)));
      store_part(c, y, part);
    }
}

static const struct xg_stream_fns functions = {
    .dot = dot, .dot_end = dot_end, .axpy = axpy, .axpy_end = axpy_end};
