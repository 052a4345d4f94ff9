#include "blas_names.h"

#include "xgemm_cblas.h"

/* Fortran callers pass two lengths at the end that no C prototype shows. */
typedef void fortran_f32(const char *, const char *, const int *, const int *, const int *,
                         const float *, const float *, const int *, const float *, const int *,
                         const float *, float *, const int *, size_t, size_t);
typedef void fortran_f64(const char *, const char *, const int *, const int *, const int *,
                         const double *, const double *, const int *, const double *, const int *,
                         const double *, double *, const int *, size_t, size_t);

static void call_sgemm_(const struct blas_call *g)
{
  char ta = (char)g->transa, tb = (char)g->transb;
  int m = (int)g->m, n = (int)g->n, k = (int)g->k;
  int lda = (int)g->lda, ldb = (int)g->ldb, ldc = (int)g->ldc;
  float alpha = (float)g->alpha, beta = (float)g->beta;
  fortran_f32 *f = (fortran_f32 *)(void (*)(void))sgemm_;
  f(&ta, &tb, &m, &n, &k, &alpha, g->a, &lda, g->b, &ldb, &beta, g->c, &ldc, 1, 1);
}

static void call_dgemm_(const struct blas_call *g)
{
  char ta = (char)g->transa, tb = (char)g->transb;
  int m = (int)g->m, n = (int)g->n, k = (int)g->k;
  int lda = (int)g->lda, ldb = (int)g->ldb, ldc = (int)g->ldc;
  fortran_f64 *f = (fortran_f64 *)(void (*)(void))dgemm_;
  f(&ta, &tb, &m, &n, &k, &g->alpha, g->a, &lda, g->b, &ldb, &g->beta, g->c, &ldc, 1, 1);
}

static void call_sgemm_64_(const struct blas_call *g)
{
  char ta = (char)g->transa, tb = (char)g->transb;
  float alpha = (float)g->alpha, beta = (float)g->beta;
  sgemm_64_(&ta, &tb, &g->m, &g->n, &g->k, &alpha, g->a, &g->lda, g->b, &g->ldb, &beta, g->c,
            &g->ldc);
}

static void call_dgemm_64_(const struct blas_call *g)
{
  char ta = (char)g->transa, tb = (char)g->transb;
  dgemm_64_(&ta, &tb, &g->m, &g->n, &g->k, &g->alpha, g->a, &g->lda, g->b, &g->ldb, &g->beta, g->c,
            &g->ldc);
}

static void call_cblas_sgemm(const struct blas_call *g)
{
  cblas_sgemm((CBLAS_LAYOUT)g->layout, (CBLAS_TRANSPOSE)g->transa, (CBLAS_TRANSPOSE)g->transb,
              (int)g->m, (int)g->n, (int)g->k, (float)g->alpha, g->a, (int)g->lda, g->b,
              (int)g->ldb, (float)g->beta, g->c, (int)g->ldc);
}

static void call_cblas_dgemm(const struct blas_call *g)
{
  cblas_dgemm((CBLAS_LAYOUT)g->layout, (CBLAS_TRANSPOSE)g->transa, (CBLAS_TRANSPOSE)g->transb,
              (int)g->m, (int)g->n, (int)g->k, g->alpha, g->a, (int)g->lda, g->b, (int)g->ldb,
              g->beta, g->c, (int)g->ldc);
}

static void call_cblas_sgemm_64(const struct blas_call *g)
{
  cblas_sgemm_64((CBLAS_LAYOUT)g->layout, (CBLAS_TRANSPOSE)g->transa, (CBLAS_TRANSPOSE)g->transb,
                 g->m, g->n, g->k, (float)g->alpha, g->a, g->lda, g->b, g->ldb, (float)g->beta,
                 g->c, g->ldc);
}

static void call_cblas_dgemm_64(const struct blas_call *g)
{
  cblas_dgemm_64((CBLAS_LAYOUT)g->layout, (CBLAS_TRANSPOSE)g->transa, (CBLAS_TRANSPOSE)g->transb,
                 g->m, g->n, g->k, g->alpha, g->a, g->lda, g->b, g->ldb, g->beta, g->c, g->ldc);
}

static void call_cblas_sgemm64_(const struct blas_call *g)
{
  cblas_sgemm64_((CBLAS_LAYOUT)g->layout, (CBLAS_TRANSPOSE)g->transa, (CBLAS_TRANSPOSE)g->transb,
                 g->m, g->n, g->k, (float)g->alpha, g->a, g->lda, g->b, g->ldb, (float)g->beta,
                 g->c, g->ldc);
}

static void call_cblas_dgemm64_(const struct blas_call *g)
{
  cblas_dgemm64_((CBLAS_LAYOUT)g->layout, (CBLAS_TRANSPOSE)g->transa, (CBLAS_TRANSPOSE)g->transb,
                 g->m, g->n, g->k, g->alpha, g->a, g->lda, g->b, g->ldb, g->beta, g->c, g->ldc);
}

const struct blas_name blas_names[BLAS_NAMES] = {
    {"sgemm_", "SGEMM", 1, 1, call_sgemm_},
    {"dgemm_", "DGEMM", 1, 0, call_dgemm_},
    {"sgemm_64_", "SGEMM", 1, 1, call_sgemm_64_},
    {"dgemm_64_", "DGEMM", 1, 0, call_dgemm_64_},
    {"cblas_sgemm", "cblas_sgemm", 0, 1, call_cblas_sgemm},
    {"cblas_dgemm", "cblas_dgemm", 0, 0, call_cblas_dgemm},
    {"cblas_sgemm_64", "cblas_sgemm", 0, 1, call_cblas_sgemm_64},
    {"cblas_dgemm_64", "cblas_dgemm", 0, 0, call_cblas_dgemm_64},
    {"cblas_sgemm64_", "cblas_sgemm", 0, 1, call_cblas_sgemm64_},
    {"cblas_dgemm64_", "cblas_dgemm", 0, 0, call_cblas_dgemm64_},
};
