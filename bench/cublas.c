#include "cublas.h"

#include <dlfcn.h>
#include <stdio.h>

#include "device.h"

static struct {
  void *handle;
  int (*create)(void **);
  int (*set_stream)(void *, void *);
  int (*get_version)(void *, int *);
  /* 64-bit sizes: cuBLAS 12 and later */
  int (*sgemm)(void *, int, int, int64_t, int64_t, int64_t, const float *, const float *, int64_t,
               const float *, int64_t, const float *, float *, int64_t);
  int (*dgemm)(void *, int, int, int64_t, int64_t, int64_t, const double *, const double *, int64_t,
               const double *, int64_t, const double *, double *, int64_t);
} cublas;

static const char *open_library(void)
{
  static const char *const files[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so",
                                      "/usr/local/cuda/lib64/libcublas.so"};
  void *library = NULL;
  for (size_t i = 0; i < sizeof files / sizeof *files && !library; i++)
    library = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
  if (!library) return "libcublas.so.13 or .12 is not installed";
  *(void **)&cublas.create = dlsym(library, "cublasCreate_v2");
  *(void **)&cublas.set_stream = dlsym(library, "cublasSetStream_v2");
  *(void **)&cublas.get_version = dlsym(library, "cublasGetVersion_v2");
  *(void **)&cublas.sgemm = dlsym(library, "cublasSgemm_v2_64");
  *(void **)&cublas.dgemm = dlsym(library, "cublasDgemm_v2_64");
  if (!cublas.create || !cublas.set_stream || !cublas.get_version || !cublas.sgemm || !cublas.dgemm)
    return "this libcublas is older than 12";
  return NULL;
}

const char *xgb_cublas_open(char *version, size_t size)
{
  int number = 0;
  const char *why = xgb_device_reason();
  if (!why) why = open_library();
  if (why) return why;
  if (cublas.create(&cublas.handle) || cublas.set_stream(cublas.handle, xgb_device_stream()))
    return "cublasCreate failed";
  cublas.get_version(cublas.handle, &number);
  snprintf(version, size, "cuBLAS %d.%d.%d", number / 10000, number / 100 % 100, number % 100);
  return NULL;
}

int xgb_cublas_call(const struct xgb_case *c, const void *a, const void *b, void *out)
{
  int ta = c->transa == 'T', tb = c->transb == 'T';
  int64_t m = c->m, n = c->n, lda = c->lda, ldb = c->ldb;
  if (c->row_major) { /* C^T = B^T A^T */
    const void *swap = a;
    a = b, b = swap;
    ta = c->transb == 'T', tb = c->transa == 'T';
    m = c->n, n = c->m, lda = c->ldb, ldb = c->lda;
  }
  if (c->type == XGEMM_F64)
    return cublas.dgemm(cublas.handle, ta, tb, m, n, c->k, &c->alpha, a, lda, b, ldb, &c->beta, out,
                        c->ldc);
  float alpha = (float)c->alpha, beta = (float)c->beta;
  return cublas.sgemm(cublas.handle, ta, tb, m, n, c->k, &alpha, a, lda, b, ldb, &beta, out,
                      c->ldc);
}
