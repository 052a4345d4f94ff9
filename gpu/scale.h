/* C = beta * C on the card: the product with alpha = 0 or k = 0. */
#ifndef XG_GPU_SCALE_H
#define XG_GPU_SCALE_H

#include "gkr.h"

#ifdef __cplusplus
extern "C" {
#endif
extern const char xg_gpu_scale_name[];
/* type 's' or 'd'; returns the CUDA error as an int. */
int xg_gpu_scale(const struct xg_gkr_args *args, char type, void *stream);
#ifdef __cplusplus
}
#endif

#endif
