/* dgemm_avx512_8x24: f64 panel kernel, AVX-512.
 *
 *             b[0..7]   b[8..15]   b[16..23]      zmm registers
 *            +---------+---------+---------+         24  accumulators, 8 rows x 3 vectors
 *     a[0]   |acc[0][0]|acc[0][1]|acc[0][2]|          3  a row of B
 *      :     |    :    |    :    |    :    |          1  an element of A, broadcast
 *     a[7]   |acc[7][0]|acc[7][1]|acc[7][2]|         28  of 32
 *            +---------+---------+---------+
 *
 * One k step: 24 FMAs, 9 of which load their element of A, 3 vector loads, 5 broadcast loads. Bound
 * by the FMA units: one 512-bit FMA a cycle takes 24 cycles, two take 12, and the 17 loads need 9;
 * 24 independent chains cover a latency of 4 cycles on either. Traffic a step: 64 bytes of A, 192
 * bytes of B.
 *
 * Eight rows of C, and no more: with a power of two as leading dimension all of them map to one or
 * two sets of an L1 of 8 ways or more. Of 14 rows some are evicted before they are stored.
 *
 * Rows beyond m are not computed, nor half vectors beyond n: there is one body for each count of
 * both. Where FMA units are 256 bits wide, half a vector takes half the time. Rows of half vectors
 * alone load elements of A for these: 64 bytes are loaded at half the rate of 32, and 8 loads of
 * elements would take longer than 8 FMAs.
 */
#ifndef __AVX512F__
#error "compile this file with -mavx512f -mavx512vl -mavx512bw -mavx512dq -mfma"
#endif
#include <immintrin.h>
#include <stddef.h>
#include "../../ukr.h"

enum { MR = 8, NR = 24, VECS = 3, VL = 8, HALF = 4 };
enum { PREFETCH = 8, STEPS = 8, NEAR = 128 };

struct args {
  int64_t k, run, rs_a, cs_a, rs_c;
  const double *a;
  double *b; /* written only if it is packed here, from: */
  const double *from;
  int64_t rs_from;
  double alpha, beta, *c;
  struct xg_fetch fetch;
  __mmask8 last; /* columns of the last vector */
};

/* The shape of a body, known when it is compiled: its rows; the vectors of a row, then the half
 * ones; whether it packs B; and whether A is packed. */
struct shape {
  int rows, whole, halves, packs, packed;
};

/* A row of B, or of sums. */
struct row {
  __m512d whole[VECS];
  __m256d half[VECS];
};

#define INLINE static inline __attribute__((always_inline))

INLINE __mmask8 whole_mask(const struct shape s, int v, __mmask8 last)
{
  return v < s.whole - 1 || s.halves > 0 ? (__mmask8)0xff : last;
}

INLINE __mmask8 half_mask(const struct shape s, int v, __mmask8 last)
{
  return v < s.halves - 1 ? (__mmask8)0xf : last;
}

INLINE void zero(const struct shape s, struct row *r)
{
#pragma GCC unroll 3
  for (int v = 0; v < s.whole; v++) r->whole[v] = _mm512_setzero_pd();
#pragma GCC unroll 3
  for (int v = 0; v < s.halves; v++) r->half[v] = _mm256_setzero_pd();
}

/* A row of B, packed. Processors call for what follows in a row of lines by themselves. */
INLINE void load(const struct shape s, const double *b, struct row *r)
{
#pragma GCC unroll 3
  for (int v = 0; v < s.whole; v++) r->whole[v] = _mm512_load_pd(b + v * VL);
#pragma GCC unroll 3
  for (int v = 0; v < s.halves; v++) r->half[v] = _mm256_load_pd(b + s.whole * VL + v * HALF);
}

