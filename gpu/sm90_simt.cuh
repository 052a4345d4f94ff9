/* Register-blocked product on the FMA units of sm_90: the frame of the sgemm_sm90_* kernels.
 *
 *                     BN                        A block is 8 warps that multiply and 4 that load,
 *            +--------+--------+                and stays on its multiprocessor for all its tiles.
 *         BK |        B        |                Between them lies a ring of STAGES pieces of BK
 *            +--------+--------+                steps of k; each has a barrier "full" and a
 *       BK                                      barrier "empty". No barrier spans the block: each
 *     +-----++--------+--------+                warp goes at its own pace, and while the sums of a
 *     |     || warp 0 | warp 1 | 64             tile are stored the ring fills for the next one.
 *     |  A  |+--------+--------+                        full
 *     |     || warp 3 | warp 2 | 64             loaders =====> [ ][ ][ ][ ] =====> multipliers
 *     +-----++--------+--------+                   ^                                   |
 *                64       64                       +-------------- empty --------------+
 *
 * A warp's tile is 64 x 64, a thread's 16 x 8: 128 FMAs for six 16-byte loads, 95.5 % of the issue
 * slots if each were one. Lanes lie 4 x 8, in groups of 4 x 4 elements:
 *
 *                 c=0   c=1  ..  c=7 | c=0 ..             Lanes i and i^1 share a column and i and
 *           r=0  [4x4] [4x4]    [4x4]|                    i^2 a row: then a 16-byte shared load
 *            :                       |                    takes 2 passes, not 4.
 *           r=3  [4x4]               |
 *           --------------------------
 *           r=0  ...
 *
 * With 128 sums, two sets of fragments and addresses a thread needs some 200 registers; loaders
 * give theirs away.
 *
 * GROUPS > 1: the warps form groups that each have the whole block tile, and take turns at the
 * pieces; at the end their sums are added in shared memory. For products with few tiles.
 *
 * How operands get into the ring: sm90_ring.cuh; which tiles a block takes: sm90_stream.cuh. */
#ifndef XG_SM90_SIMT_CUH
#define XG_SM90_SIMT_CUH

#include "ptx/setmaxnreg.cuh"
#include "sm90_ring.cuh"

/* The same value in a register: otherwise the compiler makes addresses anew at each use, slowly. */
__device__ inline uint32_t xg_kept(uint32_t x)
{
  return __shfl_sync(0xffffffffu, x, 0);
}

/* A barrier among some of a block's warps. */
__device__ inline void xg_barrier_sync(int number, int threads)
{
  asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(threads) : "memory");
}

enum { XG_TM = 16, XG_TN = 8 };

template <int BM_, int BN_, int BK_, int STAGES_, int GROUPS_, int UNROLL_> struct xg_ring_shape {
  static constexpr int BM = BM_, BN = BN_, BK = BK_, STAGES = STAGES_, GROUPS = GROUPS_;
  static constexpr int UNROLL = UNROLL_; /* steps of k in the body of the loop */
  static constexpr int WARP_TILE = 64;
  static constexpr int WARPS_M = BM / WARP_TILE, WARPS_N = BN / WARP_TILE;
  static constexpr int GROUP_WARPS = WARPS_M * WARPS_N, WARPS = GROUP_WARPS * GROUPS;
  static constexpr int THREADS = WARPS * 32 + XG_LOADERS;
  static constexpr int STAGE = BK * (BM + BN + 8); /* elements; rows may be 4 longer */
  static constexpr int RING = STAGES * STAGE, SUMS = GROUPS > 1 ? WARPS * 32 * XG_TM *XG_TN : 0;
  static constexpr int SHARED = (RING > SUMS ? RING : SUMS) * (int)sizeof(float);
  static_assert(WARPS == 8 && BK % 8 == 0 && BK % UNROLL == 0 && UNROLL % 2 == 0, "");
  static_assert((STAGES & (STAGES - 1)) == 0 && (GROUPS & (GROUPS - 1)) == 0 && STAGES >= GROUPS);
  static_assert(STAGE % 32 == 0, "boxes start on 128 bytes");
};

