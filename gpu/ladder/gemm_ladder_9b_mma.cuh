/* Rung 9b: Tensor Cores by mma.sync, fragments by ldmatrix (E is fp16 or bf16; sums and C fp32).
 *
 * Idea. The instructions under WMMA, whose fragments are documented. ldmatrix brings four 8 x 8
 * matrices in one instruction, each lane naming one row of 16 bytes and receiving its share of the
 * fragment; with .trans it turns each matrix on the way. So both ways an operand can lie feed the
 * same mma.sync, which wants A by rows and B by columns, both along k:
 *
 *     16 x 16 of A, matrices 0..3        A [m][k]: plain      A [k][m]: .trans
 *          k 0-7   k 8-15                B [n][k]: plain      B [k][n]: .trans
 *     m 0-7   0       2
 *     m 8-15  1       3                  (of B matrices 1 and 2 change places: two fragments of
 *                                         16 x 8 then lie in registers 0, 1 and 2, 3)
 *
 *     sums, 16 x 8: lane l has row l/4 (and 8 more), columns 2(l%4) and the next
 *
 * Rows of shared memory are padded by 16 bytes: an odd number of 16-byte words apart, 8 rows lie in
 * all 32 banks. Since the place of every sum is known, C is stored from registers, two neighbours
 * at a time, 4 lanes a sector of 32 bytes.
 *
 * As in rung 8 the next step's fragments are loaded before this step's products, across the barrier
 * too.
 *
 * Predicted traffic. Rung 9's; the patch of shared memory for C is gone.
 *
 * What limits it. mma.sync itself: a warp brings all operands in registers, and its peak on Hopper
 * is about 60 % of the Tensor Cores'. wgmma, for four warps together, reads them from shared
 * memory.
 *
 * H200, TFLOP/s at 1024 / 2048 / 4096: fp16 140 / 298 / 386 (cuBLAS 323 / 619 / 708), bf16 140 /
 * 301 / 415 (320 / 649 / 748).
 */
#ifndef XG_GEMM_LADDER_9B_MMA_CUH
#define XG_GEMM_LADDER_9B_MMA_CUH

#include "../ptx/ldmatrix.cuh"
#include "../ptx/mma_sync.cuh"
#include "tensor.cuh"

/* C's elements (row,col) and (row,col+1). */
template <class E>
static __device__ void xg_put2(const xg_product<float, E> &p, bool wide, int64_t row, int64_t col,
                               float sum0, float sum1)
{
  if (wide && row < p.m && col + 2 <= p.n) {
    float2 *c = (float2 *)(p.c + row * p.rs_c + col), old = p.beta == 0 ? float2{} : *c;
    *c = {xg_finish(p.alpha, sum0, p.beta, &old.x), xg_finish(p.alpha, sum1, p.beta, &old.y)};
  } else {
    xg_put(p, row, col, sum0), xg_put(p, row, col + 1, sum1);
  }
}

template <class E, class S, xg_way WAY_A, xg_way WAY_B>
static __global__ void __launch_bounds__(S::THREADS) xg_mma(xg_product<float, E> p)
{
  using copies = xg_tensor_copies<E, S, WAY_A, WAY_B>;
  constexpr int BK = S::BK, STAGES = S::STAGES, I = S::WM / 16, J = S::WN / 8;
  extern __shared__ __align__(16) unsigned char shared[];
  auto stage = [&](int s) { return (E *)shared + s * copies::PIECE; };

  xg_tile tile = xg_tile_of(blockIdx.x, xg_tiles(p.m, S::BM), xg_tiles(p.n, S::BN));
  int64_t row = tile.row * S::BM, col = tile.col * S::BN;
  typename copies::a copy_a(p.a, p.m, p.rs_a, p.cs_a, row);
  typename copies::b copy_b(p.b, p.n, p.cs_b, p.rs_b, col);
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int wy = warp / S::WARPS_N * S::WM, wx = warp % S::WARPS_N * S::WN;
  /* The row of a matrix that this lane names, in A's tile and in B's. */
  int of_a = copies::a::at(wy + lane / 8 % 2 * 8, lane / 16 * 8) + lane % 8 * copies::a::ROW;
  int of_b = copies::b::at(wx + lane / 16 * 8, lane / 8 % 2 * 8) + lane % 8 * copies::b::ROW;

  auto start = [&](int s, int64_t rest) {
    if (rest > 0) copy_a.start(stage(s), rest), copy_b.start(stage(s) + copies::a::SIZE, rest);
    xg_copies_end();
  };
  for (int s = 0; s < STAGES - 1; s++) start(s, p.k - s * BK);

  float sum[I][J][4] = {};
  uint32_t a[2][I][4], b[2][J / 2][4];
  int now = 0;
  auto load = [&](int q) {
    const E *as = stage(now), *bs = as + copies::a::SIZE;
#pragma unroll
    for (int i = 0; i < I; i++)
      xg_ldmatrix<WAY_A != XG_ALONG>(a[q / 16 % 2][i], as + of_a + copies::a::at(16 * i, q));
#pragma unroll
    for (int j = 0; j < J / 2; j++)
      xg_ldmatrix<WAY_B != XG_ALONG>(b[q / 16 % 2][j], bs + of_b + copies::b::at(16 * j, q));
  };
  xg_copies_wait<STAGES - 2>();
  __syncthreads();
  load(0);
  for (int64_t rest = p.k; rest > 0; rest -= BK) {
    start(now ? now - 1 : STAGES - 1, rest - (STAGES - 1) * BK);
#pragma unroll
    for (int q = 0; q < BK; q += 16) {
      if (q == BK - 16) {
        xg_copies_wait<STAGES - 2>();
        __syncthreads();
        now = now + 1 == STAGES ? 0 : now + 1;
      }
      load((q + 16) % BK);
#pragma unroll
      for (int i = 0; i < I; i++)
#pragma unroll
        for (int j = 0; j < J; j++)
          xg_mma_16x8x16<E>(sum[i][j], a[q / 16 % 2][i], b[q / 16 % 2][j / 2][j % 2 * 2],
                            b[q / 16 % 2][j / 2][j % 2 * 2 + 1]);
    }
  }

  bool wide = xg_on_16_bytes(p.c, p.rs_c, p.cs_c);
#pragma unroll
  for (int i = 0; i < I; i++)
#pragma unroll
    for (int j = 0; j < J; j++) {
      int64_t r = row + wy + 16 * i + lane / 4, c = col + wx + 8 * j + lane % 4 * 2;
      xg_put2(p, wide, r, c, sum[i][j][0], sum[i][j][1]);
      xg_put2(p, wide, r + 8, c, sum[i][j][2], sum[i][j][3]);
    }
}

template <class E_> struct xg_mma_rung {
  using E = E_;
  /*                              BM   BN   BK  WM  WN pieces */
  using small = xg_tensor_shape<64, 64, 32, 32, 32, 2>;
  using medium = xg_tensor_shape<128, 128, 64, 64, 32, 3>;
  using large = xg_tensor_shape<128, 256, 64, 64, 64, 3>;
  using any = xg_tensor_shape<128, 128, 32, 64, 32, 3>;
  template <class S, xg_way WAY_A, xg_way WAY_B>
  static constexpr auto kernel = xg_mma<E, S, WAY_A, WAY_B>;
};

#endif