/* The same from where it was, and it is packed. */
INLINE void load_and_pack(const struct shape s, const double *from, int64_t rs_from, __mmask8 last,
                          double *b, struct row *r)
{
  const int end = s.whole * VL + s.halves * HALF;
#pragma GCC unroll 3
  for (int v = 0; v < s.whole; v++) {
    r->whole[v] = _mm512_maskz_loadu_pd(whole_mask(s, v, last), from + v * VL);
    _mm512_store_pd(b + v * VL, r->whole[v]);
  }
#pragma GCC unroll 3
  for (int v = 0; v < s.halves; v++) {
    const int at = s.whole * VL + v * HALF;
    r->half[v] = _mm256_maskz_loadu_pd(half_mask(s, v, last), from + at);
    _mm256_store_pd(b + at, r->half[v]);
  }
#pragma GCC unroll 3
  for (int v = 0; v < end; v += VL)
    _mm_prefetch((const char *)(from + PREFETCH * rs_from + v), _MM_HINT_T0);
  _mm_prefetch((const char *)(from + PREFETCH * rs_from + end - 1), _MM_HINT_T0);
}

INLINE void multiply(const struct shape s, const double *a, const struct row *b, struct row *sum)
{
  if (s.whole > 0) {
    const __m512d ai = _mm512_set1_pd(*a);
#pragma GCC unroll 3
    for (int v = 0; v < s.whole; v++)
      sum->whole[v] = _mm512_fmadd_pd(ai, b->whole[v], sum->whole[v]);
#pragma GCC unroll 3
    for (int v = 0; v < s.halves; v++)
      sum->half[v] = _mm256_fmadd_pd(_mm512_castpd512_pd256(ai), b->half[v], sum->half[v]);
  } else {
    const __m256d ai = _mm256_set1_pd(*a);
#pragma GCC unroll 3
    for (int v = 0; v < s.halves; v++) sum->half[v] = _mm256_fmadd_pd(ai, b->half[v], sum->half[v]);
  }
}

/* The same, but the element is spread as it is loaded, for each vector anew: an instruction less,
 * which counts where two threads share the front end of a core. */
INLINE void spread_and_multiply(const struct shape s, const double *a, const struct row *b,
                                struct row *sum)
{
#pragma GCC unroll 3
  for (int v = 0; v < s.whole; v++)
    __asm__("vfmadd231pd %2%{1to8%}, %1, %0" : "+v"(sum->whole[v]) : "v"(b->whole[v]), "m"(*a));
#pragma GCC unroll 3
  for (int v = 0; v < s.halves; v++)
    __asm__("vfmadd231pd %2%{1to4%}, %1, %0" : "+v"(sum->half[v]) : "v"(b->half[v]), "m"(*a));
}

INLINE void add(const struct shape s, const double *kept, struct row *sum)
{
#pragma GCC unroll 3
  for (int v = 0; v < s.whole; v++)
    sum->whole[v] = _mm512_add_pd(_mm512_load_pd(kept + v * VL), sum->whole[v]);
#pragma GCC unroll 3
  for (int v = 0; v < s.halves; v++)
    sum->half[v] = _mm256_add_pd(_mm256_load_pd(kept + s.whole * VL + v * HALF), sum->half[v]);
}

INLINE void keep(const struct shape s, const struct row *sum, double *kept)
{
#pragma GCC unroll 3
  for (int v = 0; v < s.whole; v++) _mm512_store_pd(kept + v * VL, sum->whole[v]);
#pragma GCC unroll 3
  for (int v = 0; v < s.halves; v++) _mm256_store_pd(kept + s.whole * VL + v * HALF, sum->half[v]);
}

/* What becomes of C: beta is 0, 1 or anything. */
enum how { OVERWRITE, ADD, SCALE };

struct factors {
  __m512d alpha, beta;
};

/* A vector of C. */
INLINE void finish(const enum how how, const struct factors *f, __m512d sum, __mmask8 mask,
                   double *c)
{
  __m512d r;
  if (how == OVERWRITE)
    r = _mm512_mul_pd(f->alpha, sum);
  else if (how == ADD)
    r = _mm512_fmadd_pd(f->alpha, sum, _mm512_maskz_loadu_pd(mask, c));
  else
    r = _mm512_fmadd_pd(f->alpha, sum, _mm512_mul_pd(f->beta, _mm512_maskz_loadu_pd(mask, c)));
  _mm512_mask_storeu_pd(c, mask, r);
}