struct xg_sm90_args {
  xg_tmap map_a, map_b;
  xg_operand a, b;
  xg_product<float> p;
  xg_deal deal;
};

template <class S, bool MAP_A, bool MAP_B>
__device__ inline void xg_load(const xg_sm90_args &x, const xg_ring<S> &ring, uint32_t shared,
                               int t)
{
  constexpr int BK = S::BK, bytes = ((MAP_A ? S::BM : 0) + (MAP_B ? S::BN : 0)) * BK * 4;
  constexpr int LDA = MAP_A ? S::BM : S::BM + 4;
  if (MAP_A && t == 0) xg_tma_prefetch_map(&x.map_a);
  if (MAP_B && t == 0) xg_tma_prefetch_map(&x.map_b);
  xg_share share(x.deal);
  xg_segment s;
  uint32_t turn = 0;
  while (share.next(x.deal, s))
    for (int piece = s.first; piece < s.first + s.count; piece++, turn++) {
      ring.wait_empty(turn);
      int stage = ring.stage(turn);
      uint32_t full = ring.full + stage * 8, to = shared + stage * S::STAGE * 4;
      if (bytes && t == 0) {
        xg_mbarrier_arrive_expect(full, bytes);
        if (MAP_A) xg_tma_load(to, &x.map_a, full, s.row * S::BM, piece * BK);
        if (MAP_B) xg_tma_load(to + BK * LDA * 4, &x.map_b, full, s.col * S::BN, piece * BK);
      }
      if (!MAP_A)
        xg_elements<S::BM, BK>::copy(to, x.a, (int64_t)s.row * S::BM, (int64_t)piece * BK, t);
      if (!MAP_B)
        xg_elements<S::BN, BK>::copy(to + BK * LDA * 4, x.b, (int64_t)s.col * S::BN,
                                     (int64_t)piece * BK, t);
      if (!MAP_A || !MAP_B) xg_cp_async_arrive(full);
    }
}

/* ---------------------------------------------------------------- sums */

struct xg_sums {
  float at[XG_TM][XG_TN];
};

/* The q-th group of four neighbouring sums, in the order 1 0 3 2. A vector makes the compiler put
 * them into registers numbered like this: an even one for b[1], an odd one for b[0]. */
__device__ inline float4 xg_swapped(const xg_sums &sum, int q)
{
  const float *x = &sum.at[q / 2][q % 2 * 4];
  return make_float4(x[1], x[0], x[3], x[2]);
}

__device__ inline void xg_add_swapped(float *x, float4 y)
{
  x[1] += y.x, x[0] += y.y, x[3] += y.z, x[2] += y.w;
}

/* Where the q-th group of four lies in the thread's share of the warp tile. */
__device__ inline int xg_row_of(int q)
{
  return q / 8 * 16 + q / 2 % 4;
}

__device__ inline int xg_col_of(int q)
{
  return q % 2 * 32;
}

/* Four elements of shared memory. */
__device__ inline void xg_load_four(float *to, uint32_t from)
{
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
               : "r"(from));
}

/* What a thread multiplies in a step of k. */
struct xg_fragments {
  float a[XG_TM], b[XG_TN];

  /* The g-th of six groups of four: B's two, then A's. */
  __device__ void load(int g, uint32_t from_a, uint32_t from_b)
  {
    if (g < 2)
      xg_load_four(b + g * 4, from_b + g * 128);
    else
      xg_load_four(a + (g - 2) * 4, from_a + (g - 2) * 64);
  }
};

/* One step of k. The register file delivers two registers a cycle, one with an even number and one
 * with an odd, and an FMA reads three. So a row is walked along and back: the factor of A stays in
 * the operand cache, and of the other two the compiler can see to it that one is even and one odd -
 * if nothing else decides where sums lie. Hence no instruction may take four neighbouring sums:
 * where sums were stored as vectors, the whole loop took 1.4 cycles an FMA instead of 1.14. */
__device__ inline void xg_step(xg_sums &sum, const xg_fragments &x)
{
#pragma unroll
  for (int i = 0; i < XG_TM; i++)
#pragma unroll
    for (int jj = 0; jj < XG_TN; jj++) {
      int j = i % 2 ? XG_TN - 1 - jj : jj;
      sum.at[i][j] = fmaf(x.a[i], x.b[j], sum.at[i][j]);
    }
}

