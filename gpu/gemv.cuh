/* Products with m = 1 or n = 1: a matrix is read from memory once, and that is all the time there
 * is. The frame of gemv.
 *
 *   c (m) = A (m x k) b (k)                                       (m = 1: C^T = B^T A^T)
 *
 * Threads load 16 bytes at a time straight into registers, DEPTH steps ahead. b lies in shared
 * memory, KC steps at a time in two turns.
 *
 *   xg_gemv_rows: A is contiguous along k         xg_gemv_columns: A is contiguous along m
 *
 *      8 lanes along k, 4 along m, R rows each       WIDTH lanes along m, V rows each
 *       k ->                                          m ->
 *      [V][V][V][V][V][V][V][V]  128 bytes           [V][V] .. [V]   16 WIDTH bytes
 *      [V][V][V][V][V][V][V][V]                      [V][V] .. [V]   the warp's next k
 *      ...         (4 R rows)                        ...             (32 / WIDTH of them)
 *
 * The warps of a block are divided: warps_k of them take turns along k, the others lie along m.
 * Sums are folded over lanes by shuffles, over warps through shared memory. k is cut in parts where
 * there are too few rows (parts.cuh); how, follows from the shape and the count of multiprocessors.
 *
 * Bytes in flight, which make the bandwidth: threads x DEPTH x 16 (rows: x R) on a multiprocessor;
 * 40 KB are needed. */
#ifndef XG_GEMV_CUH
#define XG_GEMV_CUH

#include "loads.cuh"
#include "parts.cuh"
#include "simt.cuh"

template <class T_, int R_, int DEPTH_ROWS_, int DEPTH_COLUMNS_, int WIDTH_, int WARPS_,
          int BLOCKS_>
struct xg_gemv {
  using T = T_;
  static constexpr int R = R_, WIDTH = WIDTH_, BLOCKS = BLOCKS_;
  static constexpr int DEPTH_ROWS = DEPTH_ROWS_, DEPTH_COLUMNS = DEPTH_COLUMNS_;
  static constexpr int WARPS = WARPS_, THREADS = WARPS * 32;
  static constexpr int V = 16 / sizeof(T), E = sizeof(T), KC = 8192 / E;
  static constexpr int SHARED = 2 * KC * E;
};

/* The geometry of one direction of A. */
template <class S, bool ROWS> struct xg_gemv_tile {
  static constexpr int KLANES = ROWS ? 8 : 32 / S::WIDTH;
  static constexpr int STEP = ROWS ? KLANES * S::V : KLANES;   /* a warp's steps of k at a time */
  static constexpr int WM = ROWS ? 4 * S::R : S::WIDTH * S::V; /* a warp's rows */
  static constexpr int DEPTH = ROWS ? S::DEPTH_ROWS : S::DEPTH_COLUMNS;
  static constexpr int ROUND = S::WARPS * STEP * DEPTH;
  static_assert(S::KC % ROUND == 0, "");
  static_assert(S::WARPS * WM * S::E <= S::SHARED, "");
};

template <class T> struct xg_gemv_args {
  xg_product<T> p; /* A is the matrix */
  xg_parts<T> parts;
  int warps_k; /* warps of a block along k */
  int wide_b;  /* b is copied 16 bytes at a time */
};

/* ---------------------------------------------------------------- what both kernels do */

/* Starts the copies of KC steps of b, of which `len` exist; the others become 0. A lane of
 * xg_gemv_rows uses V steps at a time, side by side in shared memory: they are neighbours in memory
 * too (NEAR), or KLANES apart. */
template <class S, int KLANES, bool NEAR>
__device__ inline void xg_gemv_stage(const xg_gemv_args<typename S::T> &x, typename S::T *stage,
                                     int64_t first, int len)
{
  using T = typename S::T;
  constexpr int V = S::V, E = S::E, SPAN = KLANES * V;
  unsigned to = (unsigned)__cvta_generic_to_shared(stage);
  const T *from = x.p.b + first * x.p.rs_b;
  for (int k = (int)threadIdx.x * V; k < S::KC; k += S::THREADS * V) {
    int have = len - k < 0 ? 0 : len - k < V ? len - k : V;
    if (NEAR && x.wide_b) {
      xg_copy_some(to + k * E, from + k, have);
    } else {
#pragma unroll
      for (int v = 0; v < V; v++) {
        int at = k + v, in = at % SPAN;
        int place = NEAR ? at : at - in + in % KLANES * V + in / KLANES;
        xg_copy<E>(to + place * E, from + at * x.p.rs_b, v < have ? E : 0);
      }
    }
  }
  xg_copies_end();
}

