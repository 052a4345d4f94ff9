/* Register-blocked product on the FMA units, the frame of the sm80 kernels.
 *
 * Three levels of tiles. Each level cuts the reads from the level above it:
 *
 *      block tile BM x BN        read from device memory, kept in shared memory BK steps at a time
 *      warp tile  WM x WN        a warp's share of it, 4 x 8 lanes
 *      thread tile TM x TN       sums in registers
 *
 *                    BN                          a warp: lane (r,c), groups of V elements (16
 * bytes)
 *            +-------------------+
 *         BK |         B         |                      c=0 c=1 .. c=7 | c=0 c=1 .. c=7
 *            +-------------------+                 r=0  [V]  [V]   [V] | [V]  [V]   [V]
 *       BK         WN                               :    :
 *     +-----++---------+---------+                 r=3  [V]  [V]   [V] | [V]  [V]   [V]
 *     |     ||         |         |                 -----------------------------------
 *     |  A  ||  warp 0 |  warp 1 | WM              r=0  [V]  ...
 *     |     ||         |         |
 *     |     |+---------+---------+                 so the 8 lanes of a row read or write 128
 *     |     ||  warp 2 |  warp 3 |                 contiguous bytes, and lanes are numbered so that
 *     +-----++---------+---------+                 lanes i and i^1 share a column and i and i^2 a
 * row: then a 16-byte shared load takes 2 passes, not 4
 *
 * Reads, in elements, for a product m n k (in front of each level's cache):
 *     device memory  mnk (1/BM + 1/BN)      intensity 2 BM BN / (e (BM + BN)) flop/byte
 *     shared memory  mnk (1/TM + 1/TN)      a step of TM TN FMAs costs (TM + TN)/V loads
 *
 * Pipeline: STAGES pieces of BK steps in shared memory, filled by cp.async while older ones are
 * used; one barrier a piece. Fragments are double-buffered in registers, also across the barrier.
 *
 * Layouts: an operand is seen as (outer, k), outer being m for A and n for B, and is stored in
 * shared memory k by k whatever its strides are. If its outer stride is 1 and all is on 16 bytes,
 * 16 bytes are copied at a time; otherwise one element at a time, lanes running along whichever
 * direction has the smaller stride. What lies outside the operand is filled with zeros and not
 * read. */
#ifndef XG_SIMT_CUH
#define XG_SIMT_CUH

#include "launch.cuh"
#include "ptx/copy_groups.cuh"

enum { XG_LANE_ROWS = 4, XG_LANE_COLS = 8 };

template <class T_, int BM_, int BN_, int BK_, int TM_, int TN_, int STAGES_, int BLOCKS_>
struct xg_simt {
  using T = T_;
  static constexpr int BM = BM_, BN = BN_, BK = BK_, TM = TM_, TN = TN_;
  static constexpr int STAGES = STAGES_, BLOCKS = BLOCKS_; /* BLOCKS: at least so many on an SM */
  static constexpr int V = 16 / sizeof(T);                 /* elements in 16 bytes */
  static constexpr int WM = TM * XG_LANE_ROWS, WN = TN * XG_LANE_COLS;
  static constexpr int THREADS = (BM / WM) * (BN / WN) * 32;
  static constexpr int LDA = BM + V,
                       LDB = BN + V;             /* a row of padding: other banks for the next k */
  static constexpr int STAGE = BK * (LDA + LDB); /* elements */
  static constexpr int SHARED = STAGES * STAGE * (int)sizeof(T);
  static_assert(BM % WM == 0 && BN % WN == 0 && TM % V == 0 && TN % V == 0 && BK % 2 == 0, "");
  static_assert(SHARED <= 48 * 1024, "static shared memory ends at 48 KiB");
};

template <class T> struct alignas(16) xg_vec {
  T v[16 / sizeof(T)];
};

/* ---------------------------------------------------------------- copies, global to shared */

/* `bytes` of SIZE are read, the rest of SIZE is set to 0; with 0 bytes nothing is read. */
template <int SIZE> __device__ inline void xg_copy(unsigned to, const void *from, int bytes)
{
  if (SIZE == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(SIZE),
                 "r"(bytes));
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(SIZE),
                 "r"(bytes));
}

