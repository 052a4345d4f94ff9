/* How sums of the f64 Tensor Core kernels become C.
 *
 * The lanes of an mma hold scattered pairs. So a block's sums go through shared memory, where its
 * stages were, and from there to C by whole lines; on the way the slices of k and the blocks of a
 * cluster are added up. */
#ifndef XG_MMA_F64_OUT_CUH
#define XG_MMA_F64_OUT_CUH

#include "launch.cuh"
#include "mma_f64_ptx.cuh"

/* Where results go. The columns are contiguous, or nearer to it than the rows. */
struct xg_out64 {
  double *c;
  int64_t m, n, rs, cs;
  double alpha, beta;
};

/* TURNED: the mma's rows are C's columns. */
template <class S, bool TURNED> struct xg_tile64 {
  static constexpr int ROWS = TURNED ? S::BN : S::BM, COLS = TURNED ? S::BM : S::BN;
  static constexpr int LD = COLS + 4; /* in shared memory */
};

/* The warps' sums, laid into shared memory as WK tiles. */
template <class S, bool TURNED>
__device__ inline void xg_lay_sums64(double *shared, const double (&sum)[S::MI * S::NJ][4])
{
  constexpr int LD = xg_tile64<S, TURNED>::LD;
  int thread = xg_thread_anew(), lane = thread % 32;
  int row = S::warp_row(thread) + lane / 4 * 2, col = S::warp_col(thread) + lane % 4 * 2;
  double *mine = shared + S::warp_slice(thread) * xg_tile64<S, TURNED>::ROWS * LD +
                 (TURNED ? col * LD + row : row * LD + col);
#pragma unroll
  for (int i = 0; i < S::MI; i++)
#pragma unroll
    for (int j = 0; j < S::NJ; j++) {
      const double *s = sum[i * S::NJ + j];
      double2 *to = (double2 *)(mine + (TURNED ? 8 * j * LD + 16 * i : 16 * i * LD + 8 * j));
      to[0] = make_double2(s[0], TURNED ? s[2] : s[1]);
      to[LD / 2] = make_double2(TURNED ? s[1] : s[2], s[3]);
    }
}

template <int V> struct alignas(V * 8) xg_few64 {
  double v[V];
};

/* From there to C, V neighbours of a row at a time; slices, then blocks of the cluster in their
 * order. Each block of a cluster writes its share of the rows. (row, col): the tile's first
 * element. Loops, not unrolled code, because it runs once. */
template <class S, bool TURNED, int V>
__device__ inline void xg_write64(const xg_out64 &o, const double *shared, int64_t row, int64_t col,
                                  unsigned blocks)
{
  using few = xg_few64<V>;
  using tile = xg_tile64<S, TURNED>;
  constexpr int LANES = tile::COLS / V, PASS = S::THREADS / LANES;
  constexpr int ROUNDS = tile::ROWS / PASS; /* of all threads; two blocks should share them */
  constexpr int UNROLL = ROUNDS >= 16 ? 8 : ROUNDS < 4 ? ROUNDS : 4;
  static_assert(ROUNDS % UNROLL == 0 && PASS * LANES == S::THREADS, "");
  int r = (int)threadIdx.x / LANES + (int)xg_cluster_rank() * UNROLL * PASS;
  int c = (int)threadIdx.x % LANES * V, round = (int)blocks * UNROLL * PASS;
  int rows = o.m - row < tile::ROWS ? (int)(o.m - row) : tile::ROWS;
  int cols = o.n - col - c < V ? (int)(o.n - col - c) : V;
  double *to = o.c + (row + r) * o.rs + (col + c) * o.cs;
  const double *from = shared + r * tile::LD + c;
  if (cols <= 0) return;
#pragma unroll 1
  for (; r < rows; r += round) {
    few was[UNROLL] = {}, sum[UNROLL] = {};
    if (o.beta != 0)
#pragma unroll
      for (int u = 0; u < UNROLL; u++)
        if (r + u * PASS < rows) {
          if (V == 2 && cols == 2)
            was[u] = *(const few *)(to + u * PASS * o.rs);
          else
            was[u].v[0] = to[u * PASS * o.rs];
        }
#pragma unroll 1
    for (unsigned b = 0; b < blocks; b++) {
      const double *x = blocks == 1 ? from : xg_cluster_peer(from, b);
#pragma unroll
      for (int u = 0; u < UNROLL; u++)
#pragma unroll
        for (int s = 0; s < S::WK; s++) {
          few one = *(const few *)(x + (s * tile::ROWS + u * PASS) * tile::LD);
#pragma unroll
          for (int v = 0; v < V; v++) sum[u].v[v] += one.v[v];
        }
    }
#pragma unroll
    for (int u = 0; u < UNROLL; u++)
      if (r + u * PASS < rows) {
#pragma unroll
        for (int v = 0; v < V; v++)
          sum[u].v[v] = xg_finish(o.alpha, sum[u].v[v], o.beta, &was[u].v[v]);
        if (V == 2 && cols == 2)
          *(few *)(to + u * PASS * o.rs) = sum[u];
        else
          to[u * PASS * o.rs] = sum[u].v[0];
      }
    to += round * o.rs, from += round * tile::LD;
  }
}

