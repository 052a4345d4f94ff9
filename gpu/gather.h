/* Operands without a unit stride, copied dense before the product.
 *
 * A kernel reads such an operand a sector (32 bytes) an element, and again for every tile that
 * needs it. Where it is needed often enough, one pass that reads each sector once and writes a
 * dense copy costs less. Which operands are gathered follows from the shape and the strides alone.
 */
#ifndef XG_GPU_GATHER_H
#define XG_GPU_GATHER_H

#include "gkr.h"

struct xg_gather {
  int a, b;     /* these operands are copied first */
  size_t at_b;  /* A's copy is at the start of the workspace, B's here */
  size_t bytes; /* of both */
  double moved; /* bytes read and written by the copies */
};

/* What to copy, for elements of `size` bytes; `args` gets the strides of the copies. */
struct xg_gather xg_gather_plan(struct xg_gkr_args *args, size_t size);

#ifdef __cplusplus
extern "C" {
#endif
/* Copies rows x cols elements of `size` bytes at x[i*rs + j*cs] to `to`, dense, with the strides
 * that xg_gather_plan gave. Returns the CUDA error as an int. */
int xg_gpu_gather(size_t size, int64_t rows, int64_t cols, const void *x, int64_t rs, int64_t cs,
                  void *to, void *stream);
#ifdef __cplusplus
}
#endif

#endif