/* How an operand is walked: the same for all threads, so the host works it out and it stays in
 * constant memory instead of registers. */
template <class T> struct xg_walk {
  const T *x;
  int64_t outer, so, sk; /* extent and stride of the outer dimension, stride of k */
  int64_t step, piece;   /* elements between a thread's copies, and to the next piece */
  int by_k;              /* neighbouring threads copy neighbouring k, else neighbouring outer */
  int o_step, k_step, to_step; /* what a step is in outer, in k, and in shared memory */
};

/* One thread's part in copying a BX x BK piece of an operand; its COUNT copies are a fixed step
 * apart, in memory and in shared memory. */
template <class T, int BX, int BK, int THREADS, bool WIDE> struct xg_loader {
  static constexpr int V = WIDE ? 16 / sizeof(T) : 1, ROW = BX / V, LD = BX + 16 / sizeof(T);
  static constexpr int COUNT = ROW * BK / THREADS;
  static_assert(THREADS % ROW == 0 && THREADS % BK == 0 && COUNT * THREADS == ROW * BK, "");

  const xg_walk<T> &walk;
  const T *from;
  int to;   /* in shared memory, elements */
  int k;    /* which k of the piece my first copy is for */
  int left; /* WIDE: elements of my vector in the operand, all or none; else a bit for each copy */

  static xg_walk<T> plan(const T *x, int64_t outer, int64_t so, int64_t sk)
  {
    int64_t down = so < 0 ? -so : so, along = sk < 0 ? -sk : sk;
    bool by_k = !WIDE && along < down;
    int o_step = by_k ? THREADS / BK : 0, k_step = by_k ? 0 : THREADS / ROW;
    return {x,       outer, so,     sk,     o_step * so + k_step * sk,
            BK * sk, by_k,  o_step, k_step, k_step * LD + o_step};
  }

  __device__ xg_loader(const xg_walk<T> &w, int64_t origin) : walk(w)
  {
    int t = (int)threadIdx.x, o = !WIDE && w.by_k ? t / BK : t % ROW * V;
    k = !WIDE && w.by_k ? t % BK : t / ROW;
    from = w.x + (origin + o) * w.so + k * w.sk;
    to = k * LD + o;
    int64_t rest = w.outer - origin - o;
    left = 0;
    if (WIDE)
      left = (int)(rest < 0 ? 0 : rest < V ? rest : V);
    else
      for (int i = 0; i < COUNT; i++) left |= (int)(i * w.o_step < rest) << i;
  }

  /* Starts my copies of the next piece, of which `ks` steps exist. */
  __device__ void copy(T *stage, int64_t ks)
  {
    unsigned address = (unsigned)__cvta_generic_to_shared(stage + to);
    if (ks >= BK) {
#pragma unroll
      for (int i = 0; i < COUNT; i++) copy_one(address, i, true);
    } else {
#pragma unroll
      for (int i = 0; i < COUNT; i++) copy_one(address, i, k + i * walk.k_step < ks);
    }
    from += walk.piece;
  }

  /* Addresses are multiples of the step on purpose: adding the step up was up to 12 % slower. */
  __device__ void copy_one(unsigned address, int i, bool inside)
  {
    int count = WIDE ? left : left >> i & 1;
    int to_step = WIDE ? THREADS / ROW * LD : walk.to_step;
    xg_copy<V * sizeof(T)>(address + i * to_step * (int)sizeof(T), from + i * walk.step,
                           inside ? count * (int)sizeof(T) : 0);
  }
};

/* ---------------------------------------------------------------- the kernel */

/* TX elements of this lane's tile at step k: groups of V, LANES groups apart. */
template <int TX, int LANES, class T>
__device__ inline void xg_fragment(T (&fragment)[TX], const T *row)
{
  constexpr int V = 16 / sizeof(T);
#pragma unroll
  for (int g = 0; g < TX / V; g++) {
    xg_vec<T> x = *(const xg_vec<T> *)(row + g * LANES * V);
#pragma unroll
    for (int v = 0; v < V; v++) fragment[g * V + v] = x.v[v];
  }
}

