/* An operand copied dense, or dense and turned. A block moves a 32 x 32 tile, neighbouring threads
 * along the dimension whose elements are nearer each other in the source: reads share sectors where
 * they can. If the copy is contiguous along the other dimension, the tile goes through shared
 * memory, so that writes fill sectors too:
 *
 *       source: k -->            tile[33 words a row]        copy: outer -->
 *     outer  . . . .    rows in    . . . .    columns out   k  . . . .
 *       |    . . . .    -------->  . . . .    ----------->  |  . . . .
 */
#include "gather.h"
#include "launch.cuh"

enum { TILE = 32, THREADS = 256 };

template <class T> struct xg_copy_args {
  int64_t lines, length; /* of the source, along a line where its elements are nearer */
  const T *from;
  int64_t step, pitch; /* of the source: along a line, between lines */
  T *to;
  int64_t to_step, to_pitch; /* of the copy: along a line of the source, between lines */
};

template <class T> static __global__ void gather(xg_copy_args<T> x)
{
  xg_tile tile = xg_tile_of(blockIdx.x, xg_tiles(x.lines, TILE), xg_tiles(x.length, TILE));
  int64_t at = tile.col * TILE + threadIdx.x % TILE;
  for (int y = threadIdx.x / TILE; y < TILE; y += THREADS / TILE) {
    int64_t line = tile.row * TILE + y;
    if (line < x.lines && at < x.length)
      x.to[line * x.to_pitch + at * x.to_step] = x.from[line * x.pitch + at * x.step];
  }
}

template <class T> static __global__ void turn(xg_copy_args<T> x)
{
  __shared__ T kept[TILE][TILE + 1];
  xg_tile tile = xg_tile_of(blockIdx.x, xg_tiles(x.lines, TILE), xg_tiles(x.length, TILE));
  int64_t first = tile.row * TILE, start = tile.col * TILE;
  int column = threadIdx.x % TILE;
  for (int y = threadIdx.x / TILE; y < TILE; y += THREADS / TILE)
    if (first + y < x.lines && start + column < x.length)
      kept[y][column] = x.from[(first + y) * x.pitch + (start + column) * x.step];
  __syncthreads();
  for (int y = threadIdx.x / TILE; y < TILE; y += THREADS / TILE)
    if (first + column < x.lines && start + y < x.length)
      x.to[(first + column) * x.to_pitch + (start + y) * x.to_step] = kept[column][y];
}

template <class T>
static int launch(int64_t rows, int64_t cols, const void *from, int64_t rs, int64_t cs, void *to,
                  int64_t to_rs, int64_t to_cs, void *stream)
{
  bool by_rows = (rs < 0 ? -rs : rs) < (cs < 0 ? -cs : cs); /* a line is a column */
  xg_copy_args<T> x = {by_rows ? cols : rows,   by_rows ? rows : cols,  (const T *)from,
                       by_rows ? rs : cs,       by_rows ? cs : rs,      (T *)to,
                       by_rows ? to_rs : to_cs, by_rows ? to_cs : to_rs};
  return xg_launch(x.to_step == 1 ? gather<T> : turn<T>, x,
                   xg_tiles(x.lines, TILE) * xg_tiles(x.length, TILE), THREADS, stream);
}

extern "C" int xg_gpu_gather(size_t size, int64_t rows, int64_t cols, const void *x, int64_t rs,
                             int64_t cs, void *to, int64_t to_rs, int64_t to_cs, void *stream)
{
  return size == sizeof(double) ? launch<double>(rows, cols, x, rs, cs, to, to_rs, to_cs, stream)
                                : launch<float>(rows, cols, x, rs, cs, to, to_rs, to_cs, stream);
}
