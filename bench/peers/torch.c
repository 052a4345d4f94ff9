/* The oneMKL inside PyTorch's libtorch_cpu.so, which shows the Fortran names only. (PyTorch's own
 * f32 and f64 products go there; its oneDNN has no name outside.) TORCH_FOLDER is given by
 * peers.sh. */
#include <dlfcn.h>

#include "peer.h"

static void (*sgemm)(const char *, const char *, const int *, const int *, const int *,
                     const float *, const float *, const int *, const float *, const int *,
                     const float *, float *, const int *);
static void (*dgemm)(const char *, const char *, const int *, const int *, const int *,
                     const double *, const double *, const int *, const double *, const int *,
                     const double *, double *, const int *);
static int (*set_local)(int);
static void (*set_omp)(int);

__attribute__((constructor)) static void load(void)
{
  void *torch = dlopen(TORCH_FOLDER "/libtorch_cpu.so", RTLD_NOW | RTLD_LOCAL);
  if (!torch) return;
  *(void **)&sgemm = dlsym(torch, "sgemm_");
  *(void **)&dgemm = dlsym(torch, "dgemm_");
  *(void **)&set_local = dlsym(torch, "MKL_Set_Num_Threads_Local");
  *(void **)&set_omp = dlsym(torch, "omp_set_num_threads");
}

void MKL_Set_Num_Threads(int threads);
void MKL_Set_Num_Threads(int threads)
{
  if (set_omp) set_omp(threads);
  if (set_local) set_local(threads);
}

const char *xg_peer_version(void)
{
  return sgemm ? "oneMKL within PyTorch" : "PyTorch could not be opened";
}

void cblas_sgemm(int layout, int ta, int tb, int m, int n, int k, float alpha, const float *a,
                 int lda, const float *b, int ldb, float beta, float *c, int ldc)
{
  const char *op_a = ta == NO_TRANS ? "N" : "T", *op_b = tb == NO_TRANS ? "N" : "T";
  if (!sgemm) return;
  if (layout == COL_MAJOR)
    sgemm(op_a, op_b, &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc);
  else
    sgemm(op_b, op_a, &n, &m, &k, &alpha, b, &ldb, a, &lda, &beta, c, &ldc);
}

void cblas_dgemm(int layout, int ta, int tb, int m, int n, int k, double alpha, const double *a,
                 int lda, const double *b, int ldb, double beta, double *c, int ldc)
{
  const char *op_a = ta == NO_TRANS ? "N" : "T", *op_b = tb == NO_TRANS ? "N" : "T";
  if (!dgemm) return;
  if (layout == COL_MAJOR)
    dgemm(op_a, op_b, &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc);
  else
    dgemm(op_b, op_a, &n, &m, &k, &alpha, b, &ldb, a, &lda, &beta, c, &ldc);
}