template <class S> struct xg_sums {
  typename S::T at[S::TM][S::TN];
};

/* The thread's sums into C; (row,col) is its first element. */
template <class S>
__device__ inline void xg_store(const xg_product<typename S::T> &p, const xg_sums<S> &sum,
                                int64_t row, int64_t col)
{
  using T = typename S::T;
  constexpr int V = S::V;
  bool wide = p.cs_c == 1 && p.rs_c % V == 0 && (size_t)p.c % 16 == 0;
#pragma unroll
  for (int i = 0; i < S::TM; i++) {
    int64_t r = row + i / V * XG_LANE_ROWS * V + i % V;
    if (r >= p.m) continue;
#pragma unroll
    for (int g = 0; g < S::TN / V; g++) {
      int64_t c = col + g * XG_LANE_COLS * V;
      T *to = p.c + r * p.rs_c + c * p.cs_c;
      if (wide && c + V <= p.n) {
        xg_vec<T> x;
        if (p.beta != 0) x = *(const xg_vec<T> *)to;
#pragma unroll
        for (int v = 0; v < V; v++)
          x.v[v] = xg_finish(p.alpha, sum.at[i][g * V + v], p.beta, &x.v[v]);
        *(xg_vec<T> *)to = x;
      } else {
#pragma unroll
        for (int v = 0; v < V; v++)
          if (c + v < p.n)
            to[v * p.cs_c] = xg_finish(p.alpha, sum.at[i][g * V + v], p.beta, to + v * p.cs_c);
      }
    }
  }
}

template <class T> struct xg_simt_args {
  xg_product<T> p;
  xg_walk<T> a, b;
};

template <class S, bool WIDE>
using xg_loader_a = xg_loader<typename S::T, S::BM, S::BK, S::THREADS, WIDE>;
template <class S, bool WIDE>
using xg_loader_b = xg_loader<typename S::T, S::BN, S::BK, S::THREADS, WIDE>;

template <class S, bool WIDE_A, bool WIDE_B>
__global__ void __launch_bounds__(S::THREADS, S::BLOCKS)
    xg_simt_kernel(const __grid_constant__ xg_simt_args<typename S::T> args)
{
  using T = typename S::T;
  constexpr int BK = S::BK, STAGES = S::STAGES;
  __shared__ __align__(16) T shared[STAGES * S::STAGE];

  const xg_product<T> &p = args.p;
  xg_tile tile = xg_tile_of(blockIdx.x, xg_tiles(p.m, S::BM), xg_tiles(p.n, S::BN));
  int64_t row = tile.row * S::BM, col = tile.col * S::BN;
  xg_loader_a<S, WIDE_A> load_a(args.a, row);
  xg_loader_b<S, WIDE_B> load_b(args.b, col);

  int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
  int lane_row = lane / 16 * 2 + lane % 2, lane_col = lane % 16 / 2;
  int my_row = warp / (S::BN / S::WN) * S::WM + lane_row * S::V;
  int my_col = warp % (S::BN / S::WN) * S::WN + lane_col * S::V;

  for (int s = 0; s < STAGES - 1; s++) {
    T *stage = shared + s * S::STAGE;
    int64_t rest = p.k - s * BK;
    if (rest > 0) load_a.copy(stage, rest), load_b.copy(stage + BK * S::LDA, rest);
    xg_copies_end();
  }
  xg_copies_wait<STAGES - 2>();
  __syncthreads();

  xg_sums<S> sum = {};
  T a[2][S::TM], b[2][S::TN];
  int use = 0; /* the stage in use */
  const T *piece_a = shared + my_row, *piece_b = shared + BK * S::LDA + my_col;
  xg_fragment<S::TM, XG_LANE_ROWS>(a[0], piece_a);
  xg_fragment<S::TN, XG_LANE_COLS>(b[0], piece_b);

  for (int64_t rest = p.k - (STAGES - 1) * BK; rest > -(STAGES - 1) * BK; rest -= BK) {
#pragma unroll
    for (int kk = 0; kk < BK; kk++) {
      if (kk == 0) { /* the piece used before this one is free: refill it */
        T *stage = shared + (use ? use - 1 : STAGES - 1) * S::STAGE;
        if (rest > 0) load_a.copy(stage, rest), load_b.copy(stage + BK * S::LDA, rest);
        xg_copies_end();
      }
      if (kk == BK - 1) { /* the next piece has come, and all are done reading this one */
        xg_copies_wait<STAGES - 2>();
        __syncthreads();
        use = use + 1 == STAGES ? 0 : use + 1;
        piece_a = shared + use * S::STAGE + my_row;
        piece_b = shared + use * S::STAGE + BK * S::LDA + my_col;
      }
      int next = (kk + 1) % BK;
      xg_fragment<S::TM, XG_LANE_ROWS>(a[next % 2], piece_a + next * S::LDA);
      xg_fragment<S::TN, XG_LANE_COLS>(b[next % 2], piece_b + next * S::LDB);
#pragma unroll
      for (int i = 0; i < S::TM; i++)
#pragma unroll
        for (int j = 0; j < S::TN; j++)
          sum.at[i][j] = fma(a[kk % 2][i], b[kk % 2][j], sum.at[i][j]);
    }
  }
  xg_store<S>(p, sum, row + my_row, col + my_col);
}

