/* The STREAM kernels' bodies (ukr.h), for the type that the including file has set up: real, vec,
 * VL and the helpers load, load_part, store, store_part, splat, fmadd, mul, add_halves; half, a
 * vector of half the size, with load_half, store_half, splat_half, add_half, fmadd_half.
 *
 * dot: 6 rows of W by up to 4 columns of S, one register each; what is loaded and used at a step:
 *
 *              S0 S1 S2 S3         4 loads for 24 FMAs; W rows are read once from memory and, when
 *        W0     .  .  .  .         s > 4, again from L1 for each further 4 columns
 *        ...                       registers: 24 sums, 4 of S, 1 of W
 *        W5     .  .  .  .         prefetch: the next piece into L2, but for a near W and few
 *                                  columns; 6 lines from there into L1
 *
 * spread: 6 rows of W by 2 or 4 half vectors along s; a step of k:
 *
 *              S0 S1 S2 S3         12 or 24 FMAs of half a vector, elements of W spread over the
 *        W0     .  .  .  .         lanes by 6 loads: of half vectors, which come two a cycle
 *        ...                       registers: 24 sums, 4 of S, 1 of W
 *        W5     .  .  .  .         no more rows: their lines may share a set of L1, and S needs
 * room prefetch: the next piece into L2
 *
 * axpy: a tile of s rows by up to 8 vectors along l, up to 16 sums in registers, over the steps of
 * k that one call has (the loops give 8 to 32: as many runs through memory side by side):
 *
 *      s        1-2   3-4   5-8   9-16        per step of k: `wide` loads of W, s broadcasts taken
 *      wide      8     4     2     1          from memory by the FMAs, s * wide FMAs
 *
 *      prefetch: `ahead` into L2, or L1 for a near W; 2 to 4 columns also 4 lines ahead into L1
 */
enum { ROWS = 6, QUAD = 4, HL = VL / 2, LINE = 64 / (int)sizeof(real) };
enum { NEXT = 6 * LINE, SOON = 4 * LINE }; /* prefetched into L1: by dot, by axpy */
enum fetch { NONE, NEAR, FAR };

/* One load for all FMAs: gcc 12 would let some load it again, and keep it on the stack besides. */
static inline vec load_once(const real *x)
{
  vec v;
  __asm__("vmovups %1, %0" : "=v"(v) : "m"(*(const real(*)[VL])x));
  return v;
}

/* The sums of a chain of additions join those of the chains before; the first finds none. */
static inline void join(real *sums, vec sum, int first)
{
  store(sums, first ? sum : add(load(sums), sum));
}

static inline __attribute__((always_inline)) void dot_tile(const int rows, const int cols,
                                                           const struct xg_stream *x, int64_t col,
                                                           const enum fetch fetch)
{
  vec sum[ROWS][QUAD];
  const int64_t s = x->s, ld = x->ld;
  real *sums = (real *)x->sums + col * VL;
  const real *b = (const real *)x->small + col * VL;
  const real *w[ROWS];
#pragma GCC unroll 6
  for (int r = 0; r < rows; r++) {
    w[r] = (const real *)x->w + r * ld;
#pragma GCC unroll 4
    for (int i = 0; i < cols; i++) sum[r][i] = splat(0);
  }
  const int64_t whole = x->k / VL * VL, ahead = x->ahead;
#pragma GCC unroll 1
  for (int64_t p = 0; p < whole; p += VL, b += s * VL) {
    vec v[QUAD];
#pragma GCC unroll 4
    for (int i = 0; i < cols; i++) v[i] = load(b + i * VL);
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++) {
      const vec y = cols > 1 ? load_once(w[r] + p) : load(w[r] + p);
      if (fetch == FAR) __builtin_prefetch(w[r] + p + ahead, 0, 2);
      if (fetch != NONE) __builtin_prefetch(w[r] + p + NEXT, 0, 3);
#pragma GCC unroll 4
      for (int i = 0; i < cols; i++) sum[r][i] = fmadd(y, v[i], sum[r][i]);
    }
  }
  if (whole < x->k) {
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++) {
      const vec y = load_part(w[r] + whole, x->k - whole);
#pragma GCC unroll 4
      for (int i = 0; i < cols; i++)
        sum[r][i] = fmadd(y, load_part(b + i * VL, x->k - whole), sum[r][i]);
    }
  }
