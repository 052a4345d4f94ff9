/* Products in which one of m and n is small: the long operand passes through once, at the speed of
 * memory. The frame of thin8 to thin32.
 *
 *   C (m x n) = A (m x k) B (k x n),   A long, n about BN          (n > m: C^T = B^T A^T)
 *
 * Every warp makes a whole BM x BN tile of C over its own slabs of k, BK steps each:
 *
 *                 k:   slab 0   1   2   3   4   5  ...
 *                     +------+---+---+---+---+---+
 *           A tile BM |  w0  |w1 |w2 |w3 |w0 |w1 |          warp w: slabs w, w + WARPS, ...
 *                     +------+---+---+---+---+---+
 *
 * Warps share nothing before the end, so there is no barrier: a warp has its own ring of STAGES
 * slabs in shared memory, filled by cp.async, and waits for its own copies only. At the end the
 * warps' sums are added in order through shared memory. k is cut further, into parts that are
 * blocks of their own (parts.cuh), so that all multiprocessors have work.
 *
 *   32 lanes, TM x TN sums each; a step of k: (TM + TN) / V 16-byte shared loads for TM TN FMAs
 *
 * An operand lies in shared memory as it is read from there, k by k: [k][BX + V]. A that is
 * contiguous along k is kept as it comes, [BM][BK + V], so that copies are 16 bytes here too; a
 * lane then reads V steps of a row at once. Where 16 bytes can't be copied, elements are. What lies
 * outside an operand is filled with zeros and not read.
 *
 * In flight on a multiprocessor: BLOCKS WARPS (STAGES - 1) slabs; 40 KB make the bandwidth. */
#ifndef XG_SLAB_CUH
#define XG_SLAB_CUH

#include "loads.cuh"
#include "parts.cuh"
#include "simt.cuh"

template <class T_, int BM_, int BN_, int BK_, int LANE_ROWS_, int STAGES_, int WARPS_, int BLOCKS_,
          bool ANY_ = true>
struct xg_slab {
  using T = T_;
  static constexpr bool ANY = ANY_; /* else A must be copied 16 bytes at a time along m */
  static constexpr int V = 16 / sizeof(T), E = sizeof(T);
  static constexpr int BM = BM_, BN = BN_, BK = BK_, STAGES = STAGES_, WARPS = WARPS_;
  static constexpr int BLOCKS = BLOCKS_, THREADS = 32 * WARPS;
  static constexpr int LANE_ROWS = LANE_ROWS_, LANE_COLS = 32 / LANE_ROWS;
  static constexpr int TM = BM / LANE_ROWS, TN = BN / LANE_COLS;
  static constexpr int LDA = BM + V, LDB = BN + V, LDK = BK + V;
  static constexpr int SLAB_A = ANY && BM * LDK > BK *LDA ? BM *LDK : BK *LDA;
  static constexpr int STAGE = SLAB_A + BK * LDB, RING = STAGES * STAGE, SUMS = BM * BN;
  static constexpr int SHARED = WARPS * (RING > SUMS ? RING : SUMS) * E;
  static_assert(TM % V == 0 && TN % V == 0 && BK % V == 0 && 32 % BK == 0, "");
};

/* ---------------------------------------------------------------- copies, global to shared */

/* How an operand is copied. */
enum xg_slab_way {
  XG_SLAB_WIDE,   /* 16 bytes along m or n */
  XG_SLAB_ALONG,  /* 16 bytes along k */
  XG_SLAB_ACROSS, /* elements, lanes along m or n */
  XG_SLAB_K       /* elements, lanes along k */
};

template <class T> struct xg_slab_operand {
  const T *x;
  int64_t outer, so, sk; /* extent and stride of m or n, stride of k */
  xg_slab_way way;
};

