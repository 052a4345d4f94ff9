/* Rung 8: asynchronous copies, several pieces under way (f32), rung 5b's tiles.
 *
 * Idea. cp.async copies from device memory to shared memory past the registers. A thread starts its
 * copies and goes on; STAGES pieces lie in a ring, and while one is used the others are filled. One
 * barrier a piece says two things: piece t+1 has come for all, and nobody reads piece t any more.
 *
 *     piece t  in use     t+1, ..  under way     t+STAGES-1  started into t-1's place
 *
 * A thread also loads the next step's elements from shared memory before it multiplies this one's,
 * across the barrier too, so that FMAs never wait for either.
 *
 * Vectors are copied as they lie, 16 bytes at a time. An operand contiguous along k must be turned,
 * which no copy of 16 bytes does; it is copied element by element, each to its place, lanes as in
 * rung 3: 8 along k, a sector. What no vector fits goes the same way.
 *
 * Predicted traffic. Rung 7's. No store instructions into shared memory, no registers in between.
 *
 * What limits it. The register file. A register that a load fills is a write like an FMA's, and
 * what the counters of an H200 miss in issue slots is 3 for every load of 4 registers: a step of k
 * takes about TM*TN + TM + TN slots, so that 8 x 8 reaches 80 % at most and 16 x 8, with all
 * registers taken, 84. Then the copies' instructions, 3 to 6 %.
 *
 * H200, TFLOP/s at 1024 / 2048 / 4096, row-major: 23.0 / 47.8 / 50.5 (cuBLAS 35.0 / 50.4 / 51.2).
 * At 1024 the 64 tiles can reach 64/132 of the peak: 32.4.
 */
#include "copies.cuh"

/*                       BM   BN  BK TM TN pieces */
using small = xg_shape<64, 64, 8, 4, 8, 3>;
using medium = xg_shape<128, 128, 8, 8, 8, 4>;
using large = xg_shape<128, 256, 8, 16, 8, 3>;

/* Where a lane's i-th row and j-th column are, seen from its first. */
static __device__ int of_row(int i)
{
  return i / 4 * 16 + i % 4;
}

static __device__ int of_col(int j)
{
  return j / 4 * 32 + j % 4;
}

/* Four neighbours of a row of C. */
static __device__ void put4(const xg_product<float> &p, bool wide, int64_t row, int64_t col,
                            const float *sum)
{
  if (wide && row < p.m && col + 4 <= p.n) {
    float4 *c = (float4 *)(p.c + row * p.rs_c + col), old = p.beta == 0 ? float4{} : *c;
    *c = {xg_finish(p.alpha, sum[0], p.beta, &old.x), xg_finish(p.alpha, sum[1], p.beta, &old.y),
          xg_finish(p.alpha, sum[2], p.beta, &old.z), xg_finish(p.alpha, sum[3], p.beta, &old.w)};
  } else {
#pragma unroll
    for (int v = 0; v < 4; v++) xg_put(p, row, col + v, sum[v]);
  }
}

