/* cblas_sgemm, cblas_dgemm and their 64-bit names. A row-major product is the column-major product
 * of the swapped operands: C^T = op(B)^T op(A)^T, and a row-major matrix is its transpose in
 * column-major. */
#include <stdio.h>

#include "blas.h"
#include "xgemm_cblas.h"

int RowMajorStrg = 0;
int CBLAS_CallFromC = 0;

/* The program's handler, or another library's; libxgemm has none of its own. */
extern void cblas_xerbla(int info, const char *name, const char *format, ...) __attribute__((weak));

/* Netlib's protocol, which its test drivers check: handlers get the number as the swapped
 * column-major call saw it and swap it back when RowMajorStrg is 1. */
static int swapped(int position)
{
  switch (position) {
  case 4:
    return 5;
  case 5:
    return 4;
  case 9:
    return 11;
  case 11:
    return 9;
  }
  return position;
}

/* `position` counts the arguments of the call the user wrote. */
static void report(xgemm_type type, int row_major, int position, const char *format, int value)
{
  const char *name = type == XGEMM_F64 ? "cblas_dgemm" : "cblas_sgemm";
  if (!cblas_xerbla) {
    fprintf(stderr, "Parameter %d to routine %s was incorrect\n", position, name);
    return;
  }
  CBLAS_CallFromC = 1;
  RowMajorStrg = row_major;
  cblas_xerbla(row_major ? swapped(position) : position, name, format, value);
  CBLAS_CallFromC = 0;
  RowMajorStrg = 0;
}

/* 0: no transpose, 1: transpose, -1: unknown. */
static inline int transpose_of(CBLAS_TRANSPOSE trans)
{
  switch ((int)trans) {
  case CblasNoTrans:
    return 0;
  case CblasTrans:
  case CblasConjTrans:
    return 1;
  }
  return -1;
}

/* The first bad argument as the user counts, 0: none. Row-major leading dimensions count columns.
 */
static inline int first_bad(const struct xg_blas_call *g, int row_major)
{
  int64_t columns_a = g->transa ? g->m : g->k, columns_b = g->transb ? g->k : g->n;
  int64_t rows_a = g->transa ? g->k : g->m, rows_b = g->transb ? g->n : g->k;
  if (g->m < 0) return 4;
  if (g->n < 0) return 5;
  if (g->k < 0) return 6;
  if (xg_ld_too_short(g->lda, row_major ? columns_a : rows_a)) return 9;
  if (xg_ld_too_short(g->ldb, row_major ? columns_b : rows_b)) return 11;
  if (xg_ld_too_short(g->ldc, row_major ? g->n : g->m)) return 14;
  return 0;
}

static inline void call(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE transa, CBLAS_TRANSPOSE transb,
                        const struct xg_blas_call *g)
{
  int row_major = (int)layout == CblasRowMajor;
  if (!row_major && (int)layout != CblasColMajor) {
    report(g->type, 0, 1, "Illegal layout setting, %d\n", (int)layout);
    return;
  }
  if (g->transa < 0) {
    report(g->type, row_major, 2, "Illegal TransA setting, %d\n", (int)transa);
    return;
  }
  if (g->transb < 0) {
    report(g->type, row_major, 3, "Illegal TransB setting, %d\n", (int)transb);
    return;
  }
  int bad = first_bad(g, row_major);
  if (bad) {
    report(g->type, row_major, bad, "", 0);
    return;
  }
  struct xg_problem p = xg_blas_problem(g);
  if (row_major) {
    p.a = (struct xg_operand){p.a.data, p.a.cs, p.a.rs};
    p.b = (struct xg_operand){p.b.data, p.b.cs, p.b.rs};
    p.c = (struct xg_operand){p.c.data, p.c.cs, p.c.rs};
  }
  xg_execute_blas(&p);
}

void cblas_sgemm(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE transa, CBLAS_TRANSPOSE transb, int m, int n,
                 int k, float alpha, const float *a, int lda, const float *b, int ldb, float beta,
                 float *c, int ldc)
{
  call(layout, transa, transb,
       &(struct xg_blas_call){XGEMM_F32, transpose_of(transa), transpose_of(transb), m, n, k, lda,
                              ldb, ldc, alpha, beta, a, b, c});
}

void cblas_dgemm(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE transa, CBLAS_TRANSPOSE transb, int m, int n,
                 int k, double alpha, const double *a, int lda, const double *b, int ldb,
                 double beta, double *c, int ldc)
{
  call(layout, transa, transb,
       &(struct xg_blas_call){XGEMM_F64, transpose_of(transa), transpose_of(transb), m, n, k, lda,
                              ldb, ldc, alpha, beta, a, b, c});
}

void cblas_sgemm_64(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE transa, CBLAS_TRANSPOSE transb, int64_t m,
                    int64_t n, int64_t k, float alpha, const float *a, int64_t lda, const float *b,
                    int64_t ldb, float beta, float *c, int64_t ldc)
{
  call(layout, transa, transb,
       &(struct xg_blas_call){XGEMM_F32, transpose_of(transa), transpose_of(transb), m, n, k, lda,
                              ldb, ldc, alpha, beta, a, b, c});
}

void cblas_dgemm_64(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE transa, CBLAS_TRANSPOSE transb, int64_t m,
                    int64_t n, int64_t k, double alpha, const double *a, int64_t lda,
                    const double *b, int64_t ldb, double beta, double *c, int64_t ldc)
{
  call(layout, transa, transb,
       &(struct xg_blas_call){XGEMM_F64, transpose_of(transa), transpose_of(transb), m, n, k, lda,
                              ldb, ldc, alpha, beta, a, b, c});
}

void cblas_sgemm64_(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE transa, CBLAS_TRANSPOSE transb, int64_t m,
                    int64_t n, int64_t k, float alpha, const float *a, int64_t lda, const float *b,
                    int64_t ldb, float beta, float *c, int64_t ldc)
{
  cblas_sgemm_64(layout, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

void cblas_dgemm64_(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE transa, CBLAS_TRANSPOSE transb, int64_t m,
                    int64_t n, int64_t k, double alpha, const double *a, int64_t lda,
                    const double *b, int64_t ldb, double beta, double *c, int64_t ldc)
{
  cblas_dgemm_64(layout, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
