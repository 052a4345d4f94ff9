/* sgemm_, dgemm_ and their 64-bit names: Fortran's calling convention. */
#include <stdio.h>

#include "blas.h"
#include "xgemm_cblas.h"

/* The program's handler, or another library's; libxgemm has none of its own (a full BLAS does). The
 * hidden length is gfortran's. */
extern void xerbla_(const char *name, const int *info, size_t length) __attribute__((weak));

static __attribute__((cold, noinline)) void report(xgemm_type type, int info)
{
  const char *name = type == XGEMM_F64 ? "DGEMM " : "SGEMM ";
  if (xerbla_)
    xerbla_(name, &info, 6);
  else
    fprintf(stderr, " ** On entry to %s parameter number %2d had an illegal value\n", name, info);
}

/* 0: no transpose, 1: transpose, -1: not one of N T C. */
static inline int transpose_of(char letter)
{
  switch (letter) {
  case 'N':
  case 'n':
    return 0;
  case 'T':
  case 't':
  case 'C':
  case 'c':
    return 1;
  }
  return -1;
}

static __attribute__((noinline)) void call_checked(const struct xg_blas_call *g)
{
  int info = g->transa < 0 ? 1 : g->transb < 0 ? 2 : xg_blas_check(g);
  if (info) {
    report(g->type, info);
    return;
  }
  struct xg_problem p = xg_blas_problem(g);
  xg_execute_blas(&p);
}

/* As in cblas.c. */
static inline __attribute__((always_inline)) void call(const struct xg_blas_call *g)
{
  if (__builtin_expect(xg_blas_is_plain(g), 1)) {
    xg_blas_run_plain(g);
  } else {
    const struct xg_blas_call copy = *g;
    call_checked(&copy);
  }
}

void sgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k,
            const float *alpha, const float *a, const int *lda, const float *b, const int *ldb,
            const float *beta, float *c, const int *ldc)
{
  call(&(struct xg_blas_call){XGEMM_F32, 0, transpose_of(*transa), transpose_of(*transb), *m, *n,
                              *k, *lda, *ldb, *ldc, *alpha, *beta, a, b, c});
}

void dgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k,
            const double *alpha, const double *a, const int *lda, const double *b, const int *ldb,
            const double *beta, double *c, const int *ldc)
{
  call(&(struct xg_blas_call){XGEMM_F64, 0, transpose_of(*transa), transpose_of(*transb), *m, *n,
                              *k, *lda, *ldb, *ldc, *alpha, *beta, a, b, c});
}

void sgemm_64_(const char *transa, const char *transb, const int64_t *m, const int64_t *n,
               const int64_t *k, const float *alpha, const float *a, const int64_t *lda,
               const float *b, const int64_t *ldb, const float *beta, float *c, const int64_t *ldc)
{
  call(&(struct xg_blas_call){XGEMM_F32, 0, transpose_of(*transa), transpose_of(*transb), *m, *n,
                              *k, *lda, *ldb, *ldc, *alpha, *beta, a, b, c});
}

void dgemm_64_(const char *transa, const char *transb, const int64_t *m, const int64_t *n,
               const int64_t *k, const double *alpha, const double *a, const int64_t *lda,
               const double *b, const int64_t *ldb, const double *beta, double *c,
               const int64_t *ldc)
{
  call(&(struct xg_blas_call){XGEMM_F64, 0, transpose_of(*transa), transpose_of(*transb), *m, *n,
                              *k, *lda, *ldb, *ldc, *alpha, *beta, a, b, c});
}
