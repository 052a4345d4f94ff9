/* Bias and ReLU as passes of their own, which a fused epilogue does without. Each reads all of C
 * and writes all of it. One thread an element, neighbours along whichever side of C is contiguous.
 */
#include "bias_relu.h"
#include "launch.cuh"

enum { TILE = 32, THREADS = 256 };

struct pass {
  xg_product<float> p;
  const float *bias; /* NULL: ReLU */
  bool bias_by_row;  /* C is seen from its other side */
};

static __global__ void pass_over(pass x)
{
  xg_tile tile = xg_tile_of(blockIdx.x, xg_tiles(x.p.m, TILE), xg_tiles(x.p.n, TILE));
  int64_t j = tile.col * TILE + threadIdx.x % TILE;
#pragma unroll
  for (int pass = 0; pass < TILE * TILE / THREADS; pass++) {
    int64_t i = tile.row * TILE + threadIdx.x / TILE + pass * (THREADS / TILE);
    if (i >= x.p.m || j >= x.p.n) continue;
    float *c = x.p.c + i * x.p.rs_c + j * x.p.cs_c;
    if (x.bias)
      *c += x.bias[x.bias_by_row ? i : j];
    else
      *c = *c < 0 ? 0 : *c;
  }
}

static int launch(const xg_gkr_args *args, const void *bias, void *stream)
{
  xg_product<float> p = xg_rows_contiguous<float>(args);
  pass x = {p, (const float *)bias, p.rs_c != args->rs_c};
  return xg_launch(pass_over, x, xg_blocks(p, TILE, TILE), THREADS, stream);
}

extern "C" int xg_gpu_bias(const xg_gkr_args *args, void *stream)
{
  return launch(args, args->bias, stream);
}

extern "C" int xg_gpu_relu(const xg_gkr_args *args, void *stream)
{
  return launch(args, nullptr, stream);
}
