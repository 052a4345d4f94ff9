/* What the Fortran and the C names share: arguments in, canonical product out. */
#ifndef XG_BLAS_H
#define XG_BLAS_H

#include "plan.h"

/* One BLAS call after its letters or enums are understood. */
struct xg_blas_call {
  xgemm_type type;
  int row_major;      /* 0 or 1 */
  int transa, transb; /* 0 or 1; anything else: not understood */
  int64_t m, n, k, lda, ldb, ldc;
  double alpha, beta;
  const void *a, *b;
  void *c;
};

/* Whether op(X)'s rows run along the leading dimension. */
static inline int xg_blas_turned(const struct xg_blas_call *g, int trans)
{
  return (trans != 0) != (g->row_major != 0);
}

static inline int xg_ld_too_short(int64_t ld, int64_t least)
{
  return ld < least || ld < 1;
}

/* Whether `lines` lines of `ld` elements have more bytes than an address can count. */
static inline int xg_ld_too_long(int64_t ld, int64_t lines, xgemm_type type)
{
  int64_t elements;
  return __builtin_mul_overflow(ld, lines, &elements) ||
         elements > INT64_MAX / (int64_t)xg_sizeof(type);
}

/* The one rule for all front ends: which argument is the first bad one. Column-major 3 4 5 8 10 13
 * for m n k lda ldb ldc, which is Fortran's count; 0: none. */
static inline int xg_blas_check(const struct xg_blas_call *g)
{
  if ((g->m | g->n | g->k) < 0) return g->m < 0 ? 3 : g->n < 0 ? 4 : 5;
  if (xg_ld_too_short(g->lda, xg_blas_turned(g, g->transa) ? g->k : g->m)) return 8;
  if (xg_ld_too_short(g->ldb, xg_blas_turned(g, g->transb) ? g->n : g->k)) return 10;
  if (xg_ld_too_short(g->ldc, g->row_major ? g->n : g->m)) return 13;
  if ((g->m | g->n | g->k | g->lda | g->ldb | g->ldc) >> 30 == 0) return 0;
  if (xg_ld_too_long(g->lda, xg_blas_turned(g, g->transa) ? g->m : g->k, g->type)) return 8;
  if (xg_ld_too_long(g->ldb, xg_blas_turned(g, g->transb) ? g->k : g->n, g->type)) return 10;
  if (xg_ld_too_long(g->ldc, g->row_major ? g->m : g->n, g->type)) return 13;
  return 0;
}

/* Whether a call is sound and its sizes between 1 and a bound: one comparison says so for all three
 * of them, and no byte offset can overflow. Only for speed: xg_blas_check() is the rule. */
static inline __attribute__((always_inline)) int xg_blas_is_plain(const struct xg_blas_call *g)
{
  enum { SIDE = 1 << 12, LONGEST = 40 };
  const uint64_t sizes = (uint64_t)(g->m - 1) | (uint64_t)(g->n - 1) | (uint64_t)(g->k - 1);
  return sizes < SIDE && (g->transa | g->transb) >= 0 &&
         g->lda >= (xg_blas_turned(g, g->transa) ? g->k : g->m) &&
         g->ldb >= (xg_blas_turned(g, g->transb) ? g->n : g->k) &&
         g->ldc >= (g->row_major ? g->n : g->m) && (g->lda | g->ldb | g->ldc) >> LONGEST == 0;
}

/* A matrix whose rows (turned) or columns lie `ld` apart. */
static inline struct xg_operand xg_blas_operand(const void *data, int turned, int64_t ld)
{
  return turned ? (struct xg_operand){(void *)data, ld, 1}
                : (struct xg_operand){(void *)data, 1, ld};
}

static inline struct xg_problem xg_blas_problem(const struct xg_blas_call *g)
{
  return (struct xg_problem){
      .type = g->type,
      .space = XGEMM_SPACE_HOST,
      .device = -1,
      .m = g->m,
      .n = g->n,
      .k = g->k,
      .alpha = g->alpha,
      .beta = g->beta,
      .a = xg_blas_operand(g->a, xg_blas_turned(g, g->transa), g->lda),
      .b = xg_blas_operand(g->b, xg_blas_turned(g, g->transb), g->ldb),
      .c = xg_blas_operand(g->c, g->row_major, g->ldc),
  };
}

static inline __attribute__((always_inline)) void xg_blas_run_plain(const struct xg_blas_call *g)
{
  struct xg_problem p = xg_blas_problem(g);
  if (!xg_done_by_tiny(&p)) xg_execute_blas_slowly(&p);
}

#endif
