/* Rung 4: double-buffered (f32, T = 32).
 *
 * Idea. In rung 3 a block first waits for its tiles and then computes. Here a thread asks for its
 * two elements of the next tiles before it computes with these, and puts them into a second buffer
 * afterwards: the loads are on their way meanwhile, and one barrier a tile is enough, since nobody
 * writes to the buffer that others still read.
 *
 *     rung 3   fetch 0 | use 0 | fetch 1 | use 1 |        barriers at every |, two a tile
 *     rung 4   fetch 0 | use 0           | use 1          one a tile
 *                        fetch 1           fetch 2
 *
 * Predicted traffic: rung 3's, to the byte. A second buffer doubles the room, from 9 to 18 KiB a
 * block; it moves nothing less.
 *
 * What limits it. As rungs 2 and 3, shared-memory reads: every FMA still takes two elements from
 * there, and the load units are busy 90 % of the time. Two blocks on a multiprocessor hid most of
 * each other's waiting already, so that the gain is 2 % at 4096 and none at 2048.
 *
 * H200, TFLOP/s at 1024 / 2048 / 4096, row-major: 8.8 / 9.0 / 9.3 (cuBLAS 35.0 / 50.4 / 51.2).
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

static __global__ void double_buffered(xg_product<float> p)
{
  __shared__ __align__(16) float as[2][TILE][ROW], bs[2][TILE][ROW];
  xg_tile tile = xg_tile_of(blockIdx.x, xg_tiles(p.m, TILE), xg_tiles(p.n, TILE));
  int ty = threadIdx.x / TILE, tx = threadIdx.x % TILE;
  int64_t row = tile.row * TILE, col = tile.col * TILE;
  spot a = spot_of(!xg_nearer(p.rs_a, p.cs_a)), b = spot_of(!xg_nearer(p.rs_b, p.cs_b));
  const float *from_a = p.a + (row + a.row) * p.rs_a + a.col * p.cs_a;
  const float *from_b = p.b + (col + b.col) * p.cs_b + b.row * p.rs_b;
  int64_t left_a = row + a.row < p.m ? p.k - a.col : 0; /* steps that my place in a tile has */
  int64_t left_b = col + b.col < p.n ? p.k - b.row : 0;
  float sum = 0, next_a, next_b;
  auto fetch = [&](int64_t k) {
    next_a = k < left_a ? from_a[k * p.cs_a] : 0;
    next_b = k < left_b ? from_b[k * p.rs_b] : 0;
    __syncwarp(); /* a compiler moves loads to where they are used, but not past this */
  };
  int now = 0;
  fetch(0);
  as[now][a.row][a.col] = next_a, bs[now][b.row][b.col] = next_b;
  __syncthreads();
  for (int64_t k = 0; k < p.k; k += TILE) {
    fetch(k + TILE);
    for (int q = 0; q < TILE; q++) sum = fma(as[now][ty][q], bs[now][q][tx], sum);
    now ^= 1;
    as[now][a.row][a.col] = next_a, bs[now][b.row][b.col] = next_b;
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
  return xg_launch(double_buffered, p, xg_blocks(p, TILE, TILE), TILE * TILE, stream);
}

static const void *function(const xg_gkr_args *)
{
  return (const void *)double_buffered;
}

extern "C" const xg_gkr sgemm_ladder_4_double = {
    .name = "sgemm_ladder_4_double",
    .family = "ladder",
    .min_cc = 80,
    .type = 's',
    .bm = TILE,
    .bn = TILE,
    .bk = TILE,
    .threads = TILE * TILE,
    .shared = 4 * TILE * ROW * sizeof(float),
    .blocks = 2048 / (TILE * TILE),
    .efficiency = 0.14,
    .ok = ok,
    .function = function,
    .launch = launch,
};