template <class S, xg_way WAY_A, xg_way WAY_B>
static __global__ void __launch_bounds__(S::THREADS, S::BLOCKS) async(xg_product<float> p)
{
  using copies_a = xg_copies<float, S::BM, S::BK, S::THREADS, WAY_A>;
  using copies_b = xg_copies<float, S::BN, S::BK, S::THREADS, WAY_B>;
  constexpr int BK = S::BK, STAGES = S::STAGES;
  __shared__ __align__(16) float as[STAGES][BK][copies_a::ROW];
  __shared__ __align__(16) float bs[STAGES][BK][copies_b::ROW];
  xg_tile tile = xg_tile_of(blockIdx.x, xg_tiles(p.m, S::BM), xg_tiles(p.n, S::BN));
  int64_t row = tile.row * S::BM, col = tile.col * S::BN;
  copies_a a(p.a, p.m, p.rs_a, p.cs_a, row);
  copies_b b(p.b, p.n, p.cs_b, p.rs_b, col);
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int ty = warp / (S::BN / S::WN) * S::WM + (lane / 16 * 2 + lane % 2) * 4;
  int tx = warp % (S::BN / S::WN) * S::WN + lane % 16 / 2 * 4;
  row += ty, col += tx; /* my first element of C */

  bool wide = xg_on_16_bytes(p.c, p.rs_c, p.cs_c);
  float sum[S::TM][S::TN] = {};
  __align__(16) float x[2][S::TM], y[2][S::TN];
  int now = 0;
  auto start = [&](int stage, int64_t rest) {
    a.start(as[stage][0], rest), b.start(bs[stage][0], rest);
    xg_copies_end();
  };
  auto load = [&](int q) {
#pragma unroll
    for (int i = 0; i < S::TM; i += 4)
      *(float4 *)&x[q % 2][i] = *(const float4 *)&as[now][q][ty + of_row(i)];
#pragma unroll
    for (int j = 0; j < S::TN; j += 4)
      *(float4 *)&y[q % 2][j] = *(const float4 *)&bs[now][q][tx + of_col(j)];
  };
  for (int s = 0; s < STAGES - 1; s++) start(s, p.k - s * BK);
  xg_copies_wait<STAGES - 2>();
  __syncthreads();
  load(0);
  for (int64_t rest = p.k; rest > 0; rest -= BK) {
    start(now ? now - 1 : STAGES - 1, rest - (STAGES - 1) * BK);
#pragma unroll
    for (int q = 0; q < BK; q++) {
      if (q == BK - 1) {
        xg_copies_wait<STAGES - 2>();
        __syncthreads();
        now = now + 1 == STAGES ? 0 : now + 1;
      }
      load((q + 1) % BK);
      xg_outer_product(sum, x[q % 2], y[q % 2]);
    }
  }
#pragma unroll
  for (int i = 0; i < S::TM; i++)
#pragma unroll
    for (int j = 0; j < S::TN; j += 4) put4(p, wide, row + of_row(i), col + of_col(j), &sum[i][j]);
}

template <class S, xg_way WAY_A, xg_way WAY_B>
static constexpr xg_instance<xg_product<float>> instance = {async<S, WAY_A, WAY_B>, S::BM, S::BN,
                                                            S::THREADS};
template <xg_way WAY_A, xg_way WAY_B>
static constexpr xg_instance<xg_product<float>> of_sizes[3] = {
    instance<small, WAY_A, WAY_B>, instance<medium, WAY_A, WAY_B>, instance<large, WAY_A, WAY_B>};

static const xg_instance<xg_product<float>> &instance_for(const xg_gkr_args *args)
{
  xg_product<float> p = xg_rows_contiguous<float>(args);
  bool a = p.rs_a == 1 && xg_in_vectors(p.a, p.m, p.k, p.rs_a, p.cs_a);
  bool b = p.cs_b == 1 && xg_in_vectors(p.b, p.k, p.n, p.rs_b, p.cs_b);
  if (a && b) return xg_of_size(of_sizes<XG_ACROSS, XG_ACROSS>, args);
  if (a && p.rs_b == 1) return xg_of_size(of_sizes<XG_ACROSS, XG_TURNED>, args);
  if (b && p.cs_a == 1) return xg_of_size(of_sizes<XG_TURNED, XG_ACROSS>, args);
  return xg_of_size(of_sizes<XG_ANY, XG_ANY>, args);
}

static const char *ok(const xg_gkr_args *args)
{
  return xg_grid_ok(args, small::BM, small::BN);
}

static int launch(const xg_gkr_args *args, void *stream)
{
  xg_product<float> p = xg_rows_contiguous<float>(args);
  return xg_launch_instance(instance_for(args), p, p, stream);
}

static const void *function(const xg_gkr_args *args)
{
  return (const void *)instance_for(args).kernel;
}

extern "C" const xg_gkr sgemm_ladder_8_async = {
    .name = "sgemm_ladder_8_async",
    .family = "ladder",
    .min_cc = 80,
    .type = 's',
    .bm = medium::BM,
    .bn = medium::BN,
    .bk = medium::BK,
    .threads = medium::THREADS,
    .shared = medium::SHARED,
    .blocks = medium::BLOCKS,
    .efficiency = 0.75,
    .ok = ok,
    .function = function,
    .launch = launch,
};