/* Pieces turn, turn + GROUPS, ... of which there are `count` >= 1. `mine_a`, `mine_b`: my elements
 * in stage 0. A round of the loop is UNROLL steps and one basic block; what waits is ahead of it.
 */
template <class S, int LDA, int LDB>
__device__ inline void xg_multiply(xg_sums &sum, const xg_ring<S> &ring, uint32_t turn, int count,
                                   uint32_t mine_a, uint32_t mine_b)
{
  constexpr int U = S::UNROLL, BK = S::BK, STAGE = S::STAGE * 4;
  xg_fragments x[2];
  ring.wait_full(turn);
  uint32_t at_a = mine_a + ring.stage(turn) * STAGE, at_b = mine_b + ring.stage(turn) * STAGE;
#pragma unroll
  for (int g = 0; g < 6; g++) x[0].load(g, at_a, at_b);
#pragma unroll 1
  for (; count > 0; count--) {
    uint32_t done = turn;
    int step_a = U * LDA * 4, step_b = U * LDB * 4;
#pragma unroll 1
    for (int k = U; k <= BK; k += U) {
      if (k == BK) { /* after the last piece its first step is loaded again, in vain */
        if (count > 1) turn += S::GROUPS, ring.wait_full(turn);
        step_a = mine_a + ring.stage(turn) * STAGE - at_a;
        step_b = mine_b + ring.stage(turn) * STAGE - at_b;
      }
#pragma unroll
      for (int kk = 0; kk < U; kk++) {
        if (kk == U - 1) at_a += step_a, at_b += step_b;
        int ahead = (kk + 1) % U;
#pragma unroll
        for (int g = 0; g < 6; g++)
          x[(kk + 1) % 2].load(g, at_a + ahead * LDA * 4, at_b + ahead * LDB * 4);
        xg_step(sum, x[kk % 2]);
      }
    }
    ring.release(done);
  }
}

/* ---------------------------------------------------------------- what becomes of the sums */

/* The sums of other blocks for the rest of a tile of which I have the first pieces. */
template <class S>
__device__ inline void xg_gather_sums(xg_sums &sum, const xg_deal &d, int warp, int lane)
{
  int end = xg_share::tile_end(d);
  for (int rank = xg_share::rank() + 1; xg_share::start(d, rank) < end; rank++) {
    const int *ready = d.ready + rank * S::WARPS + warp;
    int there;
    do asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(there) : "l"(ready) : "memory");
    while (!there);
    const float4 *x = (const float4 *)d.sums + (rank * S::WARPS + warp) * (32 * 32) + lane;
#pragma unroll
    for (int q = 0; q < 32; q++) xg_add_swapped(&sum.at[q / 2][q % 2 * 4], __ldcg(x + q * 32));
  }
}

/* Sums of pieces that don't start a tile, for the block that has its first. */
template <class S>
__device__ inline void xg_leave_sums(const xg_sums &sum, const xg_deal &d, int rank, int warp,
                                     int lane)
{
  float4 *to = (float4 *)d.sums + (rank * S::WARPS + warp) * (32 * 32) + lane;
#pragma unroll
  for (int q = 0; q < 32; q++) __stcg(to + q * 32, xg_swapped(sum, q));
  __threadfence();
  __syncwarp();
  if (lane == 0)
    asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(d.ready + rank * S::WARPS + warp),
                 "r"(1)
                 : "memory");
}

/* Four sums into C at (row,col) and to the right of it. */
__device__ inline void xg_store_four(const xg_product<float> &p, const float *x, int64_t row,
                                     int64_t col, bool wide)
{
  if (row >= p.m) return;
  float *to = p.c + row * p.rs_c + col * p.cs_c;
  if (wide && col + 4 <= p.n) {
    float4 y = p.beta != 0 ? *(const float4 *)to : make_float4(0, 0, 0, 0);
    y.x = xg_finish(p.alpha, x[0], p.beta, &y.x), y.y = xg_finish(p.alpha, x[1], p.beta, &y.y);
    y.z = xg_finish(p.alpha, x[2], p.beta, &y.z), y.w = xg_finish(p.alpha, x[3], p.beta, &y.w);
    *(float4 *)to = y;
  } else {
#pragma unroll
    for (int i = 0; i < 4; i++)
      if (col + i < p.n) to[i * p.cs_c] = xg_finish(p.alpha, x[i], p.beta, to + i * p.cs_c);
  }
}