/* A lane's part in copying a warp's slabs of A. */
template <class S, xg_slab_way WAY> struct xg_slab_a {
  using T = typename S::T;
  static constexpr int V = S::V, E = S::E, BK = S::BK, BM = S::BM;
  static constexpr int UNITS = (WAY == XG_SLAB_WIDE ? BM : BK) / V, LINES = 32 / UNITS;

  const xg_slab_operand<T> &x;
  const T *from;
  int rows;  /* of A, from my first one on */
  int k, to; /* my first step of a slab, and its place */

  __device__ xg_slab_a(const xg_slab_operand<T> &y, int64_t origin, int64_t first, int lane) : x(y)
  {
    bool by_k = x.way == XG_SLAB_K;
    int o = WAY == XG_SLAB_WIDE    ? lane % UNITS * V
            : WAY == XG_SLAB_ALONG ? lane / UNITS
            : by_k                 ? lane / BK
                                   : lane;
    k = WAY == XG_SLAB_WIDE    ? lane / UNITS
        : WAY == XG_SLAB_ALONG ? lane % UNITS * V
        : by_k                 ? lane % BK
                               : 0;
    to = WAY == XG_SLAB_ALONG ? o * S::LDK + k : k * S::LDA + o;
    from = x.x + (origin + o) * x.so + (first + k) * x.sk;
    int64_t left = x.outer - origin - o;
    rows = (int)(left < BM ? left : BM);
  }

  /* Starts the copies of the warp's next slab, of which `left` steps exist. */
  __device__ void copy(T *stage, int left)
  {
    unsigned address = (unsigned)__cvta_generic_to_shared(stage + to);
    if (WAY == XG_SLAB_WIDE) {
      int have = rows < 0 ? 0 : rows < V ? rows : V;
      if (have == 0 || have == V) {
#pragma unroll
        for (int i = 0; i < BK; i += LINES)
          xg_copy<16>(address + i * S::LDA * E, from + i * x.sk, i + k < left ? have * E : 0);
      } else {
#pragma unroll 1
        for (int i = 0; i < BK; i += LINES)
          xg_copy_some(address + i * S::LDA * E, from + i * x.sk, i + k < left ? have : 0);
      }
    } else if (WAY == XG_SLAB_ALONG) {
      int have = left - k >= V ? V : left > k ? left - k : 0;
      if (have == 0 || have == V) {
#pragma unroll
        for (int i = 0; i < BM; i += LINES)
          xg_copy<16>(address + i * S::LDK * E, from + i * x.so, i < rows ? have * E : 0);
      } else {
#pragma unroll 1
        for (int i = 0; i < BM; i += LINES)
          xg_copy_some(address + i * S::LDK * E, from + i * x.so, i < rows ? have : 0);
      }
    } else if (x.way == XG_SLAB_K) {
      constexpr int STEP = 32 / BK;
#pragma unroll
      for (int i = 0; i < BM / STEP; i++)
        xg_copy<E>(address + i * STEP * E, from + i * STEP * x.so,
                   k < left && i * STEP < rows ? E : 0);
    } else {
#pragma unroll
      for (int i = 0; i < BK; i++)
#pragma unroll
        for (int o = 0; o < BM; o += 32)
          xg_copy<E>(address + (i * S::LDA + o) * E, from + (i * x.sk + o * x.so),
                     i < left && o < rows ? E : 0);
    }
    from += S::WARPS * BK * x.sk;
  }
};

/* The same of B. */
template <class S> struct xg_slab_b {
  using T = typename S::T;
  static constexpr int V = S::V, E = S::E, BK = S::BK, BN = S::BN;
  /* Lanes along n, a power of 2, for units of 16 bytes and for elements. */
  static constexpr int WIDE = BN / V <= 1    ? 1
                              : BN / V <= 2  ? 2
                              : BN / V <= 4  ? 4
                              : BN / V <= 8  ? 8
                              : BN / V <= 16 ? 16
                                             : 32;
  static constexpr int ONE = BN <= 4 ? 4 : BN <= 8 ? 8 : BN <= 16 ? 16 : 32;

  const xg_slab_operand<T> &x;
  const T *from;
  int n, k;    /* of my first copy */
  int columns; /* of B, from my first one on */

  __device__ xg_slab_b(const xg_slab_operand<T> &y, int64_t origin, int64_t first, int lane) : x(y)
  {
    n = x.way == XG_SLAB_WIDE ? lane % WIDE * V : x.way == XG_SLAB_K ? lane / BK : lane % ONE;
    k = x.way == XG_SLAB_WIDE ? lane / WIDE : x.way == XG_SLAB_K ? lane % BK : lane / ONE;
    from = x.x + (origin + n) * x.so + (first + k) * x.sk;
    int64_t left = x.outer - origin - n;
    columns = (int)(left < BN ? left : BN);
  }

  __device__ void copy(T *stage, int left)
  {
    unsigned address = (unsigned)__cvta_generic_to_shared(stage + k * S::LDB + n);
    if (x.way == XG_SLAB_WIDE) {
      constexpr int STEP = 32 / WIDE;
      int have = columns < 0 ? 0 : columns < V ? columns : V;
#pragma unroll
      for (int i = 0; i < BK; i += STEP)
        if (n < BN && (BK % STEP == 0 || i + k < BK))
          xg_copy_some(address + i * S::LDB * E, from + i * x.sk, i + k < left ? have : 0);
    } else if (x.way == XG_SLAB_K) {
      constexpr int STEP = 32 / BK;
#pragma unroll
      for (int i = 0; i < BN; i += STEP)
        if (BN % STEP == 0 || i + n < BN)
          xg_copy<E>(address + i * E, from + i * x.so, k < left && i < columns ? E : 0);
    } else {
      constexpr int STEP = 32 / ONE;
#pragma unroll
      for (int i = 0; i < BK; i += STEP)
#pragma unroll
        for (int o = 0; o < BN; o += ONE)
          if ((BK % STEP == 0 || i + k < BK) && (BN % ONE == 0 || o + n < BN))
            xg_copy<E>(address + (i * S::LDB + o) * E, from + (i * x.sk + o * x.so),
                       i + k < left && o < columns ? E : 0);
    }
    from += S::WARPS * BK * x.sk;
  }
};

