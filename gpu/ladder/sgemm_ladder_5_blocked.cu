/* Rung 5: register-blocked, 8 x 8 elements of C a thread (f32, block tile 128 x 128 x 8).
 *
 * Idea. A thread that makes one element of C reads two operands for every FMA. One that makes
 * TM x TN of them reads TM + TN for TM*TN FMAs: an outer product of a column of A's tile and a row
 * of B's, step of k by step of k.
 *
 *                   b0 .. b7     TN from Bs[q][8 tx ..]
 *              a0  [ 8 x 8  ]
 *              :   [ sums   ]    TM from As[q][8 ty ..]: A is stored k by k, so that they are
 *              a7  [        ]    neighbours and one load brings four
 *
 *     a block: 16 x 16 threads, 128 x 128 of C; 8 steps of k at a time, in two buffers
 *
 * Predicted traffic. Shared memory: mnk (1/TM + 1/TN) elements, at 8 x 8 an eighth of rung 4's.
 * Device memory: mnk (1/BM + 1/BN), at 128 x 128 a quarter of T = 32: 2*128*128 / (4*(128+128)) =
 * 32 flop/byte.
 *
 * What limits it. Shared memory still: lanes tx = 0, 1, .. read 32 bytes apart, so that a 16-byte
 * load of B meets every bank it uses twice, 8 passes for a warp, of A 2. And the copies, one
 * element at a time, take issue slots. With the large tile, 16 x 8 a thread, arithmetic is nearer.
 *
 * H200, TFLOP/s at 1024 / 2048 / 4096, row-major: 14.0 / 35.4 / 39.5 (cuBLAS 35.0 / 50.4 / 51.2).
 */
#include "rung.cuh"

/*                       BM   BN  BK TM TN buffers */
using small = xg_shape<64, 64, 8, 4, 8, 1>;
using medium = xg_shape<128, 128, 8, 8, 8, 2>;
using large = xg_shape<128, 256, 8, 16, 8, 2>;

template <class S>
static __global__ void __launch_bounds__(S::THREADS, S::BLOCKS) blocked(xg_product<float> p)
{
  using piece_a = xg_piece<S::BM, S::BK, S::THREADS>;
  using piece_b = xg_piece<S::BN, S::BK, S::THREADS>;
  __shared__ __align__(16) float as[S::STAGES][S::BK][piece_a::ROW];
  __shared__ __align__(16) float bs[S::STAGES][S::BK][piece_b::ROW];
  xg_tile tile = xg_tile_of(blockIdx.x, xg_tiles(p.m, S::BM), xg_tiles(p.n, S::BN));
  int64_t row = tile.row * S::BM, col = tile.col * S::BN;
  piece_a a(p.a, p.m, p.rs_a, p.cs_a, row);
  piece_b b(p.b, p.n, p.cs_b, p.rs_b, col);
  int ty = threadIdx.x / (S::BN / S::TN) * S::TM, tx = threadIdx.x % (S::BN / S::TN) * S::TN;
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
      for (int i = 0; i < S::TM; i++) x[i] = as[now][q][ty + i];
#pragma unroll
      for (int j = 0; j < S::TN; j++) y[j] = bs[now][q][tx + j];
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
    for (int j = 0; j < S::TN; j++) xg_put(p, row + i, col + j, sum[i][j]);
}

template <class S>
static constexpr xg_instance<xg_product<float>> instance = {blocked<S>, S::BM, S::BN, S::THREADS};
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

extern "C" const xg_gkr sgemm_ladder_5_blocked = {
    .name = "sgemm_ladder_5_blocked",
    .family = "ladder",
    .min_cc = 80,
    .type = 's',
    .bm = medium::BM,
    .bn = medium::BN,
    .bk = medium::BK,
    .threads = medium::THREADS,
    .shared = medium::SHARED,
    .blocks = medium::BLOCKS,
    .efficiency = 0.59,
    .ok = ok,
    .function = function,
    .launch = launch,
};