/* My sums into C, from (row,col) on, all of whose rows are on 16 bytes. */
template <bool READ>
__device__ inline void xg_store_wide(const xg_product<float> &p, const xg_sums &sum, float *to)
{
#pragma unroll
  for (int i = 0; i < XG_TM; i++) {
#pragma unroll
    for (int j = 0; j < XG_TN; j += 4) {
      float4 *at = (float4 *)(to + j * 8), y;
      if (READ) y = *at;
      y.x = xg_finish(p.alpha, sum.at[i][j], READ ? p.beta : 0, &y.x);
      y.y = xg_finish(p.alpha, sum.at[i][j + 1], READ ? p.beta : 0, &y.y);
      y.z = xg_finish(p.alpha, sum.at[i][j + 2], READ ? p.beta : 0, &y.z);
      y.w = xg_finish(p.alpha, sum.at[i][j + 3], READ ? p.beta : 0, &y.w);
      *at = y;
    }
    to += (i % 4 == 3 ? 13 : 1) * p.rs_c;
  }
}

/* My sums into C, from (row,col) on. Code is short on purpose: what runs once a tile comes from far
 * away, and 3000 instructions of it cost a product of 2048 some microseconds. */
__device__ inline void xg_store(const xg_product<float> &p, const xg_sums &sum, int64_t row,
                                int64_t col, bool inside)
{
  bool wide = p.cs_c == 1 && p.rs_c % 4 == 0 && (size_t)p.c % 16 == 0;
  float *to = p.c + row * p.rs_c + col;
  if (wide && inside && p.beta == 0) {
    xg_store_wide<false>(p, sum, to);
  } else if (wide && inside) {
    xg_store_wide<true>(p, sum, to);
  } else {
#pragma unroll
    for (int q = 0; q < 32; q++)
      xg_store_four(p, &sum.at[q / 2][q % 2 * 4], row + xg_row_of(q), col + xg_col_of(q), wide);
  }
}

/* GROUPS > 1: all leave their sums in shared memory, where the ring was, and each group adds those
 * of one part of the tile, in the order of the groups. */
template <class S>
__device__ inline void xg_store_groups(const xg_product<float> &p, const xg_sums &sum,
                                       float4 *meeting, int group, int member, int64_t row,
                                       int64_t col)
{
  constexpr int MEMBERS = S::GROUP_WARPS * 32, PART = 32 / S::GROUPS;
  bool wide = p.cs_c == 1 && p.rs_c % 4 == 0 && (size_t)p.c % 16 == 0;
  xg_barrier_sync(1, S::WARPS * 32);
#pragma unroll
  for (int q = 0; q < 32; q++) meeting[(group * 32 + q) * MEMBERS + member] = xg_swapped(sum, q);
  xg_barrier_sync(1, S::WARPS * 32);
#pragma unroll 2
  for (int q = group * PART; q < (group + 1) * PART; q++) {
    float x[4] = {};
#pragma unroll
    for (int g = 0; g < S::GROUPS; g++) xg_add_swapped(x, meeting[(g * 32 + q) * MEMBERS + member]);
    xg_store_four(p, x, row + xg_row_of(q), col + xg_col_of(q), wide);
  }
}

