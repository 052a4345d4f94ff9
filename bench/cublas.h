/* NVIDIA's BLAS as a peer: opened at run time, device operands, the bench's stream. */
#ifndef XGB_CUBLAS_H
#define XGB_CUBLAS_H

#include <stddef.h>

#include "case.h"

/* NULL, or why it cannot be used. Writes its version. */
const char *xgb_cublas_open(char *version, size_t size);

/* Queues one product; 0 or cuBLAS's status. Row-major cases are given to it with operands swapped.
 */
int xgb_cublas_call(const struct xgb_case *c, const void *a, const void *b, void *out);

#endif