template <class S, bool TURNED>
__device__ inline void xg_finish64(const xg_out64 &o, double *shared,
                                   const double (&sum)[S::MI * S::NJ][4], int64_t row, int64_t col,
                                   unsigned blocks)
{
  xg_lay_sums64<S, TURNED>(shared, sum);
  xg_cluster_meet(blocks);
  if (o.cs == 1 && o.rs % 2 == 0 && (size_t)o.c % 16 == 0)
    xg_write64<S, TURNED, 2>(o, shared, row, col, blocks);
  else
    xg_write64<S, TURNED, 1>(o, shared, row, col, blocks);
  if (blocks > 1) xg_cluster_meet(blocks); /* others may still be reading my sums */
}

/* Has the tile of C brought into the L2 cache while there is time. */
template <class S, bool TURNED>
__device__ inline void xg_expect64(const xg_out64 &o, int64_t row, int64_t col)
{
  using tile = xg_tile64<S, TURNED>;
  constexpr int LINE = 16, LANES = tile::COLS / LINE;
  col += (int)threadIdx.x % LANES * LINE;
  for (int r = (int)threadIdx.x / LANES; r < tile::ROWS; r += S::THREADS / LANES)
    if (row + r < o.m && col < o.n)
      asm volatile("prefetch.global.L2 [%0];" ::"l"(o.c + (row + r) * o.rs + col));
}

/* ---------------------------------------------------------------- parts of k */

/* C = alpha times the sum of the parts + beta C. A block takes 32 elements of a row, blockDim.y
 * threads for each: thread y adds parts y, y + blockDim.y, ...; then their sums in order of y. */
struct xg_parts64 {
  xg_out64 out;
  const double *part;
  int64_t ld, part_c;
  int parts;
};

static __global__ void __launch_bounds__(256) xg_mma64_add(const __grid_constant__ xg_parts64 args)
{
  __shared__ double shared[8][32];
  unsigned per_row = (unsigned)xg_tiles(args.out.n, 32);
  int64_t r = blockIdx.x / per_row, c = blockIdx.x % per_row * 32 + threadIdx.x;
  const double *x = args.part + r * args.ld + c;
  double sum = 0;
  xg_wait_for_previous_kernel();
  if (c < args.out.n)
#pragma unroll 8
    for (int i = (int)threadIdx.y; i < args.parts; i += (int)blockDim.y) sum += x[i * args.part_c];
  shared[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || c >= args.out.n) return;
  for (int y = 1; y < (int)blockDim.y; y++) sum += shared[y][threadIdx.x];
  double *to = args.out.c + r * args.out.rs + c * args.out.cs;
  *to = xg_finish(args.out.alpha, sum, args.out.beta, to);
}

#endif
