/* B that lies along k, f64: part of dgemm_avx512_inplace, which includes it.
 *
 * A piece of 8 rows and 2 steps of k, turned: a vector gathers the 128-bit pieces of rows s, s+2,
 * ... by loads that merge a lane each, then 2 x 2 squares are turned within the lanes. The shuffles
 * across lanes that turning a whole square of registers would need are spared. */

enum { E = 16 / sizeof(double) };

/* Rows r, r + E, r + 2E, r + 3E, whose pointers are given. */
static inline __attribute__((always_inline)) __m512d gather_zmm(const double *const row[4],
                                                                int64_t at)
{
  __m512d r = _mm512_castpd128_pd512(_mm_loadu_pd(row[0] + at));
  r = _mm512_mask_broadcast_f64x2(r, 0x3 << 2, _mm_loadu_pd(row[1] + at));
  r = _mm512_mask_broadcast_f64x2(r, 0x3 << 4, _mm_loadu_pd(row[2] + at));
  return _mm512_mask_broadcast_f64x2(r, 0x3 << 6, _mm_loadu_pd(row[3] + at));
}

static inline __attribute__((always_inline)) __m256d gather_ymm(const double *src, int64_t is)
{
  return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(src)), _mm_loadu_pd(src + E * is),
                              1);
}

/* E steps of a vector of rows, of which every E-th has its pointer. */
static inline __attribute__((always_inline)) void turned_zmm(const double *const row[4], int64_t is,
                                                             __m512d step[E])
{
  const __m512d r0 = gather_zmm(row, 0), r1 = gather_zmm(row, is);
  step[0] = _mm512_unpacklo_pd(r0, r1);
  step[1] = _mm512_unpackhi_pd(r0, r1);
}

static inline __attribute__((always_inline)) void turn_zmm(int64_t width, const double *src,
                                                           int64_t is, double *dst)
{
  const double *const row[4] = {src, src + E * is, src + 2 * E * is, src + 3 * E * is};
  __m512d step[E];
  turned_zmm(row, is, step);
#pragma GCC unroll 2
  for (int s = 0; s < E; s++) _mm512_storeu_pd(dst + s * width, step[s]);
}

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
    int64_t p = 0;
    if (left >= VL)
      for (; p < whole; p += E) turn_zmm(width, from + p, is, dst + p * width + i);
    else if (left >= HL)
      for (; p < whole; p += E) turn_ymm(width, from + p, is, dst + p * width + i);
    for (; p < k; p += E)
      for (int64_t h = 0; h < step; h += HL)
        turn_part(width, left - h, k - p, from + h * is + p, is, dst + p * width + i + h);
    i += step;
  }
}
