/* Operands copied before the product, because every kernel would read them badly and often.
 *
 *   gathered  no unit stride: each element costs a sector (32 bytes), again for every tile that
 *             needs it. The copy is dense along the dimension whose elements are nearer.
 *   turned    f32, large, both operands contiguous along k and off the 16-byte borders: they could
 *             only be copied element by element, each to another row of shared memory, and one
 *             multiprocessor's loads do not keep up with its FMAs. One of them is copied with its
 *             rows and columns exchanged: 1 to 2 % of the product's time.
 *
 * What is copied follows from shape, strides and alignment alone. */
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
/* Copies rows x cols elements of `size` bytes from x[i*rs + j*cs] to to[i*to_rs + j*to_cs], one of
 * to_rs and to_cs being 1. Returns the CUDA error as an int. */
int xg_gpu_gather(size_t size, int64_t rows, int64_t cols, const void *x, int64_t rs, int64_t cs,
                  void *to, int64_t to_rs, int64_t to_cs, void *stream);
#ifdef __cplusplus
}
#endif

#endif
