/* Rung 3: coalesced and without bank conflicts (f32, T = 32).
 *
 * Idea. Rung 2 fetches B with lanes along n and A with lanes along k. Where that is not the way the
 * operand lies, 32 neighbouring lanes ask for 32 places a whole row apart. Here the lanes follow
 * the operand. If it lies the wrong way a warp fetches a patch of 8 x 4, because memory moves in
 * sectors of 32 bytes, and the tile is turned on its way into shared memory:
 *
 *     the right way: a warp, one row        the wrong way: a warp, 8 down and 4 across
 *       [0 1 2 3 ..................31]        0  8 16 24     address of (r,c): r + c*ld
 *                                             1  9 17 25     4 sectors of 8 neighbours
 *                                             :  :  :  :     bank of (r,c): (4+32)*r + c
 *                                             7 15 23 31     = 4r + c mod 32, all 32 different
 *
 * Rows are padded from 32 to 36 elements for that: without, (r,c) is in bank c whatever r is, and
 * the eight rows of a patch wait for each other. (36, not 33, keeps rows on 16 bytes, so that four
 * steps of As[ty][q] are one load.)
 *
 * Predicted traffic: rung 2's, 2 m n k / T elements, and 2 m n k from shared memory. What changes
 * is the bytes moved for them: a lane that strides pulls in 32 bytes to use 4 of them.
 *
 * What limits it. As rung 2, shared-memory reads. On operands that lie the right way (row-major A
 * and B) there is nothing to gain: rung 2 is coalesced there and has no conflict. The gain shows
 * where neighbouring lanes of rung 2 stride: A or B transposed. (Counted at 2048: 4 sectors a
 * request in both rungs; with A transposed 18 in rung 2, 32 for A and 4 for B, and 4 here.)
 *
 * H200, TFLOP/s at 1024 / 2048 / 4096, row-major: 8.7 / 9.1 / 9.1 (cuBLAS 35.0 / 50.4 / 51.2). With
 * A or B transposed 8.7 at 4096, rung 2 5.9.
 */
#include "rung.cuh"

enum { TILE = 32, ROW = TILE + 4 };

/* The element of a tile that a thread fetches. */
struct spot {
  int row, col;
};

static __device__ spot spot_of(bool right_way)
{
  int t = threadIdx.x, lane = t % 32, warp = t / 32;
  if (right_way) return {warp, lane};
  return {warp % 4 * 8 + lane % 8, warp / 4 * 4 + lane / 8};
}

static __global__ void coalesced(xg_product<float> p)
{
  __shared__ __align__(16) float as[TILE][ROW], bs[TILE][ROW];
  xg_tile tile = xg_tile_of(blockIdx.x, xg_tiles(p.m, TILE), xg_tiles(p.n, TILE));
  int ty = threadIdx.x / TILE, tx = threadIdx.x % TILE;
  int64_t row = tile.row * TILE, col = tile.col * TILE;
  spot a = spot_of(!xg_nearer(p.rs_a, p.cs_a)), b = spot_of(!xg_nearer(p.rs_b, p.cs_b));
  const float *from_a = p.a + (row + a.row) * p.rs_a + a.col * p.cs_a;
  const float *from_b = p.b + (col + b.col) * p.cs_b + b.row * p.rs_b;
  int64_t left_a = row + a.row < p.m ? p.k - a.col : 0; /* steps that my place in a tile has */
  int64_t left_b = col + b.col < p.n ? p.k - b.row : 0;
  float sum = 0;
  for (int64_t k = 0; k < p.k; k += TILE) {
    as[a.row][a.col] = k < left_a ? from_a[k * p.cs_a] : 0;
    bs[b.row][b.col] = k < left_b ? from_b[k * p.rs_b] : 0;
    __syncthreads();
    for (int q = 0; q < TILE; q++) sum = fma(as[ty][q], bs[q][tx], sum);
    __syncthreads();
  }
  xg_put(p, row + ty, col + tx, sum);
}

static const char *ok(const xg_gkr_args *args)
{
  return xg_grid_ok(args, TILE, TILE);
}

static int launch(const xg_gkr_args *args, void *stream)
{
  xg_product<float> p = xg_rows_contiguous<float>(args);
  return xg_launch(coalesced, p, xg_blocks(p, TILE, TILE), TILE * TILE, stream);
}

static const void *function(const xg_gkr_args *)
{
  return (const void *)coalesced;
}

extern "C" const xg_gkr sgemm_ladder_3_coalesced = {
    .name = "sgemm_ladder_3_coalesced",
    .family = "ladder",
    .min_cc = 80,
    .type = 's',
    .bm = TILE,
    .bn = TILE,
    .bk = TILE,
    .threads = TILE * TILE,
    .shared = 2 * TILE * ROW * sizeof(float),
    .blocks = 2048 / (TILE * TILE),
    .efficiency = 0.137,
    .ok = ok,
    .function = function,
    .launch = launch,
};
