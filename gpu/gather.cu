/* A strided operand copied dense. A block moves a 32 x 32 tile, neighbouring threads along the
 * dimension whose elements are nearer each other, which is also the one that is contiguous in the
 * copy: reads share sectors where they can, writes fill them. */
#include "gather.h"
#include "launch.cuh"

enum { TILE = 32, THREADS = 256 };

template <class T> struct xg_copy_args {
  int64_t lines, length; /* of the copy */
  const T *from;
  int64_t step, pitch; /* of the source: along a line, between lines */
  T *to;
  int64_t line; /* of the copy: between lines */
};

template <class T> static __global__ void gather(xg_copy_args<T> x)
{
  xg_tile tile = xg_tile_of(blockIdx.x, xg_tiles(x.lines, TILE), xg_tiles(x.length, TILE));
  int64_t at = tile.col * TILE + threadIdx.x % TILE;
  for (int y = threadIdx.x / TILE; y < TILE; y += THREADS / TILE) {
    int64_t line = tile.row * TILE + y;
    if (line < x.lines && at < x.length)
      x.to[line * x.line + at] = x.from[line * x.pitch + at * x.step];
  }
}

template <class T>
static int launch(int64_t rows, int64_t cols, const void *x, int64_t rs, int64_t cs, void *to,
                  void *stream)
{
  const int64_t wide = 16 / (int64_t)sizeof(T);
  bool by_rows = (rs < 0 ? -rs : rs) < (cs < 0 ? -cs : cs);
  int64_t lines = by_rows ? cols : rows, length = by_rows ? rows : cols;
  xg_copy_args<T> args = {lines,
                          length,
                          (const T *)x,
                          by_rows ? rs : cs,
                          by_rows ? cs : rs,
                          (T *)to,
                          (length + wide - 1) / wide * wide};
  return xg_launch(gather<T>, args, xg_tiles(lines, TILE) * xg_tiles(length, TILE), THREADS,
                   stream);
}

extern "C" int xg_gpu_gather(size_t size, int64_t rows, int64_t cols, const void *x, int64_t rs,
                             int64_t cs, void *to, void *stream)
{
  return size == sizeof(double) ? launch<double>(rows, cols, x, rs, cs, to, stream)
                                : launch<float>(rows, cols, x, rs, cs, to, stream);
}