/* ---------------------------------------------------------------- the kernel */

/* Row (or column) i of a lane's, in the tile. */
template <int LANES, int V, bool ALONG> __device__ constexpr int xg_slab_index(int lane, int i)
{
  return ALONG ? i * LANES + lane : i / V * LANES * V + lane * V + i % V;
}

template <class T> struct xg_slab_args {
  xg_product<T> p;
  xg_parts<T> parts;
  xg_slab_operand<T> a, b;
};

/* One step of k. */
template <class S, class T>
__device__ inline void xg_slab_step(T (&sum)[S::TM][S::TN], const T (&a)[S::TM],
                                    const T (&b)[S::TN])
{
#pragma unroll
  for (int i = 0; i < S::TM; i++)
#pragma unroll
    for (int j = 0; j < S::TN; j++) sum[i][j] = fma(a[i], b[j], sum[i][j]);
}

template <class S, bool ALONG, class T>
__device__ inline void xg_slab_use(T (&sum)[S::TM][S::TN], const T *slab, int lane_row,
                                   int lane_col)
{
  const T *my_b = slab + S::SLAB_A + lane_col * S::V;
  if constexpr (ALONG) {
#pragma unroll
    for (int k = 0; k < S::BK; k += S::V) {
      T a[S::V][S::TM];
#pragma unroll
      for (int i = 0; i < S::TM; i++) {
        xg_vec<T> x = *(const xg_vec<T> *)(slab + (i * S::LANE_ROWS + lane_row) * S::LDK + k);
#pragma unroll
        for (int v = 0; v < S::V; v++) a[v][i] = x.v[v];
      }
#pragma unroll
      for (int v = 0; v < S::V; v++) {
        T b[S::TN];
        xg_fragment<S::TN, S::LANE_COLS>(b, my_b + (k + v) * S::LDB);
        xg_slab_step<S>(sum, a[v], b);
      }
    }
  } else {
#pragma unroll
    for (int k = 0; k < S::BK; k++) {
      T a[S::TM], b[S::TN];
      xg_fragment<S::TM, S::LANE_ROWS>(a, slab + lane_row * S::V + k * S::LDA);
      xg_fragment<S::TN, S::LANE_COLS>(b, my_b + k * S::LDB);
      xg_slab_step<S>(sum, a, b);
    }
  }
}

/* Where the sum of (row, col) lies in a warp's copy of the tile. Columns are turned against each
 * other so that the 32 lanes, which write the same sum[i][j] one element each, meet 32 banks. (To
 * write 16 bytes at a time would tie neighbours of sum to neighbouring registers, hence to the
 * register banks of the fragments that they are made from: half the speed of the main loop.) */
template <class S, bool ALONG> __device__ inline int xg_slab_place(int row, int col)
{
  int turn = col / S::V % S::LANE_COLS * (ALONG ? S::LANE_ROWS : 1);
  return col * S::BM + (row + turn) % S::BM;
}

/* The warps' sums, added in order and sent to C or the workspace. */
template <class S, bool ALONG>
__device__ inline void xg_slab_out(const xg_slab_args<typename S::T> &x,
                                   const typename S::T *copies, int64_t row, int64_t col, int part)
{
  using T = typename S::T;
  int n = (int)(x.p.n - col < S::BN ? x.p.n - col : S::BN);
  for (int e = (int)threadIdx.x; e < S::BM * n; e += S::THREADS) {
    int i = e % S::BM, j = e / S::BM, place = xg_slab_place<S, ALONG>(i, j);
    T sum = copies[place];
#pragma unroll
    for (int w = 1; w < S::WARPS; w++) sum += copies[w * S::SUMS + place];
    if (row + i < x.p.m) xg_parts_out(x.p, x.parts, part, row + i, col + j, sum);
  }
}

