/* Rung 6: bias and ReLU in the epilogue (f32), C = relu(alpha*A*B + beta*C + bias).
 *
 * Idea. A layer's bias and activation are passes over C if they are kernels of their own: read all
 * of it, do next to nothing, write all of it. Here they are done to the sums while those are still
 * in registers. Which of the two there are is known when the kernel is compiled, so that a plain
 * product carries no trace of them; with the three tiles there are 4 * 3 instances.
 *
 *     three kernels    sums -> C | C -> +bias -> C | C -> relu -> C        5 times C
 *     one              sums -> +bias -> relu -> C                          once
 *
 * Predicted traffic. Rung 5b's, and n elements of bias a row of tiles. Each step that is fused
 * saves one read and one write of C: 2 mn elements, 8 mn bytes; both steps at 1024 x 1024 save 16
 * MiB.
 *
 * What limits it. As rung 5b. Both steps as passes move 4 mn elements and do hardly any arithmetic;
 * beside the product's mnk multiply-adds that is 4/k, so it shows where k is small; a C that fits
 * the L2 is passed over there, which is cheaper.
 *
 * bias[j] belongs to column j of C. If the product is taken from its other side
 * (xg_rows_contiguous) that column is a row.
 *
 * H200, TFLOP/s at 1024 / 2048 / 4096, row-major: 16.1 / 39.5 / 42.1,
 * with both steps or none (cuBLAS 35.0 / 50.4 / 51.2).
 */
#include "rung.cuh"

/*                       BM   BN  BK TM TN buffers */
using small = xg_shape<64, 64, 8, 4, 8, 1>;
using medium = xg_shape<128, 128, 8, 8, 8, 2>;
using large = xg_shape<128, 256, 8, 16, 8, 2>;

struct product_and_steps {
  xg_product<float> p;
  const float *bias;
  bool bias_by_row;
};

/* xg_put with the steps that are asked for. max() would turn a NaN into 0. */
template <bool BIAS, bool RELU>
static __device__ void put(const product_and_steps &x, int64_t row, int64_t col, float sum)
{
  asm volatile("" : "+l"(row), "+l"(col)); /* as in xg_put */
  if (row >= x.p.m || col >= x.p.n) return;
  float *c = x.p.c + row * x.p.rs_c + col * x.p.cs_c;
  float value = xg_finish(x.p.alpha, sum, x.p.beta, c);
  if (BIAS) value += x.bias[x.bias_by_row ? row : col];
  if (RELU) value = value < 0 ? 0 : value;
  *c = value;
}

/* Where a lane's i-th row and j-th column are, seen from its first. */
static __device__ int of_row(int i)
{
  return i / 4 * 16 + i % 4;
}

static __device__ int of_col(int j)
{
  return j / 4 * 32 + j % 4;
}

template <class S, bool BIAS, bool RELU>
static __global__ void __launch_bounds__(S::THREADS, S::BLOCKS) fused(product_and_steps with)
{
  const xg_product<float> &p = with.p;
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
    for (int j = 0; j < S::TN; j++)
      put<BIAS, RELU>(with, row + of_row(i), col + of_col(j), sum[i][j]);
}

template <class S, bool BIAS, bool RELU>
static constexpr xg_instance<product_and_steps> instance = {fused<S, BIAS, RELU>, S::BM, S::BN,
                                                            S::THREADS};
static const xg_instance<product_and_steps> instances[2][2][3] = {
    {{instance<small, 0, 0>, instance<medium, 0, 0>, instance<large, 0, 0>},
     {instance<small, 0, 1>, instance<medium, 0, 1>, instance<large, 0, 1>}},
    {{instance<small, 1, 0>, instance<medium, 1, 0>, instance<large, 1, 0>},
     {instance<small, 1, 1>, instance<medium, 1, 1>, instance<large, 1, 1>}}};

static const xg_instance<product_and_steps> &instance_for(const xg_gkr_args *args)
{
  return xg_of_size(instances[args->bias != nullptr][args->relu != 0], args);
}

static const char *ok(const xg_gkr_args *args)
{
  return xg_grid_ok(args, small::BM, small::BN);
}

static int launch(const xg_gkr_args *args, void *stream)
{
  xg_product<float> p = xg_rows_contiguous<float>(args);
  product_and_steps with = {p, (const float *)args->bias, xg_nearer(args->rs_c, args->cs_c)};
  return xg_launch_instance(instance_for(args), with, p, stream);
}

static const void *function(const xg_gkr_args *args)
{
  return (const void *)instance_for(args).kernel;
}

extern "C" const xg_gkr sgemm_ladder_6_fused = {
    .name = "sgemm_ladder_6_fused",
    .family = "ladder",
    .min_cc = 80,
    .type = 's',
    .fuses = 1,
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
