/* C = beta * C on the card. One thread an element; each block a 32 x 32 tile in four passes, so
 * that rows or columns, whichever is contiguous, are read by neighbouring threads. */
#include "launch.cuh"
#include "scale.h"

enum { TILE = 32, THREADS = 256 };

template <class T> static __global__ void scale(xg_product<T> p)
{
  xg_tile tile = xg_tile_of(blockIdx.x, xg_tiles(p.m, TILE), xg_tiles(p.n, TILE));
  int64_t j = tile.col * TILE + threadIdx.x % TILE;
  for (int y = threadIdx.x / TILE; y < TILE; y += THREADS / TILE) {
    int64_t i = tile.row * TILE + y;
    if (i >= p.m || j >= p.n) continue;
    T *c = p.c + i * p.rs_c + j * p.cs_c;
    *c = p.beta == 0 ? 0 : p.beta * *c;
  }
}

template <class T> static int launch(const xg_gkr_args *args, void *stream)
{
  xg_product<T> p = xg_rows_contiguous<T>(args);
  return xg_launch(scale<T>, p, xg_blocks(p, TILE, TILE), THREADS, stream);
}

extern "C" const char xg_gpu_scale_name[] = "scale";

extern "C" int xg_gpu_scale(const xg_gkr_args *args, char type, void *stream)
{
  return type == 'd' ? launch<double>(args, stream) : launch<float>(args, stream);
}
