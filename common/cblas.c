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

/* 0: no transpose, 1: transpose, -1: unknown. */
static inline int transpose_of(CBLAS_TRANSPOSE trans)
{
  const unsigned code = (unsigned)trans - CblasNoTrans;
  return code > CblasConjTrans - CblasNoTrans ? -1 : code != 0;
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

/* What is wrong with a call of which `bad` (xg_blas_check) or an enum is. */
static __attribute__((cold, noinline)) void refuse(xgemm_type type, CBLAS_LAYOUT layout,
                                                   CBLAS_TRANSPOSE transa, CBLAS_TRANSPOSE transb,
                                                   int bad)
{
  const int row_major = (int)layout == CblasRowMajor;
  if (!row_major && (int)layout != CblasColMajor)
    report(type, 0, 1, "Illegal layout setting, %d\n", (int)layout);
  else if (transpose_of(transa) < 0)
    report(type, row_major, 2, "Illegal TransA setting, %d\n", (int)transa);
  else if (transpose_of(transb) < 0)
    report(type, row_major, 3, "Illegal TransB setting, %d\n", (int)transb);
  else
    report(type, row_major, bad + 1, "", 0);
}

static __attribute__((noinline)) void call_checked(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE transa,
                                                   CBLAS_TRANSPOSE transb,
                                                   const struct xg_blas_call *g)
{
  const int known = (unsigned)layout - CblasRowMajor <= CblasColMajor - CblasRowMajor;
  const int bad = xg_blas_check(g);
  if (!known || g->transa < 0 || g->transb < 0 || bad) {
    refuse(g->type, layout, transa, transb, bad);
    return;
  }
  struct xg_problem p = xg_blas_problem(g);
  xg_execute_blas(&p);
}

/* What is not plain goes elsewhere, with a copy: the arguments of the rest never lie in memory. */
static inline __attribute__((always_inline)) void call(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE transa,
                                                       CBLAS_TRANSPOSE transb,
                                                       const struct xg_blas_call *g)
{
  const int known = (unsigned)layout - CblasRowMajor <= CblasColMajor - CblasRowMajor;
  if (__builtin_expect(known && xg_blas_is_plain(g), 1)) {
    xg_blas_run_plain(g);
  } else {
    const struct xg_blas_call copy = *g;
    call_checked(layout, transa, transb, &copy);
  }
}

void cblas_sgemm(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE transa, CBLAS_TRANSPOSE transb, int m, int n,
                 int k, float alpha, const float *a, int lda, const float *b, int ldb, float beta,
                 float *c, int ldc)
{
  call(layout, transa, transb,
       &(struct xg_blas_call){XGEMM_F32, (int)layout == CblasRowMajor, transpose_of(transa),
                              transpose_of(transb), m, n, k, lda, ldb, ldc, alpha, beta, a, b, c});
}

void cblas_dgemm(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE transa, CBLAS_TRANSPOSE transb, int m, int n,
                 int k, double alpha, const double *a, int lda, const double *b, int ldb,
                 double beta, double *c, int ldc)
{
  call(layout, transa, transb,
       &(struct xg_blas_call){XGEMM_F64, (int)layout == CblasRowMajor, transpose_of(transa),
                              transpose_of(transb), m, n, k, lda, ldb, ldc, alpha, beta, a, b, c});
}

void cblas_sgemm_64(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE transa, CBLAS_TRANSPOSE transb, int64_t m,
                    int64_t n, int64_t k, float alpha, const float *a, int64_t lda, const float *b,
                    int64_t ldb, float beta, float *c, int64_t ldc)
{
  call(layout, transa, transb,
       &(struct xg_blas_call){XGEMM_F32, (int)layout == CblasRowMajor, transpose_of(transa),
                              transpose_of(transb), m, n, k, lda, ldb, ldc, alpha, beta, a, b, c});
}

void cblas_dgemm_64(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE transa, CBLAS_TRANSPOSE transb, int64_t m,
                    int64_t n, int64_t k, double alpha, const double *a, int64_t lda,
                    const double *b, int64_t ldb, double beta, double *c, int64_t ldc)
{
  call(layout, transa, transb,
       &(struct xg_blas_call){XGEMM_F64, (int)layout == CblasRowMajor, transpose_of(transa),
                              transpose_of(transb), m, n, k, lda, ldb, ldc, alpha, beta, a, b, c});
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