#pragma GCC unroll 6
  for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
    for (int i = 0; i < cols; i++) join(sums + (r * s + i) * VL, sum[r][i], x->first);
}

/* The last columns, fewer than four. */
static inline __attribute__((always_inline)) void
dot_rest(const int rows, const struct xg_stream *x, int64_t col, const enum fetch fetch)
{
  switch (x->s - col) {
  case 1:
    dot_tile(rows, 1, x, col, fetch);
    break;
  case 2:
    dot_tile(rows, 2, x, col, fetch);
    break;
  case 3:
    dot_tile(rows, 3, x, col, fetch);
    break;
  default:
    break;
  }
}

static inline __attribute__((always_inline)) void dot_rows(const int rows,
                                                           const struct xg_stream *x)
{
  if (x->s < QUAD && x->near) {
    dot_rest(rows, x, 0, NEAR);
    return;
  }
  if (x->s < QUAD) {
    dot_rest(rows, x, 0, FAR);
    return;
  }
  dot_tile(rows, QUAD, x, 0, FAR);
  int64_t col = QUAD;
  for (; col + QUAD <= x->s; col += QUAD) dot_tile(rows, QUAD, x, col, NONE);
  dot_rest(rows, x, col, NONE);
}

/* A function each: gcc 12 shares out registers badly in one of so many loops. */
#define DOT(rows)                                                                                  \
  static __attribute__((noinline)) void dot_##rows(const struct xg_stream *x)                      \
  {                                                                                                \
    dot_rows(rows, x);                                                                             \
  }
/* clang-format off */
DOT(1) DOT(2) DOT(3) DOT(4) DOT(5) DOT(6)
#undef DOT
    /* clang-format on */

    static void dot(const struct xg_stream *x)
{
  static void (*const by_rows[])(const struct xg_stream *) = {dot_1, dot_2, dot_3,
                                                              dot_4, dot_5, dot_6};
  by_rows[x->l - 1](x);
}

/* Steps p to end-1 of k: no more than a line of W from each row. */
static inline __attribute__((always_inline)) void spread_line(const int rows, const int halves,
                                                              const real *const w[], int64_t p,
                                                              int64_t end, const real *b,
                                                              half sum[ROWS][QUAD])
{
#pragma GCC unroll 1
  for (; p < end; p++, b += halves * HL) {
    half v[QUAD];
#pragma GCC unroll 4
    for (int i = 0; i < halves; i++) v[i] = load_half(b + i * HL);
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++) {
      const half y = splat_half(w[r][p]);
#pragma GCC unroll 4
      for (int i = 0; i < halves; i++) sum[r][i] = fmadd_half(y, v[i], sum[r][i]);
    }
  }
}

static inline __attribute__((always_inline)) void spread_rows(const int rows, const int halves,
                                                              const struct xg_stream *x)
{
  half sum[ROWS][QUAD];
  const real *b = x->small, *w[ROWS];
#pragma GCC unroll 6
  for (int r = 0; r < rows; r++) w[r] = (const real *)x->w + r * x->ld;
  int64_t p = 0;
#pragma GCC unroll 1
  for (int first = x->first; p < x->k; first = 0) {
    const int64_t end = x->k - p < XG_STREAM_RUN ? x->k : p + XG_STREAM_RUN;
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
      for (int i = 0; i < halves; i++) sum[r][i] = splat_half(0);
#pragma GCC unroll 1
    for (int64_t next; p < end; p = next) {
      next = end - p < LINE ? end : p + LINE;
#pragma GCC unroll 6
      for (int r = 0; r < rows; r++) __builtin_prefetch(w[r] + p + x->ahead, 0, 2);
      spread_line(rows, halves, w, p, next, b + p * halves * HL, sum);
    }
    real *sums = x->sums;
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
      for (int i = 0; i < halves; i++, sums += HL)
        store_half(sums, first ? sum[r][i] : add_half(load_half(sums), sum[r][i]));
  }
}

static inline __attribute__((always_inline)) void spread_wide(const int wide,
                                                              const struct xg_stream *x)
{
  switch (x->l) {
  case 1:
    spread_rows(1, 2 * wide, x);
    break;
  case 2:
    spread_rows(2, 2 * wide, x);
    break;
  case 3:
    spread_rows(3, 2 * wide, x);
    break;
  case 4:
    spread_rows(4, 2 * wide, x);
    break;
  case 5:
    spread_rows(5, 2 * wide, x);
    break;
  default:
    spread_rows(ROWS, 2 * wide, x);
    break;
  }
}

