/* NVIDIA's BLAS as a peer: opened at run time, device operands, the bench's stream. It has two ways
 * in, cublasSgemm (cublasDgemm, cublasGemmEx) and the first heuristic of cublasLtMatmul, both with
 * 64 MiB of workspace; neither is always the faster. */
#ifndef XGB_CUBLAS_H
#define XGB_CUBLAS_H

#include <stddef.h>

#include "case.h"

/* NULL, or why it cannot be used. Writes its version. */
const char *xgb_cublas_open(char *version, size_t size);

enum xgb_cublas_entry { XGB_CUBLAS_GEMM, XGB_CUBLAS_LT, XGB_CUBLAS_ENTRIES };

/* One product, ready to be called. */
struct xgb_cublas_plan {
  char type; /* 's', 'd'; 'h', 'b': A and B fp16, bf16, C fp32 */
  int ta, tb, swapped;
  int64_t m, n, k, lda, ldb, ldc;
  union {
    float s;
    double d;
  } alpha, beta;
  void *desc, *a, *b, *c; /* cublasLt's; desc NULL: it cannot do it */
  uint64_t algorithm[8];
};

/* Row-major cases are given to it with operands swapped. */
void xgb_cublas_plan(struct xgb_cublas_plan *plan, const struct xgb_case *c, char type);
void xgb_cublas_plan_free(struct xgb_cublas_plan *plan);

/* "cublasSgemm", ... */
const char *xgb_cublas_entry_name(const struct xgb_cublas_plan *plan, enum xgb_cublas_entry entry);

/* Queues the product; 0 or cuBLAS's status. */
int xgb_cublas_call(const struct xgb_cublas_plan *plan, enum xgb_cublas_entry entry, const void *a,
                    const void *b, void *out);

#endif
