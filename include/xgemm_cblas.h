/* xgemm_cblas.h - the BLAS names that libxgemm exports, in C and in Fortran's calling convention.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * C = alpha * op(A) * op(B) + beta * C with op(X) = X or its transpose. Operands are host (or
 * managed) memory. Leading dimensions, column-major: lda >= max(1, rows of A as stored), and so on;
 * row-major: columns. Errors go to cblas_xerbla or xerbla_ if the program or another of its
 * libraries has one (positions as in netlib's), else one line on stderr; the call then returns with
 * C unchanged. This header may be included beside another cblas.h only if that one came first.
 */
#ifndef XGEMM_CBLAS_H
#define XGEMM_CBLAS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if !defined(CBLAS_H) && !defined(__MKL_CBLAS_H__) && !defined(__GSL_CBLAS_H__)
#ifndef CBLAS_H
#define CBLAS_H
#endif
/* Tag, typedef and macro as netlib has them, so that CBLAS_ORDER and enum CBLAS_ORDER both work. */
typedef enum CBLAS_LAYOUT { CblasRowMajor = 101, CblasColMajor = 102 } CBLAS_LAYOUT;
typedef enum CBLAS_TRANSPOSE {
  CblasNoTrans = 111,
  CblasTrans = 112,
  CblasConjTrans = 113 /* real types: the same as CblasTrans */
} CBLAS_TRANSPOSE;
#define CBLAS_ORDER CBLAS_LAYOUT
#endif

/* Below, `enum CBLAS_ORDER` and `enum CBLAS_TRANSPOSE`: the one spelling that netlib's, OpenBLAS's,
 * MKL's and BLIS's headers all understand. */
#ifndef XGEMM_API
#if defined(__GNUC__)
#define XGEMM_API __attribute__((visibility("default")))
#else
#define XGEMM_API
#endif
#endif

/* LP64: 32-bit integers. */
XGEMM_API void cblas_sgemm(enum CBLAS_ORDER layout, enum CBLAS_TRANSPOSE transa,
                           enum CBLAS_TRANSPOSE transb, int m, int n, int k, float alpha,
                           const float *a, int lda, const float *b, int ldb, float beta, float *c,
                           int ldc);
XGEMM_API void cblas_dgemm(enum CBLAS_ORDER layout, enum CBLAS_TRANSPOSE transa,
                           enum CBLAS_TRANSPOSE transb, int m, int n, int k, double alpha,
                           const double *a, int lda, const double *b, int ldb, double beta,
                           double *c, int ldc);

/* ILP64: 64-bit integers, in netlib's and MKL's spelling and in OpenBLAS's SUFFIX=64_ spelling. */
XGEMM_API void cblas_sgemm_64(enum CBLAS_ORDER layout, enum CBLAS_TRANSPOSE transa,
                              enum CBLAS_TRANSPOSE transb, int64_t m, int64_t n, int64_t k,
                              float alpha, const float *a, int64_t lda, const float *b, int64_t ldb,
                              float beta, float *c, int64_t ldc);
XGEMM_API void cblas_dgemm_64(enum CBLAS_ORDER layout, enum CBLAS_TRANSPOSE transa,
                              enum CBLAS_TRANSPOSE transb, int64_t m, int64_t n, int64_t k,
                              double alpha, const double *a, int64_t lda, const double *b,
                              int64_t ldb, double beta, double *c, int64_t ldc);
XGEMM_API void cblas_sgemm64_(enum CBLAS_ORDER layout, enum CBLAS_TRANSPOSE transa,
                              enum CBLAS_TRANSPOSE transb, int64_t m, int64_t n, int64_t k,
                              float alpha, const float *a, int64_t lda, const float *b, int64_t ldb,
                              float beta, float *c, int64_t ldc);
XGEMM_API void cblas_dgemm64_(enum CBLAS_ORDER layout, enum CBLAS_TRANSPOSE transa,
                              enum CBLAS_TRANSPOSE transb, int64_t m, int64_t n, int64_t k,
                              double alpha, const double *a, int64_t lda, const double *b,
                              int64_t ldb, double beta, double *c, int64_t ldc);

/* Fortran, LP64. Letters N, T, C in either case. The two hidden lengths that gfortran passes at the
 * end are neither declared nor read. */
XGEMM_API void sgemm_(const char *transa, const char *transb, const int *m, const int *n,
                      const int *k, const float *alpha, const float *a, const int *lda,
                      const float *b, const int *ldb, const float *beta, float *c, const int *ldc);
XGEMM_API void dgemm_(const char *transa, const char *transb, const int *m, const int *n,
                      const int *k, const double *alpha, const double *a, const int *lda,
                      const double *b, const int *ldb, const double *beta, double *c,
                      const int *ldc);

/* Fortran, ILP64. */
XGEMM_API void sgemm_64_(const char *transa, const char *transb, const int64_t *m, const int64_t *n,
                         const int64_t *k, const float *alpha, const float *a, const int64_t *lda,
                         const float *b, const int64_t *ldb, const float *beta, float *c,
                         const int64_t *ldc);
XGEMM_API void dgemm_64_(const char *transa, const char *transb, const int64_t *m, const int64_t *n,
                         const int64_t *k, const double *alpha, const double *a, const int64_t *lda,
                         const double *b, const int64_t *ldb, const double *beta, double *c,
                         const int64_t *ldc);

/* 1 while a handler is called for a row-major CBLAS call, and for any CBLAS call; error handlers
 * written for netlib's CBLAS read them. */
extern XGEMM_API int RowMajorStrg;
extern XGEMM_API int CBLAS_CallFromC;

#ifdef __cplusplus
}
#endif

#endif
