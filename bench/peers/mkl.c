/* oneMKL with GNU's OpenMP. Its single library looks for its parts by name: opened here by path
 * before, they are found without LD_LIBRARY_PATH. MKL_FOLDER is given by peers.sh. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"

static void (*set_threads)(int);
static void (*version)(char *, int);
static void (*sgemm)(int, int, int, int, int, int, float, const float *, int, const float *, int,
                     float, float *, int);
static void (*dgemm)(int, int, int, int, int, int, double, const double *, int, const double *, int,
                     double, double *, int);

static void *part(const char *name)
{
  char path[1024];
  snprintf(path, sizeof path, "%s/libmkl_%s", MKL_FOLDER, name);
  return dlopen(path, RTLD_LAZY | RTLD_GLOBAL);
}

__attribute__((constructor)) static void load(void)
{
  static const char *const parts[] = {"core.so.3", "gnu_thread.so.3", "intel_lp64.so.3",
                                      "core.so.2", "gnu_thread.so.2", "intel_lp64.so.2"};
  setenv("MKL_THREADING_LAYER", "GNU", 0);
  setenv("MKL_INTERFACE_LAYER", "LP64", 0);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) part(parts[i]);
  void *mkl = part("rt.so.3");
  if (!mkl) mkl = part("rt.so.2");
  if (!mkl) return;
  *(void **)&set_threads = dlsym(mkl, "MKL_Set_Num_Threads");
  *(void **)&version = dlsym(mkl, "MKL_Get_Version_String");
  *(void **)&sgemm = dlsym(mkl, "cblas_sgemm");
  *(void **)&dgemm = dlsym(mkl, "cblas_dgemm");
}

void MKL_Set_Num_Threads(int threads);
void MKL_Set_Num_Threads(int threads)
{
  if (set_threads) set_threads(threads);
}

const char *xg_peer_version(void)
{
  static char text[256];
  if (version) version(text, sizeof text);
  return text;
}

void cblas_sgemm(int layout, int ta, int tb, int m, int n, int k, float alpha, const float *a,
                 int lda, const float *b, int ldb, float beta, float *c, int ldc)
{
  if (sgemm) sgemm(layout, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

void cblas_dgemm(int layout, int ta, int tb, int m, int n, int k, double alpha, const double *a,
                 int lda, const double *b, int ldb, double beta, double *c, int ldc)
{
  if (dgemm) dgemm(layout, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
