/* B that lies along k, f32: part of sgemm_avx512_inplace, which includes it.
 *
 * A piece of 16 rows and 4 steps of k, turned: a vector gathers the 128-bit pieces of rows s, s+4,
 * ... by loads that merge a lane each, then 4 x 4 squares are turned within the lanes. The shuffles
 * across lanes that turning a whole square of registers would need are spared. */

enum { E = 16 / sizeof(float) };

/* Rows r, r + E, r + 2E, r + 3E, whose pointers are given. */
static inline __attribute__((always_inline)) __m512 gather_zmm(const float *const row[4],
                                                               int64_t at)
{
  __m512 r = _mm512_castps128_ps512(_mm_loadu_ps(row[0] + at));
  r = _mm512_mask_broadcast_f32x4(r, 0xf << 4, _mm_loadu_ps(row[1] + at));
  r = _mm512_mask_broadcast_f32x4(r, 0xf << 8, _mm_loadu_ps(row[2] + at));
  return _mm512_mask_broadcast_f32x4(r, 0xf << 12, _mm_loadu_ps(row[3] + at));
}

static inline __attribute__((always_inline)) __m256 gather_ymm(const float *src, int64_t is)
{
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(src)), _mm_loadu_ps(src + E * is),
                              1);
}

/* E steps of a vector of rows, of which every E-th has its pointer. */
static inline __attribute__((always_inline)) void turned_zmm(const float *const row[4], int64_t is,
                                                             __m512 step[E])
{
  __m512 r[E], t[E];
#pragma GCC unroll 4
  for (int s = 0; s < E; s++) r[s] = gather_zmm(row, s * is);
  t[0] = _mm512_unpacklo_ps(r[0], r[1]), t[1] = _mm512_unpackhi_ps(r[0], r[1]);
  t[2] = _mm512_unpacklo_ps(r[2], r[3]), t[3] = _mm512_unpackhi_ps(r[2], r[3]);
#pragma GCC unroll 2
  for (int h = 0; h < 2; h++) {
    const __m512d lo = _mm512_castps_pd(t[h]), hi = _mm512_castps_pd(t[2 + h]);
    step[2 * h] = _mm512_castpd_ps(_mm512_unpacklo_pd(lo, hi));
    step[2 * h + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(lo, hi));
  }
}

static inline __attribute__((always_inline)) void turn_zmm(int64_t width, const float *src,
                                                           int64_t is, float *dst)
{
  const float *const row[4] = {src, src + E * is, src + 2 * E * is, src + 3 * E * is};
  __m512 step[E];
  turned_zmm(row, is, step);
#pragma GCC unroll 4
  for (int s = 0; s < E; s++) _mm512_storeu_ps(dst + s * width, step[s]);
}

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
  int64_t i = 0;
  while (i < width) {
    const int64_t left = rows - i, step = left >= VL ? VL : HL;
    const float *from = src + i * is;
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
