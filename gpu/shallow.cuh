/* Products with a small k: C is written, and that is all the time there is. The frame of shallow*.
 *
 *      all k at once:      BN               4096 x 4096 x 16, f32: 67 MB of C, 0.5 MB of A and B
 *                   +-------------+
 *                 k |      B      |         A block copies its k x BM of A and k x BN of B to
 * shared
 *                   +-------------+         memory, waits once, sums, stores C: no pipeline of its
 *          k         BN                     own. Small blocks, many of them on a multiprocessor,
 *        +----+     +-------------+         overlap: some load, some sum, some store.
 *     BM | A  |     |      C      |
 *        +----+     +-------------+
 *
 * Warp and thread tiles are those of simt.cuh. */
#ifndef XG_SHALLOW_CUH
#define XG_SHALLOW_CUH

#include "loads.cuh"
#include "parts.cuh"
#include "simt.cuh"

template <class T> struct xg_shallow_operand {
  const T *x;
  int64_t outer, so, sk;
  int wide;  /* copied 16 bytes at a time, along m or n */
  int lanes; /* else: lanes along k, a power of 2, the others along m or n */
};

/* Starts the block's copies of an operand: BX rows (or columns) from `origin` on, all k. */
template <class T, int BX, int THREADS>
__device__ inline void xg_shallow_copy(const xg_shallow_operand<T> &x, T *to, int64_t origin, int k)
{
  constexpr int V = 16 / sizeof(T), E = sizeof(T), LD = BX + V, UNITS = BX / V;
  unsigned address = (unsigned)__cvta_generic_to_shared(to);
  const T *from = x.x + origin * x.so;
  int t = (int)threadIdx.x, rest = (int)(x.outer - origin < BX ? x.outer - origin : BX);
  if (x.wide) {
    int o = t % UNITS * V, have = rest - o < 0 ? 0 : rest - o < V ? rest - o : V;
    for (int i = t / UNITS; i < k; i += THREADS / UNITS)
      xg_copy_some(address + (i * LD + o) * E, from + (o + i * x.sk), have);
  } else {
    int lane_k = t & (x.lanes - 1), across = THREADS / x.lanes;
    for (int i = lane_k; i < k; i += x.lanes)
      for (int o = t / x.lanes; o < BX; o += across)
        xg_copy<E>(address + (i * LD + o) * E, from + (o * x.so + i * x.sk), o < rest ? E : 0);
  }
}

template <class T> struct xg_shallow_args {
  xg_product<T> p;
  xg_shallow_operand<T> a, b;
};

/* The thread's sums, of a tile that is all inside C and can be written 16 bytes at a time. What is
 * read of C is read V rows ahead of the writing, or each read would wait for the write before it:
 * 40 us instead of 69 at 4096 x 4096 x 16 with beta. */
template <class S>
__device__ inline void xg_shallow_finish(const xg_product<typename S::T> &p, const xg_sums<S> &sum,
                                         typename S::T *to)
{
  using T = typename S::T;
  constexpr int V = S::V, GROUPS = S::TN / V, DOWN = XG_LANE_ROWS, ACROSS = XG_LANE_COLS * V;
  if (p.beta == 0) {
#pragma unroll
    for (int i = 0; i < S::TM; i++)
#pragma unroll
      for (int g = 0; g < GROUPS; g++) {
        xg_vec<T> y;
#pragma unroll
        for (int w = 0; w < V; w++) y.v[w] = p.alpha * sum.at[i][g * V + w];
        *(xg_vec<T> *)(to + (i / V * V * DOWN + i % V) * p.rs_c + g * ACROSS) = y;
      }
    return;
  }
  xg_vec<T> was[2][V][GROUPS];
  auto read = [&](int i) {
#pragma unroll
    for (int v = 0; v < V; v++)
#pragma unroll
      for (int g = 0; g < GROUPS; g++)
        was[i / V % 2][v][g] = *(const xg_vec<T> *)(to + (i * DOWN + v) * p.rs_c + g * ACROSS);
  };
  read(0);
#pragma unroll
  for (int i = 0; i < S::TM; i += V) {
    if (i + V < S::TM) read(i + V);
#pragma unroll
    for (int v = 0; v < V; v++)
#pragma unroll
      for (int g = 0; g < GROUPS; g++) {
        xg_vec<T> y = was[i / V % 2][v][g];
#pragma unroll
        for (int w = 0; w < V; w++)
          y.v[w] = fma(p.alpha, sum.at[i + v][g * V + w], p.beta * y.v[w]);
        *(xg_vec<T> *)(to + (i * DOWN + v) * p.rs_c + g * ACROSS) = y;
      }
  }
}

/* The same of a tile that is not: a row is read before it is written. */
template <class S>
__device__ inline void xg_shallow_edge(const xg_product<typename S::T> &p, const xg_sums<S> &sum,
                                       int64_t row, int64_t col)
{
  using T = typename S::T;
  constexpr int V = S::V;
#pragma unroll
  for (int i = 0; i < S::TM; i++) {
    int64_t r = row + i / V * XG_LANE_ROWS * V + i % V;
    T *to = p.c + r * p.rs_c, was[S::TN] = {};
    auto column = [&](int j) { return col + j / V * XG_LANE_COLS * V + j % V; };
    if (p.beta != 0)
#pragma unroll
      for (int j = 0; j < S::TN; j++)
        if (r < p.m && column(j) < p.n) was[j] = to[column(j) * p.cs_c];
#pragma unroll
    for (int j = 0; j < S::TN; j++)
      if (r < p.m && column(j) < p.n)
        to[column(j) * p.cs_c] = xg_finish(p.alpha, sum.at[i][j], p.beta, &was[j]);
  }
}