template <class S, bool MAP_A, bool MAP_B>
__device__ inline void xg_work(const xg_sm90_args &x, const xg_ring<S> &ring, float *shared)
{
  constexpr int LDA = MAP_A ? S::BM : S::BM + 4, LDB = MAP_B ? S::BN : S::BN + 4;
  int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
  int group = warp / S::GROUP_WARPS, place = warp % S::GROUP_WARPS;
  /* Warps w and w + 4 share a scheduler. The four of a row, of two columns and the two of a column
   * have different ones, so that a thin tile takes half the time. */
  int warp_row = place / S::WARPS_N, warp_col = (place + 2 * warp_row) % S::WARPS_N;
  int my_row = warp_row * S::WARP_TILE + (lane / 16 * 2 + lane % 2) * 4;
  int my_col = warp_col * S::WARP_TILE + lane % 16 / 2 * 4;
  uint32_t ring_at = xg_kept(xg_shared_address(shared));
  uint32_t mine_a = ring_at + my_row * 4, mine_b = ring_at + (S::BK * LDA + my_col) * 4;

  xg_share share(x.deal);
  xg_segment s;
  uint32_t turn = 0;
  while (share.next(x.deal, s)) {
    uint32_t skip = (group - turn) & (S::GROUPS - 1), first = turn + skip;
    int count = (s.count - (int)skip + S::GROUPS - 1) / S::GROUPS;
    int64_t row = (int64_t)s.row * S::BM, col = (int64_t)s.col * S::BN;
    int64_t down = x.p.m - row - warp_row * S::WARP_TILE;
    int64_t across = x.p.n - col - warp_col * S::WARP_TILE;
    bool outside = down <= 0 || across <= 0;
    bool inside = down >= S::WARP_TILE && across >= S::WARP_TILE;
    row += my_row, col += my_col, turn += (uint32_t)s.count;
    xg_sums sum = {};
    if (outside)
      for (; count > 0; count--, first += S::GROUPS) ring.wait_full(first), ring.release(first);
    else if (count > 0)
      xg_multiply<S, LDA, LDB>(sum, ring, first, count, mine_a, mine_b);
    if (S::GROUPS > 1) {
      xg_store_groups<S>(x.p, sum, (float4 *)shared, group, place * 32 + lane, row, col);
    } else if (!outside) {
      if (s.first > 0) {
        xg_leave_sums<S>(sum, x.deal, xg_share::rank(), warp, lane);
      } else {
        if (s.count < x.deal.pieces) xg_gather_sums<S>(sum, x.deal, warp, lane);
        xg_store(x.p, sum, row, col, inside);
      }
    }
  }
}

/* How 384 * 168 registers are shared out, for each kind of load. The numbers that the compiler
 * gives the sums change with how many there are, and these are those with which next to no FMA
 * waits for two operands of one half of the register file. */
template <class S, bool MAP_A, bool MAP_B> struct xg_registers {
  static constexpr int multiplier = MAP_A && !MAP_B                      ? 216
                                    : !MAP_A && !MAP_B && S::GROUPS == 1 ? 224
                                                                         : 232;
  static constexpr int loader = 3 * 168 - 2 * multiplier;
};

template <class S, bool MAP_A, bool MAP_B>
__global__ void __launch_bounds__(S::THREADS, 1)
    xg_sm90_kernel(const __grid_constant__ xg_sm90_args x)
{
  extern __shared__ __align__(128) float shared[];
  __shared__ uint64_t barriers[2 * S::STAGES];
  xg_ring<S> ring = {xg_kept(xg_shared_address(barriers)),
                     xg_kept(xg_shared_address(barriers + S::STAGES))};
  if (threadIdx.x == 0) {
    for (int i = 0; i < S::STAGES; i++) {
      xg_mbarrier_init(ring.full + i * 8,
                       (MAP_A || MAP_B ? 1 : 0) + (MAP_A && MAP_B ? 0 : XG_LOADERS));
      xg_mbarrier_init(ring.empty + i * 8, S::GROUP_WARPS);
    }
    xg_mbarrier_fence_init();
  }
  __syncthreads();
  if (threadIdx.x >= S::WARPS * 32) {
    xg_registers_give<xg_registers<S, MAP_A, MAP_B>::loader>();
    int t = (int)threadIdx.x - S::WARPS * 32;
    if (!MAP_A || !MAP_B || t == 0) xg_load<S, MAP_A, MAP_B>(x, ring, xg_shared_address(shared), t);
  } else {
    xg_registers_take<xg_registers<S, MAP_A, MAP_B>::multiplier>();
    xg_work<S, MAP_A, MAP_B>(x, ring, shared);
  }
}