/* 16-byte copies along outer: unit stride there, and every step of k on a 16-byte boundary. */
template <class T> bool xg_wide(const T *x, int64_t so, int64_t sk, int64_t k)
{
  return so == 1 && (size_t)x % 16 == 0 && (k == 1 || sk % (int)(16 / sizeof(T)) == 0);
}

template <class S, bool A, bool B>
int xg_simt_launch_as(const xg_product<typename S::T> &p, void *stream)
{
  xg_simt_args<typename S::T> args = {p, xg_loader_a<S, A>::plan(p.a, p.m, p.rs_a, p.cs_a),
                                      xg_loader_b<S, B>::plan(p.b, p.n, p.cs_b, p.rs_b)};
  return xg_launch(xg_simt_kernel<S, A, B>, args, xg_blocks(p, S::BM, S::BN), S::THREADS, stream);
}

/* Whole vectors only: a partial copy may read all of its 16 bytes. */
template <class T> bool xg_wide_a(const xg_product<T> &p)
{
  return p.m % (int)(16 / sizeof(T)) == 0 && xg_wide(p.a, p.rs_a, p.cs_a, p.k);
}

template <class T> bool xg_wide_b(const xg_product<T> &p)
{
  return p.n % (int)(16 / sizeof(T)) == 0 && xg_wide(p.b, p.cs_b, p.rs_b, p.k);
}

/* The shape for a product; NARROW, of the same block tile, where neither operand can be copied 16
 * bytes at a time: more copies in flight then matter more than fewer barriers. */
template <class S, class NARROW = S> int xg_simt_launch(const xg_gkr_args *args, void *stream)
{
  static_assert(S::BM == NARROW::BM && S::BN == NARROW::BN, "");
  xg_product<typename S::T> p = xg_rows_contiguous<typename S::T>(args);
  bool a = xg_wide_a(p), b = xg_wide_b(p);
  if (a && b) return xg_simt_launch_as<S, true, true>(p, stream);
  if (a) return xg_simt_launch_as<S, true, false>(p, stream);
  if (b) return xg_simt_launch_as<S, false, true>(p, stream);
  return xg_simt_launch_as<NARROW, false, false>(p, stream);
}

/* The function that xg_simt_launch starts for a product. */
template <class S, class NARROW = S> const void *xg_simt_function(const xg_gkr_args *args)
{
  xg_product<typename S::T> p = xg_rows_contiguous<typename S::T>(args);
  bool a = xg_wide_a(p), b = xg_wide_b(p);
  return a && b ? (const void *)xg_simt_kernel<S, true, true>
         : a    ? (const void *)xg_simt_kernel<S, true, false>
         : b    ? (const void *)xg_simt_kernel<S, false, true>
                : (const void *)xg_simt_kernel<NARROW, false, false>;
}

#endif
