/* OpenBLAS as PyPI's scipy-openblas32 has it: all names begin with scipy_. */
#include "peer.h"

void scipy_cblas_sgemm(int, int, int, int, int, int, float, const float *, int, const float *, int,
                       float, float *, int);
void scipy_cblas_dgemm(int, int, int, int, int, int, double, const double *, int, const double *,
                       int, double, double *, int);
void scipy_openblas_set_num_threads(int);
char *scipy_openblas_get_config(void);
void openblas_set_num_threads(int threads);

void openblas_set_num_threads(int threads)
{
  scipy_openblas_set_num_threads(threads);
}

const char *xg_peer_version(void)
{
  return scipy_openblas_get_config();
}

void cblas_sgemm(int layout, int ta, int tb, int m, int n, int k, float alpha, const float *a,
                 int lda, const float *b, int ldb, float beta, float *c, int ldc)
{
  scipy_cblas_sgemm(layout, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

void cblas_dgemm(int layout, int ta, int tb, int m, int n, int k, double alpha, const double *a,
                 int lda, const double *b, int ldb, double beta, double *c, int ldc)
{
  scipy_cblas_dgemm(layout, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
