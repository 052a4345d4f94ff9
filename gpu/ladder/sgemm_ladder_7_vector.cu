/* Rung 7: 16-byte loads and stores (f32), rung 5b's tiles.
 *
 * Idea. One instruction moves 16 bytes as well as 4, so everything between device memory and
 * registers goes in vectors of four, if the operand lies so: contiguous one way, and pointer, other
 * stride and extent multiples of 16 bytes. Else this rung is rung 5b, whose pieces take any
 * strides.
 *
 *     along outer (B's n, A's m)          along k: turned on its way into shared memory
 *       [v0 v1 v2 v3] -> one store          v0            lane = 2*o + v, o: 16 rows of outer
 *       lanes: neighbouring vectors         v1   4        v: which half of the piece's 8 steps
 *                                           v2   stores   bank 4*(4v + i) + o: all different
 *                                           v3            for store i, thanks to the padding
 *
 * C is stored in vectors of four columns, a warp 8 of them side by side, 128 bytes a row.
 *
 * Predicted traffic. Rung 5b's bytes in a quarter of the load instructions (12 copies of an element
 * each become 3 of a vector at 128 x 256 x 8), and of the stores of C.
 *
 * What limits it. Issue slots, and that a thread's loads pass through its registers: what is under
 * way is one piece, held in registers that the sums could use.
 *
 * H200, TFLOP/s at 1024 / 2048 / 4096, row-major: 18.3 / 45.1 / 48.4 (cuBLAS 35.0 / 50.4 / 51.2).
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

/* As xg_piece, in vectors of four. */
template <int BX, int BK, int THREADS> struct wide_piece {
  static constexpr int V = 4, ROW = BX + 4, OUTER = THREADS / BK * V, COUNT = BX / OUTER;
  static_assert(BK == 8 && THREADS % BK == 0 && BX % OUTER == 0, "");

  const float *from;
  int64_t step, next;
  int k, outer, to;
  bool along_k;
  float4 held[COUNT];

  __device__ wide_piece(const float *x, int64_t extent, int64_t so, int64_t sk, int64_t origin)
      : along_k(sk == 1)
  {
    int t = threadIdx.x;
    int o = along_k ? t / (BK / V) : t % (OUTER / V) * V;
    k = along_k ? t % (BK / V) * V : t / (OUTER / V);
    from = x + (origin + o) * so + k * sk, step = OUTER * so, next = BK * sk;
    outer = (int)(extent - origin < BX ? extent - origin : BX) - o;
    to = k * ROW + o;
  }

  __device__ void fetch(int64_t rest)
  {
#pragma unroll
    for (int i = 0; i < COUNT; i++)
      held[i] = k < rest && i * OUTER < outer ? *(const float4 *)(from + i * step) : float4{};
    from += next;
  }

  __device__ void put(float *stage) const
  {
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
      float *at = stage + to + i * OUTER;
      if (along_k)
        at[0] = held[i].x, at[ROW] = held[i].y, at[2 * ROW] = held[i].z, at[3 * ROW] = held[i].w;
      else
        *(float4 *)at = held[i];
    }
  }
};

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

template <class S, template <int, int, int> class PIECE>
static __global__ void __launch_bounds__(S::THREADS, S::BLOCKS) vectorised(xg_product<float> p)
{
  using piece_a = PIECE<S::BM, S::BK, S::THREADS>;
  using piece_b = PIECE<S::BN, S::BK, S::THREADS>;
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

  bool wide = piece_a::V == 4 && xg_on_16_bytes(p.c, p.rs_c, p.cs_c);
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
    for (int j = 0; j < S::TN; j += 4) put4(p, wide, row + of_row(i), col + of_col(j), &sum[i][j]);
}

template <class S, template <int, int, int> class PIECE>
static constexpr xg_instance<xg_product<float>> instance = {vectorised<S, PIECE>, S::BM, S::BN,
                                                            S::THREADS};
static const xg_instance<xg_product<float>> instances[2][3] = {
    {instance<small, xg_piece>, instance<medium, xg_piece>, instance<large, xg_piece>},
    {instance<small, wide_piece>, instance<medium, wide_piece>, instance<large, wide_piece>}};

static const xg_instance<xg_product<float>> &instance_for(const xg_gkr_args *args)
{
  xg_product<float> p = xg_rows_contiguous<float>(args);
  bool wide =
      xg_in_vectors(p.a, p.m, p.k, p.rs_a, p.cs_a) && xg_in_vectors(p.b, p.k, p.n, p.rs_b, p.cs_b);
  return xg_of_size(instances[wide], args);
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

extern "C" const xg_gkr sgemm_ladder_7_vector = {
    .name = "sgemm_ladder_7_vector",
    .family = "ladder",
    .min_cc = 80,
    .type = 's',
    .bm = medium::BM,
    .bn = medium::BN,
    .bk = medium::BK,
    .threads = medium::THREADS,
    .shared = medium::SHARED,
    .blocks = medium::BLOCKS,
    .efficiency = 0.72,
    .ok = ok,
    .function = function,
    .launch = launch,
};
