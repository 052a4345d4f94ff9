/* B that lies along k, f64: part of dgemm_avx512_inplace, which includes it.
 *
 * A piece of 4 rows and 2 steps of k, turned: a vector gathers the 128-bit pieces of rows s and
 * s+2, then 2 x 2 squares are turned within the lanes. The shuffles across lanes that turning a
 * whole square of registers would need are spared. Whole vectors, gathered by loads that merge a
 * lane each, take longer. */

enum { E = 16 / sizeof(double) };

static inline __attribute__((always_inline)) __m256d gather_ymm(const double *src, int64_t is)
{
  return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(src)), _mm_loadu_pd(src + E * is),
                              1);
}

/* E steps of half a vector of rows. */
static inline __attribute__((always_inline)) void turn_ymm(int64_t width, const double *src,
                                                           int64_t is, double *dst)
{
  const __m256d r0 = gather_ymm(src, is), r1 = gather_ymm(src + is, is);
  _mm256_storeu_pd(dst, _mm256_unpacklo_pd(r0, r1));
  _mm256_storeu_pd(dst + width, _mm256_unpackhi_pd(r0, r1));
}

/* The first E steps of a row, or as many as the mask says. */
static inline __m128d part_of_row(__mmask8 mask, const double *row, int here)
{
  return _mm_maskz_loadu_pd(here ? mask : 0, row);
}

/* Half a vector of rows, E steps, or as many of both as there are; zeros for rows that are not. */
static __attribute__((noinline)) void turn_part(int64_t width, int64_t rows, int64_t steps,
                                                const double *src, int64_t is, double *dst)
{
  const __mmask8 mask = steps >= E ? (1u << E) - 1 : (__mmask8)((1u << steps) - 1);
  __m256d r[E];
#pragma GCC unroll 2
  for (int s = 0; s < E; s++)
    r[s] = _mm256_insertf128_pd(_mm256_castpd128_pd256(part_of_row(mask, src + s * is, s < rows)),
                                part_of_row(mask, src + (s + E) * is, s + E < rows), 1);
  _mm256_storeu_pd(dst, _mm256_unpacklo_pd(r[0], r[1]));
  if (steps > 1) _mm256_storeu_pd(dst + width, _mm256_unpackhi_pd(r[0], r[1]));
}

/* `rows` rows of k steps, as PACK routines (ukr.h) turn them; `width` is a multiple of half a
 * vector. */
static void turn(int64_t width, int64_t rows, int64_t k, const double *src, int64_t is, double *dst)
{
  const int64_t whole = k - k % E;
  int64_t i = 0;
  while (i < width) {
    const int64_t left = rows - i, step = left >= VL ? VL : HL;
    const double *from = src + i * is;
    double *to = dst + i;
    int64_t p = 0;
    if (left >= HL)
      for (; p < whole; p += E) {
        turn_ymm(width, from + p, is, to + p * width);
        if (step == VL) turn_ymm(width, from + HL * is + p, is, to + p * width + HL);
      }
    for (; p < k; p += E)
      for (int64_t h = 0; h < step; h += HL)
        turn_part(width, left - h, k - p, from + h * is + p, is, to + p * width + h);
    i += step;
  }
}

/* ---------------------------------------------------------------- the product */

/* While a block computes, the next strip of B is turned by loads and stores of single elements:
 * they take nothing from the FMA units, whereas shuffles do, wherever in the loop they are. A block
 * turns `columns` of them, one element of each in a step. */
typedef uint64_t __attribute__((may_alias)) bits;

static inline __attribute__((always_inline)) void
turning(const int rows, const int columns, const struct args *x, const double *a0, const double *b,
        double *to, const double *from, int64_t cs_b, double *c)
{
  struct sums t;
#pragma GCC unroll 14
  for (int i = 0; i < rows; i++) t.z[i] = _mm512_setzero_pd();
  /* In bytes, and hidden in the loop, or multiples of them would take the registers it needs. */
  enum { SIZE = sizeof(double) };
  int64_t rs = x->rs_a * SIZE, rs3 = 3 * rs, ld = cs_b * SIZE, ld3 = 3 * ld;
  const int64_t cs = x->cs_a * SIZE;
  const char *a[3] = {(const char *)a0, (const char *)a0 + 5 * rs, (const char *)a0 + 10 * rs};
  const char *q[2] = {(const char *)from, (const char *)from + 4 * ld};
#pragma GCC unroll 1
  for (int64_t p = x->k; p > 0; p--, b += VL, to += VL) {
    __asm__("" : "+r"(rs), "+r"(rs3), "+r"(ld), "+r"(ld3));
    const __m512d bz = _mm512_load_pd(b);
#pragma GCC unroll 14
    for (int i = 0; i < rows; i++) {
      const double *ai = (const double *)(a[i / 5] + offset(i, rs, rs3));
      t.z[i] = _mm512_fmadd_pd(_mm512_set1_pd(*ai), bz, t.z[i]);
    }
#pragma GCC unroll 8
    for (int j = 0; j < columns; j++) {
      bits e = *(const bits *)(q[j / 4] + (j % 4 == 3 ? ld3 : j % 4 * ld));
      __asm__("" : "+r"(e)); /* not through vectors */
      *(bits *)(to + j) = e;
    }
    q[0] += SIZE, q[1] += SIZE;
    a[0] += cs, a[1] += cs, a[2] += cs;
  }
  store_scaled(rows, Z, c, &t, x);
}

