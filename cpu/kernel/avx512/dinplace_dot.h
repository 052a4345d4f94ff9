/* Few columns, A along k, f64: part of dgemm_avx512_inplace, which includes it.
 *
 * Vectors run along k. B is turned so that its columns do; four rows of A at a time. */

enum { DOT_ROWS = 4, DOT_N = NR / 8 };

/* Half a vector of steps of B, whose n columns lie side by side, or as many as there are. */
static inline __attribute__((always_inline)) void
columns_apart(int64_t n, int64_t steps, const double *b, int64_t rs_b, double *to)
{
  const __mmask8 mask = (__mmask8)((1u << n) - 1);
  __m256d r[E];
#pragma GCC unroll 2
  for (int s = 0; s < E; s++)
    r[s] = _mm256_insertf128_pd(_mm256_castpd128_pd256(part_of_row(mask, b + s * rs_b, s < steps)),
                                part_of_row(mask, b + (s + E) * rs_b, s + E < steps), 1);
  _mm256_store_pd(to, _mm256_unpacklo_pd(r[0], r[1]));
  if (n > 1) _mm256_store_pd(to + XG_DOT_K, _mm256_unpackhi_pd(r[0], r[1]));
}

/* B^T, its rows XG_DOT_K apart and filled with zeros to whole vectors. */
static inline __attribute__((always_inline)) void
turn_columns(const int n, int64_t k, const double *b, int64_t rs_b, int64_t cs_b, double *to)
{
  for (int64_t p = 0; p < k; p += VL) {
    const int64_t steps = k - p < VL ? k - p : VL;
    const double *from = b + p * rs_b;
    if (rs_b == 1) {
#pragma GCC unroll 2
      for (int j = 0; j < n; j++)
        _mm512_store_pd(to + j * XG_DOT_K + p,
                        _mm512_maskz_loadu_pd((__mmask8)(0xff >> (VL - steps)), from + j * cs_b));
    } else if (cs_b == 1) {
      columns_apart(n, steps, from, rs_b, to + p);
      columns_apart(n, steps - HL, from + HL * rs_b, rs_b, to + p + HL);
    } else {
      for (int j = 0; j < n; j++)
        for (int s = 0; s < VL; s++)
          to[j * XG_DOT_K + p + s] = s < steps ? from[s * rs_b + j * cs_b] : 0;
    }
  }
}

/* The lanes of four rows' sums added by halves down to a quarter, a 128-bit lane for each row. */
static inline __attribute__((always_inline)) __m512d quarters(const __m512d *t)
{
  const __m512d x =
      _mm512_add_pd(_mm512_shuffle_f64x2(t[0], t[1], 0x44), _mm512_shuffle_f64x2(t[0], t[1], 0xee));
  const __m512d y =
      _mm512_add_pd(_mm512_shuffle_f64x2(t[2], t[3], 0x44), _mm512_shuffle_f64x2(t[2], t[3], 0xee));
  return _mm512_add_pd(_mm512_shuffle_f64x2(x, y, 0x88), _mm512_shuffle_f64x2(x, y, 0xdd));
}

/* And down to one: a 128-bit lane for each row, in it the columns. */
static inline __attribute__((always_inline)) __m512d rows_of_sums(const int n,
                                                                  __m512d t[DOT_N][DOT_ROWS])
{
  const __m512d x = quarters(t[0]), y = n > 1 ? quarters(t[1]) : x;
  return _mm512_add_pd(_mm512_unpacklo_pd(x, y), _mm512_unpackhi_pd(x, y));
}

static inline __attribute__((always_inline)) void store_row(double *c, __m128d r, __mmask8 mask,
                                                            const struct args *x)
{
  const __m128d alpha = _mm_set1_pd(x->alpha), beta = _mm_set1_pd(x->beta);
  if (x->beta != 0)
    r = _mm_fmadd_pd(alpha, r, _mm_mul_pd(beta, _mm_maskz_loadu_pd(mask, c)));
  else
    r = _mm_mul_pd(alpha, r);
  _mm_mask_storeu_pd(c, mask, r);
}

/* A block of up to four rows; in place of those that are not, the last one again. */
static inline __attribute__((always_inline)) void dot_block(const int n, int64_t rows,
                                                            const struct args *x, const double *a,
                                                            const double *b, double *c)
{
  const double *r[DOT_ROWS];
  __m512d t[DOT_N][DOT_ROWS];
#pragma GCC unroll 4
  for (int i = 0; i < DOT_ROWS; i++) {
    r[i] = a + (i < rows ? i : rows - 1) * x->rs_a;
#pragma GCC unroll 2
    for (int j = 0; j < n; j++) t[j][i] = _mm512_setzero_pd();
  }
#pragma GCC unroll 1
  for (int64_t p = 0; p < x->k; p += VL) {
    const __mmask8 mask = x->k - p < VL ? x->last : (__mmask8)0xff;
    __m512d v[DOT_ROWS];
#pragma GCC unroll 4
    for (int i = 0; i < DOT_ROWS; i++) v[i] = _mm512_maskz_loadu_pd(mask, r[i] + p);
#pragma GCC unroll 2
    for (int j = 0; j < n; j++) {
      const __m512d w = _mm512_load_pd(b + j * XG_DOT_K + p);
#pragma GCC unroll 4
      for (int i = 0; i < DOT_ROWS; i++) t[j][i] = _mm512_fmadd_pd(v[i], w, t[j][i]);
    }
  }
  const __m512d sums = rows_of_sums(n, t);
  const __mmask8 columns = (__mmask8)((1 << n) - 1);
#define ROW(i)                                                                                     \
  if (i < rows) store_row(c + i * x->rs_c, _mm512_extractf64x2_pd(sums, i), columns, x)
  ROW(0);
  ROW(1);
  ROW(2);
  ROW(3);
#undef ROW
}

static inline __attribute__((always_inline)) void dots(const int n, int64_t m, const struct args *x,
                                                       const double *a, const double *b,
                                                       int64_t cs_b, double *c)
{
  _Alignas(64) double turned[DOT_N * XG_DOT_K];
  turn_columns(n, x->k, b, x->rs_b, cs_b, turned);
#pragma GCC unroll 1
  for (; m > 0; m -= DOT_ROWS, a += DOT_ROWS * x->rs_a, c += DOT_ROWS * x->rs_c)
    dot_block(n, m < DOT_ROWS ? m : DOT_ROWS, x, a, turned, c);
}

static void dot(int64_t m, int64_t n, int64_t k, const void *alpha, const void *a, int64_t rs_a,
                const void *b, int64_t rs_b, int64_t cs_b, const void *beta, void *c, int64_t rs_c)
{
  const __mmask8 last = (__mmask8)(0xff >> (-k & (VL - 1)));
  const struct args x = {k,   rs_a, 1, rs_b, rs_c, *(const double *)alpha, *(const double *)beta,
                         last};
  if (n == 1)
    dots(1, m, &x, a, b, cs_b, c);
  else
    dots(2, m, &x, a, b, cs_b, c);
}