INLINE void store(const enum how how, const struct shape s, const struct args *x,
                  const struct row *sums)
{
  const struct factors f = {_mm512_set1_pd(x->alpha), _mm512_set1_pd(x->beta)};
  double *c = x->c;
#pragma GCC unroll 8
  for (int i = 0; i < s.rows; i++, c += x->rs_c) {
#pragma GCC unroll 3
    for (int v = 0; v < s.whole; v++)
      finish(how, &f, sums[i].whole[v], whole_mask(s, v, x->last), c + v * VL);
#pragma GCC unroll 3
    for (int v = 0; v < s.halves; v++)
      finish(how, &f, _mm512_zextpd256_pd512(sums[i].half[v]), half_mask(s, v, x->last),
             c + s.whole * VL + v * HALF);
  }
}

/* One row of A times a row of B. An address of one register makes spreading one instruction, of two
 * registers two; more than five of eight rows would be more loads than there is time for. */
INLINE void multiply_row(const struct shape s, int i, const double *const a[3], int64_t rs,
                         const struct row *b, struct row *sum)
{
  const double *element = s.packed ? a[0] + i : a[i / 3] + i % 3 * rs;
  if (s.packed ? i < 5 : i % 3 == 0)
    spread_and_multiply(s, element, b, sum);
  else
    multiply(s, element, b, sum);
}

INLINE void tile(const struct shape s, const struct args *x)
{
  const int rows = s.rows, end = s.whole * VL + s.halves * HALF;
  struct row sum[MR];
#pragma GCC unroll 8
  for (int i = 0; i < rows; i++) zero(s, &sum[i]);
  const int64_t rs = s.packed ? 1 : x->rs_a, cs = s.packed ? MR : x->cs_a, ahead = PREFETCH * cs,
                rs_from = x->rs_from;
  const double *a[3] = {x->a, x->a + 3 * rs, x->a + 6 * rs}, *c = x->c, *from = x->from;
  double *b = x->b;
  const __mmask8 last = x->last;
  const char *fetch = x->fetch.at;
  _Alignas(64) double room[MR][NR];
  const double(*kept)[NR] = NULL; /* the sums of the runs before */
  int64_t left = x->k, after = x->k - x->run;
  if (left <= NEAR) c += MR * x->rs_c;
  /* A row of C is called for every STEPS steps of k: all at once they would fill the miss buffers
   * and keep A and B waiting. So it is with what is fetched for later. */
  for (int row = 0; left > 0; row++) {
    const int64_t round = (row < rows || fetch) && left - after > STEPS ? STEPS : left - after;
    if (row < rows) {
#pragma GCC unroll 3
      for (int v = 0; v < end; v += VL) _mm_prefetch((const char *)(c + v), _MM_HINT_T0);
      _mm_prefetch((const char *)(c + end - 1), _MM_HINT_T0);
      c += x->rs_c;
    }
    if (fetch) {
      const char *line = fetch;
#pragma GCC unroll 8
      for (int i = 0; i < STEPS; i++, line += x->fetch.inner) _mm_prefetch(line, _MM_HINT_T1);
      fetch += x->fetch.outer;
    }
    left -= round;
#pragma GCC unroll 2
    for (int64_t steps = round; steps > 0; steps--) {
      struct row row_of_b;
      _mm_prefetch((const char *)(a[0] + ahead), _MM_HINT_T0);
      if (s.packs)
        load_and_pack(s, from, rs_from, last, b, &row_of_b);
      else
        load(s, b, &row_of_b);
#pragma GCC unroll 8
      for (int i = 0; i < rows; i++) multiply_row(s, i, a, rs, &row_of_b, &sum[i]);
#pragma GCC unroll 3
      for (int i = 0; i < 3; i++) a[i] += cs;
      b += NR;
      if (s.packs) from += rs_from;
    }
    if (left > after) continue;
    if (kept) {
#pragma GCC unroll 8
      for (int i = 0; i < rows; i++) add(s, kept[i], &sum[i]);
    }
    if (left == 0) break;
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++) {
      keep(s, &sum[i], room[i]);
      zero(s, &sum[i]);
    }
    kept = room;
    after = left > x->run ? left - x->run : 0;
  }
  if (x->beta == 0)
    store(OVERWRITE, s, x, sum);
  else if (x->beta == 1)
    store(ADD, s, x, sum);
  else
    store(SCALE, s, x, sum);
}

