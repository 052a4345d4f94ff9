/* libxsmm 1.17: its gemm call, which generates a kernel where it can and hands on to OpenBLAS where
 * it cannot; and the generated kernel itself. Column-major, so row-major is turned round. */
#include <libxsmm.h>

#include "peer.h"

struct product {
  char ta, tb;
  libxsmm_blasint m, n, k, lda, ldb, ldc;
  int swapped; /* C' = B' A' */
};

static struct product turn(int layout, int ta, int tb, int m, int n, int k, int lda, int ldb,
                           int ldc)
{
  char op_a = ta == NO_TRANS ? 'N' : 'T', op_b = tb == NO_TRANS ? 'N' : 'T';
  if (layout == ROW_MAJOR) return (struct product){op_b, op_a, n, m, k, ldb, lda, ldc, 1};
  return (struct product){op_a, op_b, m, n, k, lda, ldb, ldc, 0};
}

void cblas_sgemm(int layout, int ta, int tb, int m, int n, int k, float alpha, const float *a,
                 int lda, const float *b, int ldb, float beta, float *c, int ldc)
{
  struct product p = turn(layout, ta, tb, m, n, k, lda, ldb, ldc);
  libxsmm_sgemm(&p.ta, &p.tb, &p.m, &p.n, &p.k, &alpha, p.swapped ? b : a, &p.lda,
                p.swapped ? a : b, &p.ldb, &beta, c, &p.ldc);
}

void cblas_dgemm(int layout, int ta, int tb, int m, int n, int k, double alpha, const double *a,
                 int lda, const double *b, int ldb, double beta, double *c, int ldc)
{
  struct product p = turn(layout, ta, tb, m, n, k, lda, ldb, ldc);
  libxsmm_dgemm(&p.ta, &p.tb, &p.m, &p.n, &p.k, &alpha, p.swapped ? b : a, &p.lda,
                p.swapped ? a : b, &p.ldb, &beta, c, &p.ldc);
}

const char *xg_peer_version(void)
{
  return "libxsmm " LIBXSMM_VERSION ", OpenBLAS beyond its sizes";
}

/* A row-major call would have to swap its operands: left out, as are transposes of A. */
xg_peer_kernel_fn *xg_peer_kernel(int f64, int layout, int ta, int tb, int m, int n, int k,
                                  double alpha, int lda, int ldb, double beta, int ldc)
{
  struct product p = turn(layout, ta, tb, m, n, k, lda, ldb, ldc);
  int flags =
      (p.ta == 'T' ? LIBXSMM_GEMM_FLAG_TRANS_A : 0) | (p.tb == 'T' ? LIBXSMM_GEMM_FLAG_TRANS_B : 0);
  float alpha32 = (float)alpha, beta32 = (float)beta;
  if (p.swapped) return 0;
  if (f64)
    return (xg_peer_kernel_fn *)libxsmm_dmmdispatch(p.m, p.n, p.k, &p.lda, &p.ldb, &p.ldc, &alpha,
                                                    &beta, &flags, 0);
  return (xg_peer_kernel_fn *)libxsmm_smmdispatch(p.m, p.n, p.k, &p.lda, &p.ldb, &p.ldc, &alpha32,
                                                  &beta32, &flags, 0);
}