template <class S>
__device__ inline void xg_shallow_sum(xg_sums<S> &sum, const typename S::T *a,
                                      const typename S::T *b, int k)
{
  using T = typename S::T;
#pragma unroll 2
  for (int i = 0; i < k; i++, a += S::LDA, b += S::LDB) {
    T x[S::TM], y[S::TN];
    xg_fragment<S::TM, XG_LANE_ROWS>(x, a);
    xg_fragment<S::TN, XG_LANE_COLS>(y, b);
#pragma unroll
    for (int r = 0; r < S::TM; r++)
#pragma unroll
      for (int c = 0; c < S::TN; c++) sum.at[r][c] = fma(x[r], y[c], sum.at[r][c]);
  }
}

template <class S>
__global__ void __launch_bounds__(S::THREADS, S::BLOCKS)
    xg_shallow_kernel(const __grid_constant__ xg_shallow_args<typename S::T> x)
{
  using T = typename S::T;
  extern __shared__ __align__(16) char bytes[];
  xg_parts_begin();
  const xg_product<T> &p = x.p;
  const int k = (int)p.k, t = (int)threadIdx.x;
  const int64_t rows = xg_tiles(p.m, S::BM), cols = xg_tiles(p.n, S::BN);
  const bool wide = p.cs_c == 1 && p.rs_c % S::V == 0 && (size_t)p.c % 16 == 0;
  T *use = (T *)bytes, *other = use + k * (S::LDA + S::LDB);
  auto copy = [&](T *to, int64_t number) {
    if (number < rows * cols) {
      xg_tile tile = xg_tile_of(number, rows, cols);
      xg_shallow_copy<T, S::BM, S::THREADS>(x.a, to, tile.row * S::BM, k);
      xg_shallow_copy<T, S::BN, S::THREADS>(x.b, to + k * S::LDA, tile.col * S::BN, k);
    }
    xg_copies_end();
  };

  int warp = t / 32, lane = t % 32;
  int lane_row = lane / 16 * 2 + lane % 2, lane_col = lane % 16 / 2;
  int my_row = warp / (S::BN / S::WN) * S::WM + lane_row * S::V;
  int my_col = warp % (S::BN / S::WN) * S::WN + lane_col * S::V;

  copy(use, blockIdx.x);
  for (int64_t number = blockIdx.x; number < rows * cols; number += gridDim.x) {
    copy(other, number + gridDim.x);
    xg_copies_wait<1>();
    __syncthreads();
    xg_sums<S> sum = {};
    xg_shallow_sum<S>(sum, use + my_row, use + k * S::LDA + my_col, k);
    xg_tile tile = xg_tile_of(number, rows, cols);
    int64_t row = tile.row * S::BM, col = tile.col * S::BN;
    bool whole = wide && row + S::BM <= p.m && col + S::BN <= p.n;
    T *to = p.c + (row + my_row) * p.rs_c + (col + my_col) * p.cs_c;
    if (whole)
      xg_shallow_finish<S>(p, sum, to);
    else
      xg_shallow_edge<S>(p, sum, row + my_row, col + my_col);
    __syncthreads();
    T *was = use;
    use = other, other = was;
  }
}

/* ---------------------------------------------------------------- host */

template <class T>
xg_shallow_operand<T> xg_shallow_operand_of(const T *x, int64_t outer, int64_t so, int64_t sk,
                                            int64_t k)
{
  int64_t down = so < 0 ? -so : so, along = sk < 0 ? -sk : sk;
  int lanes = 1;
  while (along < down && lanes < k && lanes < 32) lanes *= 2;
  return {x, outer, so, sk, xg_wide(x, so, sk, k), lanes};
}

template <class S> const char *xg_shallow_ok(const xg_gkr_args *args)
{
  auto p = xg_rows_contiguous<typename S::T>(args);
  if (p.k > S::BK) return "k is too large";
  if (p.m < S::BM || p.n < S::BN) return "C is less than a tile";
  return xg_grid_ok(args, S::BM, S::BN);
}

template <class S> const void *xg_shallow_function(const xg_gkr_args *)
{
  return (const void *)xg_shallow_kernel<S>;
}

/* Shared memory of a block. */
template <class S> constexpr int xg_shallow_shared(int k)
{
  return 2 * k * (S::LDA + S::LDB) * (int)sizeof(typename S::T);
}

template <class S> int xg_shallow_launch(const xg_gkr_args *args, void *stream)
{
  using T = typename S::T;
  xg_product<T> p = xg_rows_contiguous<T>(args);
  xg_shallow_args<T> x = {p, xg_shallow_operand_of(p.a, p.m, p.rs_a, p.cs_a, p.k),
                          xg_shallow_operand_of(p.b, p.n, p.cs_b, p.rs_b, p.k)};
  xg_parts<T> whole = {1, p.k, 0, nullptr};
  int shared = xg_shallow_shared<S>((int)p.k), fit = 227 * 1024 / (shared + 1024);
  int64_t blocks = xg_blocks(p, S::BM, S::BN);
  int64_t most = (int64_t)(fit < S::BLOCKS ? fit : S::BLOCKS) * args->sms;
  return xg_parts_launch(xg_shallow_function<S>(args), &x, p, whole, blocks < most ? blocks : most,
                         S::THREADS, shared, stream);
}

#endif