/* A row of a tile; past the end of A it is the last one, so that loads need no other test. */
__device__ inline int xg_gemv_row(int64_t tile, int row, int64_t m)
{
  return tile + row < m ? row : (int)(m - 1 - tile);
}

/* The block's sums, warps_k copies of its rows, added in order and sent to C or the workspace.
 * `rest` last steps of k have not been in them. */
template <class S>
__device__ inline void xg_gemv_out(const xg_gemv_args<typename S::T> &x,
                                   const typename S::T *copies, int rows, int64_t row, int part,
                                   int rest)
{
  using T = typename S::T;
  const xg_product<T> &p = x.p;
  for (int i = (int)threadIdx.x; i < rows; i += S::THREADS) {
    if (row + i >= p.m) continue;
    T sum = 0;
    for (int w = 0; w < x.warps_k; w++) sum += copies[w * rows + i];
    for (int64_t k = p.k - rest; k < p.k; k++)
      sum = fma(p.a[(row + i) * p.rs_a + k * p.cs_a], p.b[k * p.rs_b], sum);
    xg_parts_out(p, x.parts, part, row + i, 0, sum);
  }
}

/* What a block works on, and a warp of it. Blocks with neighbouring numbers have the same steps. */
template <class S, bool ROWS> struct xg_gemv_place {
  int part, len; /* len: steps of k, from `first` on */
  int rows;      /* of the block */
  int64_t row, first;
  int lane, warp_k, warp_row;

  __device__ xg_gemv_place(const xg_gemv_args<typename S::T> &x)
  {
    constexpr int WM = xg_gemv_tile<S, ROWS>::WM;
    rows = WM * S::WARPS / x.warps_k;
    int64_t tiles = xg_tiles(x.p.m, rows);
    part = (int)(blockIdx.x / tiles);
    row = (blockIdx.x - part * tiles) * rows, first = part * x.parts.steps;
    len = (int)(x.p.k - first < x.parts.steps ? x.p.k - first : x.parts.steps);
    int warp = (int)threadIdx.x / 32;
    lane = (int)threadIdx.x % 32, warp_k = warp % x.warps_k, warp_row = warp / x.warps_k * WM;
  }
};

/* ---------------------------------------------------------------- A contiguous along k */

template <class S, bool WIDE>
__global__ void __launch_bounds__(S::THREADS, S::BLOCKS)
    xg_gemv_rows(const __grid_constant__ xg_gemv_args<typename S::T> x)
{
  using T = typename S::T;
  using G = xg_gemv_tile<S, true>;
  constexpr int V = S::V, R = S::R, DEPTH = G::DEPTH, KLANES = G::KLANES;
  __shared__ __align__(16) T shared[2 * S::KC];
  const xg_product<T> &p = x.p;
  xg_parts_begin();
  xg_gemv_place<S, true> at(x);
  const int len = WIDE ? at.len / V * V : at.len; /* what is left is for the end */
  int lane_k = at.lane % 8, my_row = at.warp_row + at.lane / 8, stride = x.warps_k * G::STEP;

  const T *from = p.a + at.row * p.rs_a + at.first;
  int row[R];
#pragma unroll
  for (int r = 0; r < R; r++) row[r] = xg_gemv_row(at.row, my_row + r * 4, p.m);
  T a[DEPTH][R][V], sum[R] = {};
  int next = at.warp_k * G::STEP + lane_k * (WIDE ? V : 1); /* the step to be loaded */
  auto load = [&](T(&to)[R][V]) {
#pragma unroll
    for (int r = 0; r < R; r++) {
      const T *y = from + (row[r] * p.rs_a + next);
      if (WIDE) {
        xg_stream(to[r], y, next < len);
      } else {
#pragma unroll
        for (int v = 0; v < V; v++) {
          to[r][v] = 0;
          xg_load_if(to[r][v], y + v * KLANES, next + v * KLANES < len);
        }
      }
    }
    next += stride;
  };

  xg_gemv_stage<S, KLANES, WIDE>(x, shared, at.first, len);
#pragma unroll
  for (int d = 0; d < DEPTH; d++) load(a[d]);
  for (int c = 0, turn = 0; c < len; c += S::KC, turn ^= S::KC) {
    xg_copies_wait<0>();
    __syncthreads();
    if (c + S::KC < len)
      xg_gemv_stage<S, KLANES, WIDE>(x, shared + (turn ^ S::KC), at.first + c + S::KC,
                                     len - c - S::KC);
    int most = len - c < S::KC ? len - c : S::KC;
    for (int k = at.warp_k * G::STEP; k < most;) {
#pragma unroll
      for (int d = 0; d < DEPTH; d++, k += stride) {
        xg_vec<T> b = *(const xg_vec<T> *)(shared + turn + k + lane_k * V);
#pragma unroll
        for (int v = 0; v < V; v++)
#pragma unroll
          for (int r = 0; r < R; r++) sum[r] = fma(a[d][r][v], b.v[v], sum[r]);
        load(a[d]);
      }
    }
  }

  __syncthreads();
#pragma unroll
  for (int r = 0; r < R; r++) {
#pragma unroll
    for (int bit = 1; bit < KLANES; bit *= 2) sum[r] += __shfl_xor_sync(~0u, sum[r], bit);
    if (lane_k == 0) shared[at.warp_k * at.rows + my_row + r * 4] = sum[r];
  }
  __syncthreads();
  xg_gemv_out<S>(x, shared, at.rows, at.row, at.part, at.len - len);
}

