/* What the Fortran and the C names share: arguments in, canonical product out. */
#ifndef XG_BLAS_H
#define XG_BLAS_H

#include "plan.h"

/* One BLAS call after its letters or enums are understood; column-major sense. */
struct xg_blas_call {
  xgemm_type type;
  int transa, transb; /* 0 or 1 */
  int64_t m, n, k, lda, ldb, ldc;
  double alpha, beta;
  const void *a, *b;
  void *c;
};

/* The rows that op(X) = X or X^T needs stored. */
static inline int xg_ld_too_short(int64_t ld, int64_t rows)
{
  return ld < (rows > 1 ? rows : 1);
}

/* Fortran's number of the first bad argument from M on, 0: none. The one rule for both front ends.
 */
static inline int xg_blas_check(const struct xg_blas_call *g)
{
  if (g->m < 0) return 3;
  if (g->n < 0) return 4;
  if (g->k < 0) return 5;
  if (xg_ld_too_short(g->lda, g->transa ? g->k : g->m)) return 8;
  if (xg_ld_too_short(g->ldb, g->transb ? g->n : g->k)) return 10;
  if (xg_ld_too_short(g->ldc, g->m)) return 13;
  return 0;
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
      .a = {(void *)g->a, g->transa ? g->lda : 1, g->transa ? 1 : g->lda},
      .b = {(void *)g->b, g->transb ? g->ldb : 1, g->transb ? 1 : g->ldb},
      .c = {g->c, 1, g->ldc},
  };
}

#endif
