/* C = C + bias and C = relu(C) on the card, f32, as kernels of their own: what a kernel that fuses
 * them saves, and the steps after one that doesn't. Of the arguments m, n, c, its strides and bias
 * count. They return the CUDA error as an int. */
#ifndef XG_GPU_BIAS_RELU_H
#define XG_GPU_BIAS_RELU_H

#include "gkr.h"

#ifdef __cplusplus
extern "C" {
#endif
int xg_gpu_bias(const struct xg_gkr_args *args, void *stream);
int xg_gpu_relu(const struct xg_gkr_args *args, void *stream);
#ifdef __cplusplus
}
#endif

#endif
