#include "cublas.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "device.h"

/* Numbers of cublas_api.h, cublasLt.h and library_types.h, which need not be installed. */
enum { R_32F = 0, R_64F = 1, R_16F = 2, R_16BF = 14 };
enum { COMPUTE_32F = 68, COMPUTE_64F = 70 };
enum { DESC_TRANSA = 3, DESC_TRANSB = 4, PREF_MAX_WORKSPACE_BYTES = 1, GEMM_DEFAULT = -1 };

struct heuristic { /* cublasLtMatmulHeuristicResult_t */
  uint64_t algorithm[8];
  size_t workspace;
  int state;
  float waves;
  int reserved[4];
};

static struct {
  void *handle;
  int (*create)(void **);
  int (*set_stream)(void *, void *);
  int (*set_workspace)(void *, void *, size_t);
  int (*get_version)(void *, int *);
  /* 64-bit sizes: cuBLAS 12 and later */
  int (*sgemm)(void *, int, int, int64_t, int64_t, int64_t, const float *, const void *, int64_t,
               const void *, int64_t, const float *, void *, int64_t);
  int (*dgemm)(void *, int, int, int64_t, int64_t, int64_t, const double *, const void *, int64_t,
               const void *, int64_t, const double *, void *, int64_t);
  int (*gemm_ex)(void *, int, int, int64_t, int64_t, int64_t, const void *, const void *, int,
                 int64_t, const void *, int, int64_t, const void *, void *, int, int64_t, int, int);
} cublas;

static struct {
  void *handle, *preference;
  int (*create)(void **);
  int (*desc_create)(void **, int, int);
  int (*desc_set)(void *, int, const void *, size_t);
  int (*desc_destroy)(void *);
  int (*layout_create)(void **, int, uint64_t, uint64_t, int64_t);
  int (*layout_destroy)(void *);
  int (*preference_create)(void **);
  int (*preference_set)(void *, int, const void *, size_t);
  int (*heuristic)(void *, void *, void *, void *, void *, void *, void *, int, struct heuristic *,
                   int *);
  int (*matmul)(void *, void *, const void *, const void *, void *, const void *, void *,
                const void *, const void *, void *, void *, void *, const uint64_t *, void *,
                size_t, void *);
} lt;

static const size_t workspace_bytes = (size_t)64 << 20;
static void *workspace;

/* ---------------------------------------------------------------- opening */

struct symbol {
  const char *name;
  void *where;
};

static int find_all(void *library, const struct symbol *symbols, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    void *found = dlsym(library, symbols[i].name);
    if (!found) return -1;
    memcpy(symbols[i].where, &found, sizeof found);
  }
  return 0;
}

static void *open_first(const char *const *files)
{
  void *library = NULL;
  for (; *files && !library; files++) library = dlopen(*files, RTLD_NOW | RTLD_LOCAL);
  return library;
}

static const char *open_library(void)
{
  static const char *const files[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so",
                                      "/usr/local/cuda/lib64/libcublas.so", NULL};
  static const struct symbol symbols[] = {{"cublasCreate_v2", &cublas.create},
                                          {"cublasSetStream_v2", &cublas.set_stream},
                                          {"cublasGetVersion_v2", &cublas.get_version},
                                          {"cublasSetWorkspace_v2", &cublas.set_workspace},
                                          {"cublasSgemm_v2_64", &cublas.sgemm},
                                          {"cublasDgemm_v2_64", &cublas.dgemm},
                                          {"cublasGemmEx_64", &cublas.gemm_ex}};
  void *library = open_first(files);
  if (!library) return "libcublas.so.13 or .12 is not installed";
  return find_all(library, symbols, sizeof symbols / sizeof *symbols)
             ? "this libcublas is older than 12"
             : NULL;
}

static const char *open_lt(void)
{
  static const char *const files[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so",
                                      "/usr/local/cuda/lib64/libcublasLt.so", NULL};
  static const struct symbol symbols[] = {
      {"cublasLtCreate", &lt.create},
      {"cublasLtMatmulDescCreate", &lt.desc_create},
      {"cublasLtMatmulDescSetAttribute", &lt.desc_set},
      {"cublasLtMatmulDescDestroy", &lt.desc_destroy},
      {"cublasLtMatrixLayoutCreate", &lt.layout_create},
      {"cublasLtMatrixLayoutDestroy", &lt.layout_destroy},
      {"cublasLtMatmulPreferenceCreate", &lt.preference_create},
      {"cublasLtMatmulPreferenceSetAttribute", &lt.preference_set},
      {"cublasLtMatmulAlgoGetHeuristic", &lt.heuristic},
      {"cublasLtMatmul", &lt.matmul}};
  void *library = open_first(files);
  if (!library) return "libcublasLt.so.13 or .12 is not installed";
  if (find_all(library, symbols, sizeof symbols / sizeof *symbols) || lt.create(&lt.handle) ||
      lt.preference_create(&lt.preference) ||
      lt.preference_set(lt.preference, PREF_MAX_WORKSPACE_BYTES, &workspace_bytes,
                        sizeof workspace_bytes))
    return "cublasLt cannot be used";
  return NULL;
}