/* ---------------------------------------------------------------- host */

template <class S> const char *xg_sm90_ok(const xg_gkr_args *args)
{
  return xg_pieces_ok(args, S::BM, S::BN, S::BK);
}

template <class S> size_t xg_sm90_ready_bytes(int blocks)
{
  return ((size_t)blocks * S::WARPS * sizeof(int) + 255) / 256 * 256;
}

template <class S> size_t xg_sm90_workspace(const xg_gkr_args *args)
{
  int blocks;
  xg_deal d = xg_deal_out<S>(xg_rows_contiguous<float>(args), args->sms, &blocks);
  if (!d.streams()) return 0;
  return xg_sm90_ready_bytes<S>(blocks) + (size_t)blocks * S::BM * S::BN * sizeof(float);
}

/* The busiest block's way through k, in whole tiles. */
template <class S> double xg_sm90_rounds(const xg_gkr_args *args)
{
  int blocks;
  xg_deal d = xg_deal_out<S>(xg_rows_contiguous<float>(args), args->sms, &blocks);
  if (!d.streams()) return (d.rows && d.cols ? 1 : 0.5) * (double)xg_tiles(d.all, blocks);
  double streamed = (d.cost + (d.extra > 0)) / (double)d.pieces;
  return (double)(d.all - d.streamed) / blocks + streamed;
}

inline bool xg_sm90_map(xg_tmap *map, const xg_operand &x, int bx, int bk)
{
  if (!xg_tmap_can(x.x, sizeof(float), x.outer, x.k, x.so, x.sk)) return false;
  xg_tmap_matrix matrix = {x.x, 's', x.outer, x.k, x.sk, bx, bk, XG_TMAP_LINEAR};
  return xg_tmap_make(map, &matrix) == 0;
}

template <class S> const void *xg_sm90_instance(bool map_a, bool map_b)
{
  return map_a && map_b ? (const void *)xg_sm90_kernel<S, true, true>
         : map_a        ? (const void *)xg_sm90_kernel<S, true, false>
         : map_b        ? (const void *)xg_sm90_kernel<S, false, true>
                        : (const void *)xg_sm90_kernel<S, false, false>;
}

template <class S> const void *xg_sm90_function(const xg_gkr_args *args)
{
  xg_product<float> p = xg_rows_contiguous<float>(args);
  return xg_sm90_instance<S>(xg_tmap_can(p.a, sizeof(float), p.m, p.k, p.rs_a, p.cs_a),
                             xg_tmap_can(p.b, sizeof(float), p.n, p.k, p.cs_b, p.rs_b));
}

template <class S> int xg_sm90_launch(const xg_gkr_args *args, void *stream)
{
  xg_sm90_args x;
  int blocks;
  xg_product<float> &p = x.p = xg_rows_contiguous<float>(args);
  x.a = {p.a, p.m, p.k, p.rs_a, p.cs_a}, x.b = {p.b, p.n, p.k, p.cs_b, p.rs_b};
  bool map_a = xg_sm90_map(&x.map_a, x.a, S::BM, S::BK);
  bool map_b = xg_sm90_map(&x.map_b, x.b, S::BN, S::BK);
  x.deal = xg_deal_out<S>(p, args->sms, &blocks);
  cudaError_t status = cudaSuccess;
  if (x.deal.streams()) {
    size_t ready = xg_sm90_ready_bytes<S>(blocks);
    x.deal.ready = (int *)args->workspace;
    x.deal.sums = (float *)((char *)args->workspace + ready);
    status = cudaMemsetAsync(x.deal.ready, 0, ready, (cudaStream_t)stream);
  }
  const void *kernel = xg_sm90_instance<S>(map_a, map_b);
  if (status == cudaSuccess)
    status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, S::SHARED);
  if (status != cudaSuccess) return (int)status;
  void *arguments[] = {&x};
  return (int)cudaLaunchKernel(kernel, dim3((unsigned)blocks), dim3(S::THREADS), arguments,
                               S::SHARED, (cudaStream_t)stream);
}

#endif
