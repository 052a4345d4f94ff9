/* Rung 1: one thread, one element (f32).
 *
 * Idea. Every thread walks a row of A and a column of B and keeps one sum. Nothing is shared on
 * purpose.
 *
 *                 B     j                  a half warp: 16 neighbouring j of one row i
 *               +-----+-+---+
 *             k |     |:|   |  step p      B[p][j..j+15]   16 neighbours: 64 bytes in one request
 *        k      |     |v|   |              A[i][p]         one element, sent to all 16 lanes
 *     +-----+   +-----+-+---+
 *   i |..>  |   |     |C|   |              17 elements asked for a step, 16 FMAs done
 *     +-----+   +-----+-+---+
 *
 * Predicted traffic. Each FMA reads two elements: 2 m n k elements asked for, 4 bytes each, an
 * intensity of 2 / (2*4) = 0.25 flop/byte. At 4096 cubed that is 550 GB for 137 Gflop.
 *
 * What limits it. Not device memory: neighbouring warps ask for the same elements and the caches
 * answer most of it. The load units do: two load instructions for every FMA, so the FMA units wait
 * for their operands nearly all the time. The next rung reads each element from memory once a tile.
 *
 * H200, TFLOP/s at 1024 / 2048 / 4096, row-major: 4.9 / 5.3 / 4.8 (cuBLAS 35.0 / 50.4 / 51.2).
 */
#include "rung.cuh"

enum { TILE = 16 }; /* a block is 16 x 16 threads and makes as large a piece of C */

static __global__ void naive(xg_product<float> p)
{
  xg_tile tile = xg_tile_of(blockIdx.x, xg_tiles(p.m, TILE), xg_tiles(p.n, TILE));
  int64_t i = tile.row * TILE + threadIdx.x / TILE, j = tile.col * TILE + threadIdx.x % TILE;
  if (i >= p.m || j >= p.n) return;
  const float *a = p.a + i * p.rs_a, *b = p.b + j * p.cs_b;
  float sum = 0;
  for (int64_t k = 0; k < p.k; k++) sum = fma(a[k * p.cs_a], b[k * p.rs_b], sum);
  xg_put(p, i, j, sum);
}

static const char *ok(const xg_gkr_args *args)
{
  return xg_grid_ok(args, TILE, TILE);
}

static int launch(const xg_gkr_args *args, void *stream)
{
  xg_product<float> p = xg_rows_contiguous<float>(args);
  return xg_launch(naive, p, xg_blocks(p, TILE, TILE), TILE * TILE, stream);
}

static const void *function(const xg_gkr_args *)
{
  return (const void *)naive;
}

extern "C" const xg_gkr sgemm_ladder_1_naive = {
    .name = "sgemm_ladder_1_naive",
    .family = "ladder",
    .min_cc = 80,
    .type = 's',
    .bm = TILE,
    .bn = TILE,
    .bk = 1,
    .threads = TILE * TILE,
    .shared = 0,
    .blocks = 2048 / (TILE * TILE),
    .efficiency = 0.075,
    .ok = ok,
    .function = function,
    .launch = launch,
};