const char *xgb_cublas_open(char *version, size_t size)
{
  int number = 0;
  const char *why = xgb_device_reason();
  if (!why && !cublas.handle) why = open_library();
  if (!why && !lt.handle) why = open_lt();
  if (why) return why;
  if (!workspace) workspace = xgb_device_alloc(workspace_bytes);
  if (!workspace) return xgb_device_error();
  if ((!cublas.handle && cublas.create(&cublas.handle)) ||
      cublas.set_stream(cublas.handle, xgb_device_stream()) ||
      cublas.set_workspace(cublas.handle, workspace, workspace_bytes))
    return "cublasCreate failed";
  cublas.get_version(cublas.handle, &number);
  snprintf(version, size, "cuBLAS %d.%d.%d", number / 10000, number / 100 % 100, number % 100);
  return NULL;
}

/* ---------------------------------------------------------------- a product */

static int factor_type(char type)
{
  return type == 'd' ? R_64F : type == 'h' ? R_16F : type == 'b' ? R_16BF : R_32F;
}

static int layout(void **out, int type, int turned, int64_t rows, int64_t cols, int64_t ld)
{
  return lt.layout_create(out, type, (uint64_t)(turned ? cols : rows),
                          (uint64_t)(turned ? rows : cols), ld);
}

/* cublasLt's first heuristic; no desc if it has none. */
static void plan_lt(struct xgb_cublas_plan *p)
{
  int sums = p->type == 'd' ? R_64F : R_32F, factors = factor_type(p->type), found = 0;
  struct heuristic result;
  memset(&result, 0, sizeof result);
  int bad =
      lt.desc_create(&p->desc, p->type == 'd' ? COMPUTE_64F : COMPUTE_32F, sums) ||
      lt.desc_set(p->desc, DESC_TRANSA, &p->ta, sizeof p->ta) ||
      lt.desc_set(p->desc, DESC_TRANSB, &p->tb, sizeof p->tb) ||
      layout(&p->a, factors, p->ta, p->m, p->k, p->lda) ||
      layout(&p->b, factors, p->tb, p->k, p->n, p->ldb) ||
      layout(&p->c, sums, 0, p->m, p->n, p->ldc) ||
      lt.heuristic(lt.handle, p->desc, p->a, p->b, p->c, p->c, lt.preference, 1, &result, &found);
  if (bad || found < 1 || result.state != 0)
    xgb_cublas_plan_free(p);
  else
    memcpy(p->algorithm, result.algorithm, sizeof p->algorithm);
}

void xgb_cublas_plan(struct xgb_cublas_plan *p, const struct xgb_case *c, char type)
{
  int ta = c->transa == 'T', tb = c->transb == 'T';
  *p = (struct xgb_cublas_plan){.type = type,
                                .ta = ta,
                                .tb = tb,
                                .m = c->m,
                                .n = c->n,
                                .k = c->k,
                                .lda = c->lda,
                                .ldb = c->ldb,
                                .ldc = c->ldc};
  if (c->row_major) { /* C^T = B^T A^T */
    p->swapped = 1;
    p->ta = tb, p->tb = ta;
    p->m = c->n, p->n = c->m, p->lda = c->ldb, p->ldb = c->lda;
  }
  if (type == 'd')
    p->alpha.d = c->alpha, p->beta.d = c->beta;
  else
    p->alpha.s = (float)c->alpha, p->beta.s = (float)c->beta;
  plan_lt(p);
}

void xgb_cublas_plan_free(struct xgb_cublas_plan *p)
{
  if (p->desc) lt.desc_destroy(p->desc);
  void *const layouts[] = {p->a, p->b, p->c};
  for (int i = 0; i < 3; i++)
    if (layouts[i]) lt.layout_destroy(layouts[i]);
  p->desc = p->a = p->b = p->c = NULL;
}

const char *xgb_cublas_entry_name(const struct xgb_cublas_plan *p, enum xgb_cublas_entry entry)
{
  if (entry == XGB_CUBLAS_LT) return "cublasLtMatmul";
  return p->type == 's' ? "cublasSgemm" : p->type == 'd' ? "cublasDgemm" : "cublasGemmEx";
}

int xgb_cublas_call(const struct xgb_cublas_plan *p, enum xgb_cublas_entry entry, const void *a,
                    const void *b, void *out)
{
  const void *first = p->swapped ? b : a, *second = p->swapped ? a : b;
  if (entry == XGB_CUBLAS_LT)
    return p->desc ? lt.matmul(lt.handle, p->desc, &p->alpha, first, p->a, second, p->b, &p->beta,
                               out, p->c, out, p->c, p->algorithm, workspace, workspace_bytes,
                               xgb_device_stream())
                   : -1;
  if (p->type == 's')
    return cublas.sgemm(cublas.handle, p->ta, p->tb, p->m, p->n, p->k, &p->alpha.s, first, p->lda,
                        second, p->ldb, &p->beta.s, out, p->ldc);
  if (p->type == 'd')
    return cublas.dgemm(cublas.handle, p->ta, p->tb, p->m, p->n, p->k, &p->alpha.d, first, p->lda,
                        second, p->ldb, &p->beta.d, out, p->ldc);
  return cublas.gemm_ex(cublas.handle, p->ta, p->tb, p->m, p->n, p->k, &p->alpha, first,
                        factor_type(p->type), p->lda, second, factor_type(p->type), p->ldb,
                        &p->beta, out, R_32F, p->ldc, COMPUTE_32F, GEMM_DEFAULT);
}