/* ---------------------------------------------------------------- A contiguous along m */

/* WIDE: by 16 bytes, and the block's rows all exist. */
template <class S, bool WIDE>
__device__ inline void xg_gemv_down(const xg_gemv_args<typename S::T> &x,
                                    const xg_gemv_place<S, false> &at, typename S::T *shared)
{
  using T = typename S::T;
  using G = xg_gemv_tile<S, false>;
  constexpr int V = S::V, DEPTH = G::DEPTH, WIDTH = S::WIDTH;
  const xg_product<T> &p = x.p;
  const int len = at.len;
  int lane_k = at.lane / WIDTH, stride = x.warps_k * G::STEP;
  int my_row = at.warp_row + at.lane % WIDTH * (WIDE ? V : 1);

  const T *from = p.a + at.row + at.first * p.cs_a;
  int row[V];
#pragma unroll
  for (int v = 0; v < V; v++) row[v] = xg_gemv_row(at.row, my_row + v * WIDTH, p.m);
  T a[DEPTH][V], sum[V] = {};
  int next = at.warp_k * G::STEP + lane_k; /* the step to be loaded */
  auto load = [&](T(&to)[V]) {
    const T *y = from + next * p.cs_a;
    if (WIDE) {
      xg_stream(to, y + my_row, next < len);
    } else {
#pragma unroll
      for (int v = 0; v < V; v++) to[v] = 0, xg_load_if(to[v], y + row[v], next < len);
    }
    next += stride;
  };

  xg_gemv_stage<S, 1, true>(x, shared, at.first, len);
#pragma unroll
  for (int d = 0; d < DEPTH; d++) load(a[d]);
  for (int c = 0, turn = 0; c < len; c += S::KC, turn ^= S::KC) {
    xg_copies_wait<0>();
    __syncthreads();
    if (c + S::KC < len)
      xg_gemv_stage<S, 1, true>(x, shared + (turn ^ S::KC), at.first + c + S::KC, len - c - S::KC);
    int most = len - c < S::KC ? len - c : S::KC;
    for (int k = at.warp_k * G::STEP; k < most;) {
#pragma unroll
      for (int d = 0; d < DEPTH; d++, k += stride) {
        T b = shared[turn + k + lane_k];
#pragma unroll
        for (int v = 0; v < V; v++) sum[v] = fma(a[d][v], b, sum[v]);
        load(a[d]);
      }
    }
  }

  __syncthreads();
#pragma unroll
  for (int v = 0; v < V; v++) {
#pragma unroll
    for (int bit = 16; bit >= WIDTH; bit /= 2) sum[v] += __shfl_xor_sync(~0u, sum[v], bit);
    if (lane_k == 0) shared[at.warp_k * at.rows + my_row + v * (WIDE ? 1 : WIDTH)] = sum[v];
  }
}

template <class S, bool WIDE>
__global__ void __launch_bounds__(S::THREADS, S::BLOCKS)
    xg_gemv_columns(const __grid_constant__ xg_gemv_args<typename S::T> x)
{
  __shared__ __align__(16) typename S::T shared[2 * S::KC];
  xg_parts_begin();
  xg_gemv_place<S, false> at(x);
  if (WIDE && at.row + at.rows <= x.p.m)
    xg_gemv_down<S, true>(x, at, shared);
  else
    xg_gemv_down<S, false>(x, at, shared);
  __syncthreads();
  xg_gemv_out<S>(x, shared, at.rows, at.row, at.part, 0);
}

/* ---------------------------------------------------------------- host */

/* How a product is cut. */
struct xg_gemv_cut {
  int warps_k, parts;
  int64_t steps;
};

/* The model, in microseconds: a multiprocessor streams 30 KB in one, 21 with fewer loads in flight
 * than it can hold; blocks cost half of one to start and end; a second kernel 2 and its traffic. */
