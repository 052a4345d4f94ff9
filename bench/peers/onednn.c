/* oneDNN: dnnl_sgemm is row-major, f32 only. */
#include <stdint.h>
#include <stdio.h>

#include "peer.h"

/* Declared here: the packages of PyPI have no headers at a fixed place. */
int dnnl_sgemm(char ta, char tb, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
               int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc);
const struct {
  int major, minor, patch;
} * dnnl_version(void);

const char *xg_peer_version(void)
{
  static char text[64];
  snprintf(text, sizeof text, "oneDNN %d.%d.%d", dnnl_version()->major, dnnl_version()->minor,
           dnnl_version()->patch);
  return text;
}

void cblas_sgemm(int layout, int ta, int tb, int m, int n, int k, float alpha, const float *a,
                 int lda, const float *b, int ldb, float beta, float *c, int ldc)
{
  char op_a = ta == NO_TRANS ? 'N' : 'T', op_b = tb == NO_TRANS ? 'N' : 'T';
  if (layout == ROW_MAJOR)
    dnnl_sgemm(op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  else
    dnnl_sgemm(op_b, op_a, n, m, k, alpha, b, ldb, a, lda, beta, c, ldc);
}