static void spread(const struct xg_stream *x)
{
  if (x->s <= VL)
    spread_wide(1, x);
  else
    spread_wide(2, x);
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

static void spread_end(const struct xg_stream_end *x)
{
  const real alpha = *(const real *)x->alpha, beta = *(const real *)x->beta;
  const int64_t width = x->s <= VL ? VL : 2 * VL;
  const real *sums = x->sums;
  for (int64_t r = 0; r < x->l; r++, sums += width)
    for (int64_t i = 0; i < x->s; i++)
      finish((real *)x->c + r * x->l_c + i * x->s_c, sums[i], alpha, beta);
}

/* `part` elements in the last of the tile's vectors, VL but at the end of l. */
static inline __attribute__((always_inline)) void axpy_tile(const int s, const int wide,
                                                            const int near,
                                                            const struct xg_stream *x, int64_t l,
                                                            int64_t part)
{
  vec sum[16];
  real *sums = (real *)x->sums + l * s;
  const real *w = (const real *)x->w + l, *b = x->small;
  const int64_t ld = x->ld;
  const int64_t fetch = l + x->ahead < x->l ? x->ahead : x->next + x->ahead - x->l;
#pragma GCC unroll 16
  for (int t = 0; t < s * wide; t++) sum[t] = splat(0);
#pragma GCC unroll 1
  for (int64_t p = x->k; p > 0; p--, w += ld, b += s) {
    vec y[8];
#pragma GCC unroll 8
    for (int v = 0; v < wide; v++) {
      y[v] = wide == 1 && part < VL ? load_part(w, part) : load(w + v * VL);
      if (v * VL % LINE == 0) __builtin_prefetch(w + v * VL + fetch, 0, near ? 3 : 2);
      if (!near && s > 1 && s <= QUAD) __builtin_prefetch(w + v * VL + SOON, 0, 3);
    }
#pragma GCC unroll 16
    for (int i = 0; i < s; i++) {
      const vec z = splat(b[i]);
#pragma GCC unroll 8
      for (int v = 0; v < wide; v++) sum[v * s + i] = fmadd(y[v], z, sum[v * s + i]);
    }
  }
  if (!x->first) {
#pragma GCC unroll 16
    for (int t = 0; t < s * wide; t++) sum[t] = add(load(sums + t * VL), sum[t]);
  }
  if (x->total) sums = (real *)x->total + l * s;
  if (x->total && !x->total_first) {
#pragma GCC unroll 16
    for (int t = 0; t < s * wide; t++) sum[t] = add(load(sums + t * VL), sum[t]);
  }
#pragma GCC unroll 16
  for (int t = 0; t < s * wide; t++) store(sums + t * VL, sum[t]);
}

static inline __attribute__((always_inline)) void axpy_s(const int s, const int near,
                                                         const struct xg_stream *x)
{
  const int wide = s <= 2 ? 8 : s <= 4 ? 4 : s <= 8 ? 2 : 1;
  int64_t l = 0;
  for (; l + wide * VL <= x->l; l += wide * VL) axpy_tile(s, wide, near, x, l, VL);
  if (wide > 4 && l + 4 * VL <= x->l) axpy_tile(s, 4, near, x, l, VL), l += 4 * VL;
  if (wide > 2 && l + 2 * VL <= x->l) axpy_tile(s, 2, near, x, l, VL), l += 2 * VL;
  for (; l < x->l; l += VL) axpy_tile(s, 1, near, x, l, x->l - l < VL ? x->l - l : VL);
}

/* Beyond four columns W is not read so fast that it would matter where it comes from. */
#define AXPY(s)                                                                                    \
  static void axpy_##s(const struct xg_stream *x)                                                  \
  {                                                                                                \
    if ((s) <= QUAD && x->near)                                                                    \
      axpy_s(s, 1, x);                                                                             \
    else                                                                                           \
      axpy_s(s, 0, x);                                                                             \
  }
/* clang-format off */
AXPY(1) AXPY(2) AXPY(3) AXPY(4) AXPY(5) AXPY(6) AXPY(7) AXPY(8)
AXPY(9) AXPY(10) AXPY(11) AXPY(12) AXPY(13) AXPY(14) AXPY(15) AXPY(16)
/* clang-format on */
#undef AXPY

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

static const struct xg_stream_fns functions = {dot, dot_end, spread, spread_end, axpy, axpy_end};