template <class S, bool ROWS>
double xg_gemv_time(int64_t m, int64_t k, int sms, const xg_gemv_cut &cut)
{
  double e = S::E, rows = xg_gemv_tile<S, ROWS>::WM * S::WARPS / cut.warps_k;
  int64_t blocks = xg_tiles(m, (int)rows) * cut.parts, each = xg_tiles(blocks, sms);
  double load = (double)cut.steps * (rows + 0.5) * e / (each < S::BLOCKS ? 21e3 : 30e3);
  double time = each * load + 0.5 * xg_tiles(each, S::BLOCKS), whole = (double)m * k * e / 4e6;
  if (time < whole) time = whole;
  return cut.parts == 1 ? time : time + 2 + 2.0 * m * e * cut.parts / 3e6;
}

template <class S, bool ROWS> xg_gemv_cut xg_gemv_plan(int64_t m, int64_t k, int sms)
{
  const int quantum = 8 * S::V, tries = 10;
  const int64_t longest = 1 << 30; /* steps are counted in int */
  xg_gemv_cut best = {};
  double least = 0;
  for (int warps_k = 1; warps_k <= S::WARPS; warps_k *= 2) {
    int64_t tiles = xg_tiles(m, xg_gemv_tile<S, ROWS>::WM * S::WARPS / warps_k);
    for (int t = 1; t <= tries; t++) {
      int64_t parts = t <= 6 ? t : (int64_t)sms * (t - 6) / tiles; /* t - 6 blocks for each */
      if (t > 6 && parts <= 6) continue;
      if (parts < xg_tiles(k, longest)) parts = xg_tiles(k, longest);
      int64_t steps = xg_tiles(xg_tiles(k, (int)parts), quantum) * quantum;
      if (parts > 1 && steps < 4 * quantum) continue;
      xg_gemv_cut cut = {warps_k, (int)xg_tiles(k, (int)steps), steps};
      double time = xg_gemv_time<S, ROWS>(m, k, sms, cut);
      if (least == 0 || time < least) least = time, best = cut;
    }
  }
  return best;
}

/* What a product comes to: the function, and how it is launched. */
template <class T> struct xg_gemv_run {
  xg_gemv_args<T> args;
  const void *function;
  int64_t blocks;
};

template <class S> xg_gemv_run<typename S::T> xg_gemv_run_of(const xg_gkr_args *x)
{
  using T = typename S::T;
  xg_product<T> p = xg_long_first<T>(x);
  bool rows = p.cs_a == 1 && (p.k > 1 || p.rs_a != 1);
  bool wide = rows ? xg_wide(p.a, p.cs_a, p.rs_a, p.m) : xg_wide(p.a, p.rs_a, p.cs_a, p.k);
  xg_gemv_cut cut =
      rows ? xg_gemv_plan<S, true>(p.m, p.k, x->sms) : xg_gemv_plan<S, false>(p.m, p.k, x->sms);
  int height = (rows ? xg_gemv_tile<S, true>::WM : xg_gemv_tile<S, false>::WM) * S::WARPS;
  return {{p, xg_parts_of(p, cut.parts, cut.steps, x->workspace), cut.warps_k,
           p.rs_b == 1 && (size_t)p.b % 16 == 0},
          rows   ? wide ? (const void *)xg_gemv_rows<S, true> : (const void *)xg_gemv_rows<S, false>
            : wide ? (const void *)xg_gemv_columns<S, true>
                 : (const void *)xg_gemv_columns<S, false>,
          xg_tiles(p.m, height / cut.warps_k) * cut.parts};
}

template <class S> const char *xg_gemv_ok(const xg_gkr_args *x)
{
  auto p = xg_long_first<typename S::T>(x);
  if (p.n > 1) return "neither m nor n is 1";
  if (p.rs_a != 1 && p.cs_a != 1) return "the matrix has no unit stride";
  return xg_grid_ok(x, 16, 16);
}

template <class S> int xg_gemv_split(const xg_gkr_args *x)
{
  return xg_gemv_run_of<S>(x).args.parts.count;
}

template <class S> const void *xg_gemv_function(const xg_gkr_args *x)
{
  return xg_gemv_run_of<S>(x).function;
}

template <class S> size_t xg_gemv_workspace(const xg_gkr_args *x)
{
  auto run = xg_gemv_run_of<S>(x);
  return xg_parts_bytes(run.args.p, run.args.parts.count);
}

template <class S> int xg_gemv_launch(const xg_gkr_args *x, void *stream)
{
  auto run = xg_gemv_run_of<S>(x);
  return xg_parts_launch(run.function, &run.args, run.args.p, run.args.parts, run.blocks,
                         S::THREADS, 0, stream);
}

#endif