typedef void turning_fn(int64_t rows, const struct args *x, const double *a, const double *b,
                        double *to, const double *from, int64_t cs_b, double *c);

#define CASE(r, columns)                                                                           \
  case r:                                                                                          \
    turning(r, columns, x, a, b, to, from, cs_b, c);                                               \
    break;
#define SEVEN(r, n)                                                                                \
  CASE(r, n)                                                                                       \
  CASE(r + 1, n) CASE(r + 2, n) CASE(r + 3, n) CASE(r + 4, n) CASE(r + 5, n) CASE(r + 6, n)
#define TURNING(name, columns)                                                                     \
  static __attribute__((noinline)) void name(int64_t rows, const struct args *x, const double *a,  \
                                             const double *b, double *to, const double *from,      \
                                             int64_t cs_b, double *c)                              \
  {                                                                                                \
    switch (rows) {                                                                                \
      SEVEN(1, columns)                                                                            \
      SEVEN(8, columns)                                                                            \
    }                                                                                              \
  }
TURNING(turning_quarter, VL / 4)
TURNING(turning_half, HL)
#undef TURNING
#undef SEVEN
#undef CASE

/* A strip whose copy is at b, and meanwhile a copy of the next one, `from`. */
static void turning_strip(int64_t m, const struct args *x, const double *a, const double *b,
                          double *to, const double *from, int64_t cs_b, double *c)
{
  const int64_t blocks = (m + MR - 1) / MR, step = blocks < 4 ? HL : VL / 4;
  turning_fn *fn = blocks < 4 ? turning_half : turning_quarter;
  for (int64_t j = 0; j < VL; j += step) {
    const int64_t left = blocks - j / step, rows = (m + left - 1) / left;
    fn(rows, x, a, b, to + j, from + j * cs_b, cs_b, c);
    a += rows * x->rs_a;
    c += rows * x->rs_c;
    m -= rows;
  }
  if (m > 0) strip(m, MR, shape_z, x, a, b, c);
}

/* Blocks of fewer rows would be over before so many stores are through. */
enum { LEAST_AHEAD = 20 };

/* The contract's `turned`. */
static void turned(int64_t m, int64_t n, int64_t k, const void *alpha, const void *a, int64_t rs_a,
                   int64_t cs_a, const void *b_p, int64_t cs_b, const void *beta, void *c_p,
                   int64_t rs_c)
{
  _Alignas(64) double space[2 * XG_RUN * VL];
  double *const copies[2] = {space, space + XG_RUN * VL};
  struct args x = {k, rs_a, cs_a, VL, rs_c, *(const double *)alpha, *(const double *)beta, 0xff};
  const double *b = b_p;
  double *c = c_p;
  int now = 0;
  const int ahead = m >= LEAST_AHEAD;
  if (n > VL && n <= VL + HL) { /* a single strip */
    last_shape(n, &x);
    x.rs_b = VL + HL;
    turn(VL + HL, n, k, b, cs_b, space);
    shape_zy(m, &x, a, space, c);
    return;
  }
  if (ahead && n >= VL) turn(VL, VL, k, b, cs_b, copies[now]);
  for (; n >= VL; n -= VL, b += VL * cs_b, c += VL, now ^= ahead) {
    if (!ahead) turn(VL, VL, k, b, cs_b, copies[now]);
    if (ahead && n >= 2 * VL)
      turning_strip(m, &x, a, copies[now], copies[!now], b + VL * cs_b, cs_b, c);
    else
      strip(m, MR, shape_z, &x, a, copies[now], c);
  }
  if (n == 0) return;
  const enum shape s = last_shape(n, &x);
  x.rs_b = s == Y ? HL : VL;
  turn(x.rs_b, n, k, b, cs_b, copies[now]);
  strip(m, s == Y ? TALL : MR, shapes[s], &x, a, copies[now], c);
}
