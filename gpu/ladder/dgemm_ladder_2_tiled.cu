/* Rung 2: T x T tiles in shared memory (f64, T = 32).
 *
 * Idea. The 32 x 32 threads of a block need, for 32 steps of k, one 32 x 32 tile of A and one of B.
 * They fetch both together, each thread one element of each, and then read them 32 times over from
 * shared memory.
 *
 *                B                         thread (ty,tx) of the block
 *              +---------+                   fetches A[i0+ty][p+tx] and B[p+ty][j0+tx]
 *            T |  tile   |  p, p+T, ...      barrier
 *      T       +---------+                   sum += As[ty][q] * Bs[q][tx], q = 0..T-1
 *   +------+   +---------+                   barrier, next p
 *   | tile | T |    C    |
 *   +------+   +---------+                 As[ty][q]: one element to all lanes of a warp;
 *    p, p+T...      T                      Bs[q][tx]: 32 neighbours, two passes
 *
 * Predicted traffic. Each element of A is fetched n/T times and each of B m/T times: 2 m n k / T
 * elements instead of 2 m n k, an intensity of T/8 = 4 flop/byte instead of 0.125. At 4096 cubed:
 * 34 GB instead of 1100. Shared memory: 16 KiB a block.
 *
 * What limits it. Every FMA still needs two reads, now from shared memory: 2 m n k elements of it.
 * A thread that kept a TM x TN piece of C in registers would need mnk (1/TM + 1/TN): that is the
 * fifth rung.
 */
#include "rung.cuh"

enum { TILE = 32 };

static __global__ void tiled(xg_product<double> p)
{
  __shared__ double as[TILE][TILE], bs[TILE][TILE];
  xg_tile tile = xg_tile_of(blockIdx.x, xg_tiles(p.m, TILE), xg_tiles(p.n, TILE));
  int ty = threadIdx.x / TILE, tx = threadIdx.x % TILE;
  int64_t i = tile.row * TILE + ty, j = tile.col * TILE + tx;
  double sum = 0;
  for (int64_t k = 0; k < p.k; k += TILE) {
    as[ty][tx] = i < p.m && k + tx < p.k ? p.a[i * p.rs_a + (k + tx) * p.cs_a] : 0;
    bs[ty][tx] = j < p.n && k + ty < p.k ? p.b[(k + ty) * p.rs_b + j * p.cs_b] : 0;
    __syncthreads();
    for (int q = 0; q < TILE; q++) sum = fma(as[ty][q], bs[q][tx], sum);
    __syncthreads();
  }
  xg_put(p, i, j, sum);
}

static const char *ok(const xg_gkr_args *args)
{
  return xg_grid_ok(args, TILE, TILE);
}

static int launch(const xg_gkr_args *args, void *stream)
{
  xg_product<double> p = xg_rows_contiguous<double>(args);
  return xg_launch(tiled, p, xg_blocks(p, TILE, TILE), TILE * TILE, stream);
}

static const void *function(const xg_gkr_args *)
{
  return (const void *)tiled;
}

extern "C" const xg_gkr dgemm_ladder_2_tiled = {
    .name = "dgemm_ladder_2_tiled",
    .family = "ladder",
    .min_cc = 80,
    .type = 'd',
    .bm = TILE,
    .bn = TILE,
    .bk = TILE,
    .threads = TILE * TILE,
    .shared = 2 * TILE * TILE * sizeof(double),
    .blocks = 2048 / (TILE * TILE),
    .efficiency = 0.14,
    .ok = ok,
    .function = function,
    .launch = launch,
};