INLINE void whole_tile(const int whole, const int halves, const int packed, const struct args *x)
{
  if (x->from)
    tile((struct shape){MR, whole, halves, 1, packed}, x);
  else
    tile((struct shape){MR, whole, halves, 0, packed}, x);
}

INLINE void rows_of(const int whole, const int halves, int64_t m, const struct args *x)
{
  switch (m) {
  case 1:
    tile((struct shape){1, whole, halves, 0, 0}, x);
    break;
  case 2:
    tile((struct shape){2, whole, halves, 0, 0}, x);
    break;
  case 3:
    tile((struct shape){3, whole, halves, 0, 0}, x);
    break;
  case 4:
    tile((struct shape){4, whole, halves, 0, 0}, x);
    break;
  case 5:
    tile((struct shape){5, whole, halves, 0, 0}, x);
    break;
  case 6:
    tile((struct shape){6, whole, halves, 0, 0}, x);
    break;
  case 7:
    tile((struct shape){7, whole, halves, 0, 0}, x);
    break;
  default:
    if (x->rs_a == 1 && x->cs_a == MR)
      whole_tile(whole, halves, 1, x);
    else
      whole_tile(whole, halves, 0, x);
    break;
  }
}

static void packing(int64_t m, int64_t n, int64_t k, const void *alpha, const void *a, int64_t rs_a,
                    int64_t cs_a, const void *from, int64_t rs_from, void *b, const void *beta,
                    void *c, int64_t rs_c, const struct xg_fetch *fetch)
{
  const int64_t halves = (n + HALF - 1) / HALF;
  const int64_t odd = halves % 2 ? HALF : VL; /* lanes of the last vector */
  const struct args x = {.k = k,
                         .run = xg_run(k),
                         .rs_a = rs_a,
                         .cs_a = cs_a,
                         .rs_c = rs_c,
                         .a = a,
                         .b = b,
                         .from = from,
                         .rs_from = rs_from,
                         .alpha = *(const double *)alpha,
                         .beta = *(const double *)beta,
                         .c = c,
                         .fetch = *fetch,
                         .last = (__mmask8)((0xffu >> (VL - odd)) >> (halves * HALF - n))};
  switch (halves) {
  case 1:
    rows_of(0, 1, m, &x);
    break;
  case 2:
    rows_of(1, 0, m, &x);
    break;
  case 3:
    rows_of(0, 3, m, &x);
    break;
  case 4:
    rows_of(2, 0, m, &x);
    break;
  case 5:
    rows_of(2, 1, m, &x);
    break;
  default:
    rows_of(3, 0, m, &x);
    break;
  }
}

static void strided(int64_t m, int64_t n, int64_t k, const void *alpha, const void *a, int64_t rs_a,
                    int64_t cs_a, const void *b, const void *beta, void *c, int64_t rs_c,
                    const struct xg_fetch *fetch)
{
  packing(m, n, k, alpha, a, rs_a, cs_a, NULL, 0, (void *)b, beta, c, rs_c, fetch);
}

static void kernel(int64_t m, int64_t n, int64_t k, const void *alpha, const void *a, const void *b,
                   const void *beta, void *c, int64_t rs_c)
{
  const struct xg_fetch none = {NULL, 0, 0};
  strided(m, n, k, alpha, a, 1, MR, b, beta, c, rs_c, &none);
}

const struct xg_ukr dgemm_avx512_8x24 = {
    .name = "dgemm_avx512_8x24",
    .isa = XG_ISA_AVX512,
    .kind = XG_UKR_PANEL,
    .type = 'd',
    .mr = MR,
    .nr = NR,
    .flags = XG_UKR_MASKED | XG_UKR_HALVES,
    .priority = 20,
    .panel = kernel,
    .strided = strided,
    .packing = packing,
};
