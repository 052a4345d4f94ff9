/* What a peer library exports: the CBLAS names, as far as it has them, and
 *   xg_peer_version()   a line of text
 *   xg_peer_kernel()    where it generates code: a function for one product and nothing else, or
 * NULL Built by bench/peers.sh, opened by `xgemm bench --peers DIR`. */
#ifndef PEER_H
#define PEER_H

enum { ROW_MAJOR = 101, COL_MAJOR = 102, NO_TRANS = 111, TRANS = 112 };

void cblas_sgemm(int layout, int ta, int tb, int m, int n, int k, float alpha, const float *a,
                 int lda, const float *b, int ldb, float beta, float *c, int ldc);
void cblas_dgemm(int layout, int ta, int tb, int m, int n, int k, double alpha, const double *a,
                 int lda, const double *b, int ldb, double beta, double *c, int ldc);

const char *xg_peer_version(void);

typedef void xg_peer_kernel_fn(const void *a, const void *b, void *c);
xg_peer_kernel_fn *xg_peer_kernel(int f64, int layout, int ta, int tb, int m, int n, int k,
                                  double alpha, int lda, int ldb, double beta, int ldc);

#endif