template <class S, xg_slab_way WAY>
__global__ void __launch_bounds__(S::THREADS, S::BLOCKS)
    xg_slab_kernel(const __grid_constant__ xg_slab_args<typename S::T> x)
{
  using T = typename S::T;
  constexpr int BK = S::BK, STAGES = S::STAGES, SPAN = S::WARPS * BK;
  constexpr bool ALONG = WAY == XG_SLAB_ALONG;
  extern __shared__ __align__(16) char bytes[];
  xg_parts_begin();

  /* Blocks with neighbouring numbers have the same part of k. */
  const xg_product<T> &p = x.p;
  int64_t rows = xg_tiles(p.m, S::BM), tiles = rows * xg_tiles(p.n, S::BN);
  int64_t part = blockIdx.x / tiles, tile = blockIdx.x - part * tiles;
  int64_t row = tile % rows * S::BM, col = tile / rows * S::BN, first = part * x.parts.steps;
  int len = (int)(p.k - first < x.parts.steps ? p.k - first : x.parts.steps);

  /* Lanes i and i^1 share a column, i and i^2 a row: a 16-byte shared load takes 2 passes. */
  int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
  int lane_row = S::LANE_COLS == 1 ? lane : lane % 2 + lane / 4 * 2 % S::LANE_ROWS;
  int lane_col = S::LANE_COLS == 1 ? 0 : lane / 2 % 2 + lane / (2 * S::LANE_ROWS) * 2;
  T *ring = (T *)bytes + warp * S::RING;
  xg_slab_a<S, WAY> load_a(x.a, row, first + warp * BK, lane);
  xg_slab_b<S> load_b(x.b, col, first + warp * BK, lane);

  int left = len - warp * BK, ahead = left; /* steps from the warp's next slab on; to be copied */
  for (int s = 0; s < STAGES - 1; s++, ahead -= SPAN) {
    T *stage = ring + s * S::STAGE;
    if (ahead > 0) load_a.copy(stage, ahead), load_b.copy(stage + S::SLAB_A, ahead);
    xg_copies_end();
  }

  T sum[S::TM][S::TN] = {};
  int use = 0; /* the stage in use */
  for (; left > 0; left -= SPAN, ahead -= SPAN) {
    xg_copies_wait<STAGES - 2>();
    __syncwarp(); /* all lanes' copies have come, and all are done with the stage used before */
    T *refill = ring + (use ? use - 1 : STAGES - 1) * S::STAGE;
    if (ahead > 0) load_a.copy(refill, ahead), load_b.copy(refill + S::SLAB_A, ahead);
    xg_copies_end();
    xg_slab_use<S, ALONG>(sum, ring + use * S::STAGE, lane_row, lane_col);
    use = use + 1 == STAGES ? 0 : use + 1;
  }

  xg_copies_wait<0>();
  __syncthreads();
  T *mine = (T *)bytes + warp * S::SUMS;
#pragma unroll
  for (int j = 0; j < S::TN; j++)
#pragma unroll
    for (int i = 0; i < S::TM; i++) {
      int to_row = xg_slab_index<S::LANE_ROWS, S::V, ALONG>(lane_row, i);
      int to_col = xg_slab_index<S::LANE_COLS, S::V, false>(lane_col, j);
      mine[xg_slab_place<S, ALONG>(to_row, to_col)] = sum[i][j];
    }
  __syncthreads();
  xg_slab_out<S, ALONG>(x, (const T *)bytes, row, col, (int)part);
}

/* ---------------------------------------------------------------- host */

/* Parts, by a model in microseconds: a multiprocessor streams 30 KB, or makes 180,000 (f64: half)
 * FMAs, in one, with a single block on it two thirds of that; a block costs 1.5 to start and end; a
 * second kernel 2 and its traffic. */
template <class S> double xg_slab_time(int64_t m, int64_t n, int64_t k, int sms, int64_t steps)
{
  double e = S::E, parts = (double)((k + steps - 1) / steps);
  int64_t each = xg_tiles(xg_tiles(m, S::BM) * xg_tiles(n, S::BN) * (int64_t)parts, sms);
  double lone = each < S::BLOCKS ? 1.5 : 1;
  double work = (double)steps * S::BM * S::BN * (e / 4) / 180e3;
  double load = (double)steps * (S::BM + 0.5 * S::BN) * e / 30e3;
  double time = each * lone * (work > load ? work : load) + 1.5 * xg_tiles(each, S::BLOCKS);
  return parts == 1 ? time : time + 2 + 2.0 * m * n * e * parts / 3e6;
}

