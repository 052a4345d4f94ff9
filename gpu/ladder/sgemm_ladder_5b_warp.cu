/* Rung 5b: warp-tiled, block tile -> warp tile -> thread tile (f32).
 *
 * Idea. What shared memory delivers, it delivers to a warp: 128 bytes a pass, an address that
 * several lanes ask for counted once. So a warp gets a near-square piece of C, 4 x 8 lanes, and a
 * lane's 8 columns are two groups of 4 (16 bytes) with the other lanes' groups between them:
 *
 *            c=0  c=1      c=7   c=0  c=1      c=7         lane = 16*(r/2) + 2*c + r%2
 *       r=0  [4]  [4] ...  [4] | [4]  [4] ...  [4]
 *       r=1  [4]   :           |                           the 8 lanes of a row: 128 contiguous
 *       r=2   :                |                           bytes, each bank once
 *       r=3  [4]               |               [4]
 *       -----------------------+-----------------------    lanes l and l^1 share their columns,
 *       r=0  [4]  ...          |                           l and l^2 their row: a 16-byte load
 *        :                     |                           takes 2 passes, not 4
 *       r=3  [4]               |               [4]
 *
 *       a warp, 8 x 8 a thread: 32 rows, 64 columns; a block: 4 x 2 warps
 *
 * Predicted traffic. Rung 5's in elements. In passes of 128 bytes 2 for each load, of A and of B;
 * rung 5 takes 2 and 8, so 2.5 times as many.
 *
 * What limits it. Issue slots: 64 FMAs come with 4 loads and with the copies' instructions, which
 * move one element each. And stores of C: a store of one element a lane leaves gaps of 12 bytes, so
 * that each sector of 32 bytes is written 4 times.
 *
 * H200, TFLOP/s at 1024 / 2048 / 4096, row-major: 16.1 / 39.4 / 42.1 (cuBLAS 35.0 / 50.4 / 51.2).
 */
#include "rung.cuh"

/*                       BM   BN  BK TM TN buffers */
using small = xg_shape<64, 64, 8, 4, 8, 1>;
using medium = xg_shape<128, 128, 8, 8, 8, 2>;
using large = xg_shape<128, 256, 8, 16, 8, 2>;

/* Where a lane's i-th row and j-th column are, seen from its first. */
static __device__ int of_row(int i)
{
  return i / 4 * 16 + i % 4;
}

static __device__ int of_col(int j)
{
  return j / 4 * 32 + j % 4;
}

template <class S>
static __global__ void __launch_bounds__(S::THREADS, S::BLOCKS) warp_tiled(xg_product<float> p)
{
  using piece_a = xg_piece<S::BM, S::BK, S::THREADS>;
  using piece_b = xg_piece<S::BN, S::BK, S::THREADS>;
  __shared__ __align__(16) float as[S::STAGES][S::BK][piece_a::ROW];
  __shared__ __align__(16) float bs[S::STAGES][S::BK][piece_b::ROW];
  xg_tile tile = xg_tile_of(blockIdx.x, xg_tiles(p.m, S::BM), xg_tiles(p.n, S::BN));
  int64_t row = tile.row * S::BM, col = tile.col * S::BN;
  piece_a a(p.a, p.m, p.rs_a, p.cs_a, row);
  piece_b b(p.b, p.n, p.cs_b, p.rs_b, col);
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int ty = warp / (S::BN / S::WN) * S::WM + (lane / 16 * 2 + lane % 2) * 4;
  int tx = warp % (S::BN / S::WN) * S::WN + lane % 16 / 2 * 4;
  row += ty, col += tx; /* my first element of C */

  float sum[S::TM][S::TN] = {};
  int now = 0;
  a.fetch(p.k), b.fetch(p.k);
  a.put(as[now][0]), b.put(bs[now][0]);
  __syncthreads();
  for (int64_t rest = p.k; rest > 0; rest -= S::BK) {
    a.fetch(rest - S::BK), b.fetch(rest - S::BK);
#pragma unroll
    for (int q = 0; q < S::BK; q++) {
      float x[S::TM], y[S::TN];
#pragma unroll
      for (int i = 0; i < S::TM; i++) x[i] = as[now][q][ty + of_row(i)];
#pragma unroll
      for (int j = 0; j < S::TN; j++) y[j] = bs[now][q][tx + of_col(j)];
      xg_outer_product(sum, x, y);
    }
    if (S::STAGES == 1) __syncthreads(); /* all have read what is now overwritten */
    now = (now + 1) % S::STAGES;
    a.put(as[now][0]), b.put(bs[now][0]);
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < S::TM; i++)
#pragma unroll
    for (int j = 0; j < S::TN; j++) xg_put(p, row + of_row(i), col + of_col(j), sum[i][j]);
}

template <class S>
static constexpr xg_instance<xg_product<float>> instance = {warp_tiled<S>, S::BM, S::BN,
                                                            S::THREADS};
static const xg_instance<xg_product<float>> instances[] = {instance<small>, instance<medium>,
                                                           instance<large>};

static const char *ok(const xg_gkr_args *args)
{
  return xg_grid_ok(args, small::BM, small::BN);
}

static int launch(const xg_gkr_args *args, void *stream)
{
  xg_product<float> p = xg_rows_contiguous<float>(args);
  return xg_launch_instance(xg_of_size(instances, args), p, p, stream);
}

static const void *function(const xg_gkr_args *args)
{
  return (const void *)xg_of_size(instances, args).kernel;
}

extern "C" const xg_gkr sgemm_ladder_5b_warp = {
    .name = "sgemm_ladder_5b_warp",
    .family = "ladder",
    .min_cc = 80,
    .type = 's',
    .bm = medium::BM,
    .bn = medium::BN,
    .bk = medium::BK,
    .threads = medium::THREADS,
    .shared = medium::SHARED,
    .blocks = medium::BLOCKS,
    .efficiency = 0.63,
    .ok = ok,
    .function = function,
    .launch = launch,
};
