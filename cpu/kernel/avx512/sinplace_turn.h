/* B that lies along k, f32: part of sgemm_avx512_inplace, which includes it.
 *
 * A piece of 8 rows and 4 steps of k, turned: a vector gathers the 128-bit pieces of rows s and
 * s+4, then 4 x 4 squares are turned within the lanes. The shuffles across lanes that turning a
 * whole square of registers would need are spared. Whole vectors, gathered by loads that merge a
 * lane each, take longer. */

enum { E = 16 / sizeof(float) };

static inline __attribute__((always_inline)) __m256 gather_ymm(const float *src, int64_t is)
{
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(src)), _mm_loadu_ps(src + E * is),
                              1);
}

/* E steps of half a vector of rows. */
static inline __attribute__((always_inline)) void turn_ymm(int64_t width, const float *src,
                                                           int64_t is, float *dst)
{
  __m256 r[4], t[4];
#pragma GCC unroll 4
  for (int s = 0; s < 4; s++) r[s] = gather_ymm(src + s * is, is);
  t[0] = _mm256_unpacklo_ps(r[0], r[1]), t[1] = _mm256_unpackhi_ps(r[0], r[1]);
  t[2] = _mm256_unpacklo_ps(r[2], r[3]), t[3] = _mm256_unpackhi_ps(r[2], r[3]);
#pragma GCC unroll 2
  for (int h = 0; h < 2; h++) {
    const __m256d lo = _mm256_castps_pd(t[h]), hi = _mm256_castps_pd(t[2 + h]);
    _mm256_storeu_pd((double *)(dst + 2 * h * width), _mm256_unpacklo_pd(lo, hi));
    _mm256_storeu_pd((double *)(dst + (2 * h + 1) * width), _mm256_unpackhi_pd(lo, hi));
  }
}

/* The first E steps of a row, or as many as the mask says. */
static inline __m128 part_of_row(__mmask8 mask, const float *row, int here)
{
  return _mm_maskz_loadu_ps(here ? mask : 0, row);
}

/* Half a vector of rows, E steps, or as many of both as there are; zeros for rows that are not. */
static __attribute__((noinline)) void turn_part(int64_t width, int64_t rows, int64_t steps,
                                                const float *src, int64_t is, float *dst)
{
  const __mmask8 mask = steps >= E ? (1u << E) - 1 : (__mmask8)((1u << steps) - 1);
  __m256 r[E], t[4];
#pragma GCC unroll 4
  for (int s = 0; s < E; s++)
    r[s] = _mm256_insertf128_ps(_mm256_castps128_ps256(part_of_row(mask, src + s * is, s < rows)),
                                part_of_row(mask, src + (s + E) * is, s + E < rows), 1);
  t[0] = _mm256_unpacklo_ps(r[0], r[1]), t[1] = _mm256_unpackhi_ps(r[0], r[1]);
  t[2] = _mm256_unpacklo_ps(r[2], r[3]), t[3] = _mm256_unpackhi_ps(r[2], r[3]);
#pragma GCC unroll 4
  for (int s = 0; s < E; s++) {
    const __m256d lo = _mm256_castps_pd(t[s / 2]), hi = _mm256_castps_pd(t[2 + s / 2]);
    const __m256d step = s % 2 ? _mm256_unpackhi_pd(lo, hi) : _mm256_unpacklo_pd(lo, hi);
    if (s < steps) _mm256_storeu_pd((double *)(dst + s * width), step);
  }
}

/* `rows` rows of k steps, as PACK routines (ukr.h) turn them; `width` is a multiple of half a
 * vector. */
static void turn(int64_t width, int64_t rows, int64_t k, const float *src, int64_t is, float *dst)
{
  const int64_t whole = k - k % E;
  for (int64_t i = 0; i < width; i += HL, rows -= HL, src += HL * is, dst += HL) {
    int64_t p = 0;
    if (rows >= HL)
      for (; p < whole; p += E) turn_ymm(width, src + p, is, dst + p * width);
    for (; p < k; p += E) turn_part(width, rows, k - p, src + p, is, dst + p * width);
  }
}

/* ---------------------------------------------------------------- the product */

/* While a block computes, the next strip of B is turned by loads and stores of single elements:
 * they take nothing from the FMA units, whereas shuffles do, wherever in the loop they are. A block
 * turns `columns` of them, one element of each in a step. */
typedef uint32_t __attribute__((may_alias)) bits;

static inline __attribute__((always_inline)) void turning(const int rows, const int columns,
                                                          const struct args *x, const float *a0,
                                                          const float *b, float *to,
                                                          const float *from, int64_t cs_b, float *c)
{
  struct sums t;
#pragma GCC unroll 14
  for (int i = 0; i < rows; i++) t.z[i] = _mm512_setzero_ps();
  /* In bytes, and hidden in the loop, or multiples of them would take the registers it needs. */
  enum { SIZE = sizeof(float) };
  int64_t rs = x->rs_a * SIZE, rs3 = 3 * rs, ld = cs_b * SIZE, ld3 = 3 * ld;
  const int64_t cs = x->cs_a * SIZE;
  const char *a[3] = {(const char *)a0, (const char *)a0 + 5 * rs, (const char *)a0 + 10 * rs};
  const char *q[2] = {(const char *)from, (const char *)from + 4 * ld};
#pragma GCC unroll 1
  for (int64_t p = x->k; p > 0; p--, b += VL, to += VL) {
    __asm__("" : "+r"(rs), "+r"(rs3), "+r"(ld), "+r"(ld3));
    const __m512 bz = _mm512_load_ps(b);
#pragma GCC unroll 14
    for (int i = 0; i < rows; i++) {
      const float *ai = (const float *)(a[i / 5] + offset(i, rs, rs3));
      t.z[i] = _mm512_fmadd_ps(_mm512_set1_ps(*ai), bz, t.z[i]);
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

typedef void turning_fn(int64_t rows, const struct args *x, const float *a, const float *b,
                        float *to, const float *from, int64_t cs_b, float *c);

#define CASE(r, columns)                                                                           \
  case r:                                                                                          \
    turning(r, columns, x, a, b, to, from, cs_b, c);                                               \
    break;
#define SEVEN(r, n)                                                                                \
  CASE(r, n)                                                                                       \
  CASE(r + 1, n) CASE(r + 2, n) CASE(r + 3, n) CASE(r + 4, n) CASE(r + 5, n) CASE(r + 6, n)
#define TURNING(name, columns)                                                                     \
  static __attribute__((noinline)) void name(int64_t rows, const struct args *x, const float *a,   \
                                             const float *b, float *to, const float *from,         \
                                             int64_t cs_b, float *c)                               \
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
static void turning_strip(int64_t m, const struct args *x, const float *a, const float *b,
                          float *to, const float *from, int64_t cs_b, float *c)
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
  _Alignas(64) float space[2 * XG_RUN * VL];
  float *const copies[2] = {space, space + XG_RUN * VL};
  struct args x = {k, rs_a, cs_a, VL, rs_c, *(const float *)alpha, *(const float *)beta, 0xffff};
  const float *b = b_p;
  float *c = c_p;
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