/* Steps of k in a part. */
template <class S> int64_t xg_slab_steps(int64_t m, int64_t n, int64_t k, int sms)
{
  const int quantum = S::WARPS * S::BK, tries = 14;
  int64_t tiles = xg_tiles(m, S::BM) * xg_tiles(n, S::BN), best = k;
  double least = xg_slab_time<S>(m, n, k, sms, k);
  for (int t = 1; t <= tries; t++) {
    int64_t parts = t <= 8 ? t : (int64_t)sms * (t - 8) / tiles; /* t - 8 blocks for each */
    if (parts < 2 || (t > 8 && parts <= 8)) continue;
    int64_t steps = xg_tiles(xg_tiles(k, (int)parts), quantum) * quantum;
    double time = xg_slab_time<S>(m, n, k, sms, steps);
    if (time < least) least = time, best = steps;
  }
  const int64_t longest = 1 << 30; /* they are counted in int */
  return best < longest ? best : longest;
}

template <class T>
xg_slab_operand<T> xg_slab_operand_of(const T *x, int64_t outer, int64_t so, int64_t sk, int64_t k)
{
  int64_t down = so < 0 ? -so : so, along = sk < 0 ? -sk : sk;
  xg_slab_way way = xg_wide(x, so, sk, k)       ? XG_SLAB_WIDE
                    : xg_wide(x, sk, so, outer) ? XG_SLAB_ALONG
                    : along < down              ? XG_SLAB_K
                                                : XG_SLAB_ACROSS;
  return {x, outer, so, sk, way};
}

template <class S> xg_slab_args<typename S::T> xg_slab_args_of(const xg_gkr_args *args)
{
  using T = typename S::T;
  xg_product<T> p = xg_long_first<T>(args);
  int64_t steps = xg_slab_steps<S>(p.m, p.n, p.k, args->sms);
  xg_slab_args<T> x = {p, xg_parts_of(p, (int)((p.k + steps - 1) / steps), steps, args->workspace),
                       xg_slab_operand_of(p.a, p.m, p.rs_a, p.cs_a, p.k),
                       xg_slab_operand_of(p.b, p.n, p.cs_b, p.rs_b, p.k)};
  if (x.b.way == XG_SLAB_ALONG) x.b.way = XG_SLAB_K;
  x.parts.by_columns = 0;
  return x;
}

template <class S> const void *xg_slab_function(xg_slab_way way)
{
  if constexpr (S::ANY) {
    if (way == XG_SLAB_ALONG) return (const void *)xg_slab_kernel<S, XG_SLAB_ALONG>;
    if (way != XG_SLAB_WIDE) return (const void *)xg_slab_kernel<S, XG_SLAB_K>;
  }
  return (const void *)xg_slab_kernel<S, XG_SLAB_WIDE>;
}

template <class S> int xg_slab_split(const xg_gkr_args *args)
{
  return xg_slab_args_of<S>(args).parts.count;
}

template <class S> size_t xg_slab_workspace(const xg_gkr_args *args)
{
  auto x = xg_slab_args_of<S>(args);
  return xg_parts_bytes(x.p, x.parts.count);
}

template <class S> const void *xg_slab_function_of(const xg_gkr_args *args)
{
  return xg_slab_function<S>(xg_slab_args_of<S>(args).a.way);
}

/* Beyond four tiles of n, tiles that are wider are better. */
template <class S> const char *xg_slab_ok(const xg_gkr_args *args)
{
  if ((args->m < args->n ? args->m : args->n) > 4 * S::BN) return "neither m nor n is small enough";
  if (!S::ANY && xg_slab_args_of<S>(args).a.way != XG_SLAB_WIDE)
    return "the long operand is not contiguous, in 16-byte steps, along its length";
  return xg_grid_ok(args, S::BN, S::BN);
}

template <class S> int xg_slab_launch(const xg_gkr_args *args, void *stream)
{
  auto x = xg_slab_args_of<S>(args);
  return xg_parts_launch(xg_slab_function<S>(x.a.way), &x, x.p, x.parts,
                         xg_blocks(x.p, S::BM, S::BN) * x.parts.count, S::THREADS, S::SHARED,
                         stream);
}

#endif
