/* Rung 9: Tensor Cores by WMMA (E is fp16 or bf16; sums and C fp32).
 *
 * Idea. A warp multiplies 16 x 16 by 16 x 16 in one go: 4096 multiply-adds, 128 a lane. What a lane
 * holds of such a fragment is the library's secret; a program loads fragments from shared memory,
 * multiplies and stores them.
 *
 *     warp tile 64 x 64, one 16-step of k:     a block: 2 x 4 warps, 128 x 256
 *
 *              b0  b1  b2  b3                  rung 8's copies and its ring of pieces, 64 steps
 *         a0 [ 16 fragments  ]                 each; an operand lies in shared memory as it does
 *         a1 [ of sums       ]                 in device memory, and the fragment's layout (row or
 *         a2 [               ]                 column major) says which way that is
 *         a3 [               ]
 *
 *     4 + 4 loads for 16 products
 *
 * C needs alpha, beta and edges, for which elements must be known: sums go through a patch of
 * shared memory, 16 x 16 at a time.
 *
 * Predicted traffic. Elements are 2 bytes: device memory at 128 x 256 2*128*256 / (2*(128+256)) =
 * 85 flop/byte. Shared memory, counted for a warp: mnk (1/WM + 1/WN) elements, 32 flop/byte at 64
 * x 64.
 *
 * What limits it. Products wait for their fragments, which are loaded just before, by code that is
 * not ours to choose: nvcc 13.0 makes ldmatrix of it for fp16, but generic loads of 4 bytes, turned
 * by a shuffle, for bf16.
 *
 * H200, TFLOP/s at 1024 / 2048 / 4096: fp16 95 / 253 / 258 (cuBLAS 323 / 619 / 708), bf16 70 / 169
 * / 184 (320 / 649 / 748).
 */
#ifndef XG_GEMM_LADDER_9_WMMA_CUH
#define XG_GEMM_LADDER_9_WMMA_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include "tensor.cuh"

template <class E, class S, xg_way WAY_A, xg_way WAY_B>
static __global__ void __launch_bounds__(S::THREADS) xg_wmma(xg_product<float, E> p)
{
  using namespace nvcuda::wmma;
  using copies = xg_tensor_copies<E, S, WAY_A, WAY_B>;
  using layout_a = typename xg_tensor_choice<WAY_A == XG_ALONG, row_major, col_major>::type;
  using layout_b = typename xg_tensor_choice<WAY_B == XG_ALONG, col_major, row_major>::type;
  constexpr int ROW_A = copies::a::ROW, ROW_B = copies::b::ROW;
  constexpr int BK = S::BK, STAGES = S::STAGES, I = S::WM / 16, J = S::WN / 16;
  extern __shared__ __align__(16) unsigned char shared[];
  auto stage = [&](int s) { return (E *)shared + s * copies::PIECE; };

  xg_tile tile = xg_tile_of(blockIdx.x, xg_tiles(p.m, S::BM), xg_tiles(p.n, S::BN));
  int64_t row = tile.row * S::BM, col = tile.col * S::BN;
  typename copies::a copy_a(p.a, p.m, p.rs_a, p.cs_a, row);
  typename copies::b copy_b(p.b, p.n, p.cs_b, p.rs_b, col);
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int wy = warp / S::WARPS_N * S::WM, wx = warp % S::WARPS_N * S::WN;

  auto start = [&](int s, int64_t rest) {
    if (rest > 0) copy_a.start(stage(s), rest), copy_b.start(stage(s) + copies::a::SIZE, rest);
    xg_copies_end();
  };
  for (int s = 0; s < STAGES - 1; s++) start(s, p.k - s * BK);

  fragment<accumulator, 16, 16, 16, float> sum[I][J];
#pragma unroll
  for (int i = 0; i < I; i++)
#pragma unroll
    for (int j = 0; j < J; j++) fill_fragment(sum[i][j], 0);
  int now = 0;
  for (int64_t rest = p.k; rest > 0; rest -= BK) {
    xg_copies_wait<STAGES - 2>();
    __syncthreads(); /* this piece has come, and all are done with the one before */
    start(now ? now - 1 : STAGES - 1, rest - (STAGES - 1) * BK);
    const E *as = stage(now), *bs = as + copies::a::SIZE;
#pragma unroll 2 /* more would take more registers than there are */
    for (int q = 0; q < BK; q += 16) {
      fragment<matrix_b, 16, 16, 16, E, layout_b> b[J];
#pragma unroll
      for (int j = 0; j < J; j++) load_matrix_sync(b[j], bs + copies::b::at(wx + 16 * j, q), ROW_B);
#pragma unroll
      for (int i = 0; i < I; i++) {
        fragment<matrix_a, 16, 16, 16, E, layout_a> a;
        load_matrix_sync(a, as + copies::a::at(wy + 16 * i, q), ROW_A);
#pragma unroll
        for (int j = 0; j < J; j++) mma_sync(sum[i][j], a, b[j], sum[i][j]);
      }
    }
    now = now + 1 == STAGES ? 0 : now + 1;
  }

  xg_copies_wait<0>();
  __syncthreads(); /* the ring becomes a patch for each warp */
  float *patch = (float *)shared + warp * 16 * 16;
#pragma unroll
  for (int i = 0; i < I; i++)
#pragma unroll
    for (int j = 0; j < J; j++) {
      store_matrix_sync(patch, sum[i][j], 16, mem_row_major);
      __syncwarp();
      for (int e = lane; e < 16 * 16; e += 32)
        xg_put(p, row + wy + 16 * i + e / 16, col + wx + 16 * j + e % 16, patch[e]);
      __syncwarp();
    }
}

template <class E_> struct xg_wmma_rung {
  using E = E_;
  /*                              BM   BN   BK  WM  WN pieces */
  using small = xg_tensor_shape<64, 64, 32, 32, 32, 2>;
  using medium = xg_tensor_shape<128, 128, 64, 64, 32, 3>;
  using large = xg_tensor_shape<128, 256, 64, 64, 64, 3>;
  using any = xg_tensor_shape<128, 128, 32, 64, 32, 3>;
  template <class S, xg_way WAY_A, xg_way WAY_B>
  static constexpr auto kernel = xg_wmma<E, S, WAY_A, WAY_B>;
};

#endif
