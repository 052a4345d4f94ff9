/* f64 product on the Tensor Cores: the frame of the dgemm_*_mma_* kernels.
 *
 *      block tile  BM x BN       shared memory holds STAGES pieces of BK = 16 WK steps of k
 *      warp tile   WM x WN       for one of the WK slices of 16 steps that a piece is made of
 *      mma         16 x 8 x 8    4 sums, 4 elements of A and 2 of B a lane
 *
 * Which element a lane holds. The hardware numbers lanes (g, t), g = lane / 4, t = lane % 4, and
 * wants of an 8-step mma: A rows g and g + 8, B column g, both at steps t and t + 4; it returns C
 * rows g and g + 8 at columns 2t and 2t + 1. Rows and steps may be renamed, and are:
 *
 *      row    g -> 2g,  g + 8 -> 2g + 1      two rows of an A that lies along m
 *      step   t -> 2t,  t + 4 -> 2t + 1      two steps of a B that lies along k
 *
 * so that such operands are loaded 16 bytes at a time, each pair into the registers where the mma
 * wants it. Loads matter: an mma takes 32 cycles, a load with its wait 6, and what a warp does
 * between two mmas must fit between them. So the host turns the product round, C^T = B^T A^T, where
 * that makes A lie along m and B along k. If both lie along k, steps keep their names (A's pairs
 * can't be loaded at once); then loads take 8 bytes.
 *
 * Pipeline. Every warp copies (cp.async) and multiplies. A stage has two barriers: `full` counts
 * the threads whose copies have landed, `empty` those that are done reading. AHEAD < STAGES pieces
 * are on their way, so a refill waits for a warp only if that one is STAGES - AHEAD pieces behind,
 * and no warp ever waits for all others. Barriers are looked at one mma row before the answer is
 * needed. B's fragments are double-buffered in registers; a row of A is replaced when it has been
 * used.
 *
 * WK > 1: few tiles. The warps of a tile take different slices of each piece. Fewer still: k is cut
 * into parts, a block each; the blocks of a cluster add up their sums in shared memory, and if
 * there are several clusters for a tile, a second kernel adds theirs. All in a fixed order. */
#ifndef XG_MMA_F64_CUH
#define XG_MMA_F64_CUH

#include "mma_f64_copy.cuh"
#include "mma_f64_out.cuh"

/* AHEAD: pieces on their way. BLOCKS: at least so many on a multiprocessor. */
template <class MMA_, int BM_, int BN_, int WM_, int WN_, int WK_, int STAGES_, int AHEAD_,
          int BLOCKS_>
struct xg_mma64 {
  using MMA = MMA_;
  static constexpr int BM = BM_, BN = BN_, WM = WM_, WN = WN_, WK = WK_, BK = 16 * WK;
  static constexpr int STAGES = STAGES_, AHEAD = AHEAD_, BLOCKS = BLOCKS_;
  static constexpr int PLANE = (BM / WM) * (BN / WN); /* warps of one slice */
  static constexpr int WARPS = PLANE * WK, THREADS = WARPS * 32;
  static constexpr int MI = WM / 16, NJ = WN / 8; /* mma tiles of a warp */
  static constexpr int SLICE_A = xg_slice64<BM, XG_ALONG>::SIZE;
  static constexpr int SLICE_B = xg_slice64<BN, XG_ALONG>::SIZE;
  static constexpr int STAGE_A = WK * SLICE_A, STAGE = WK * (SLICE_A + SLICE_B); /* elements */
  static constexpr int SUMS = WK * (BM * BN + 4 * (BM > BN ? BM : BN));
  static constexpr int DATA = STAGES * STAGE > SUMS ? STAGES *STAGE : SUMS;
  static constexpr int SHARED = DATA * 8 + STAGES * 16 + 16; /* bytes */
  static_assert(BM % WM == 0 && BN % WN == 0 && WM % 16 == 0 && WN % 8 == 0, "");
  static_assert(AHEAD >= 1 && AHEAD < STAGES, "");

  static __device__ int warp_slice(int thread)
  {
    return thread / 32 / PLANE;
  }

  static __device__ int warp_row(int thread)
  {
    return thread / 32 % PLANE / (BN / WN) * WM;
  }

  static __device__ int warp_col(int thread)
  {
    return thread / 32 % PLANE % (BN / WN) * WN;
  }
};

/* ---------------------------------------------------------------- fragments */

/* Row i of mma tiles, half h of a slice of A; `slice` points to the warp's first row. */
template <class S, xg_lay64 LAY>
__device__ inline void xg_fragment_a(double (&a)[4], const double *slice, int i, int h)
{
  using lay = xg_slice64<S::BM, LAY>;
  int g = (int)threadIdx.x % 32 / 4, t = (int)threadIdx.x % 4;
#pragma unroll
  for (int e = 0; e < 2; e++)
    if (LAY == XG_ALONG) {
      double2 v = *(const double2 *)(slice + (8 * h + 2 * t + e) * lay::LD + 16 * i + 2 * g);
      a[2 * e] = v.x, a[2 * e + 1] = v.y;
    } else {
      const double *at = slice + 256 * i + lay::at(2 * g, 8 * h + 4 * e + t);
      a[2 * e] = at[0], a[2 * e + 1] = at[16];
    }
}

template <class S, xg_lay64 LAY>
__device__ inline void xg_fragment_b(double (&b)[S::NJ][2], const double *slice, int h)
{
  using lay = xg_slice64<S::BN, LAY>;
  int g = (int)threadIdx.x % 32 / 4, t = (int)threadIdx.x % 4;
#pragma unroll
  for (int j = 0; j < S::NJ; j++)
    if (LAY == XG_PAIRS) {
      double2 v = *(const double2 *)(slice + 128 * j + lay::at(g, 8 * h + 2 * t));
      b[j][0] = v.x, b[j][1] = v.y;
    } else {
#pragma unroll
      for (int e = 0; e < 2; e++)
        b[j][e] = LAY == XG_ALONG ? slice[(8 * h + 2 * t + e) * lay::LD + 8 * j + g]
                                  : slice[128 * j + lay::at(g, 8 * h + 4 * e + t)];
    }
}

/* Multiplies the half in registers, a and b, and loads half h of (next_a, next_b) meanwhile: all of
 * B into b_next, rows of A each into its place when it has been used. meanwhile(i) comes after
 * row i. */
template <class S, xg_lay64 LAY_A, xg_lay64 LAY_B, class F>
__device__ inline void xg_step64(double (&sum)[S::MI * S::NJ][4], double (&a)[S::MI][4],
                                 const double (&b)[S::NJ][2], double (&b_next)[S::NJ][2],
                                 const double *next_a, const double *next_b, int h, F meanwhile)
{
  xg_fragment_b<S, LAY_B>(b_next, next_b, h);
#pragma unroll
  for (int i = 0; i < S::MI; i++) {
#pragma unroll
    for (int turn = 0; turn < S::MMA::TURNS; turn++)
#pragma unroll
      for (int j = 0; j < S::NJ; j++) S::MMA::mma(sum[i * S::NJ + j], a[i], b[j], turn);
    xg_fragment_a<S, LAY_A>(a[i], next_a, i, h);
    meanwhile(i);
  }
}

/* ---------------------------------------------------------------- the kernel */

struct xg_mma64_args {
  xg_walk64 a, b;
  xg_out64 out;
  int64_t k, part_k, part_c; /* steps of k in all and in a part; elements to the next sums' out */
  unsigned rows, cols, cluster; /* tiles, blocks */
};

/* A block's tile of C, its part of k, and the place for the sum that it contributes to: the blocks
 * of a cluster have neighbouring parts of one tile. Tiles are numbered as in xg_tile_of, but with
 * 32-bit divisions: 64-bit ones took a microsecond. */
struct xg_place64 {
  unsigned row, col, part, place;
};

__device__ inline xg_place64 xg_place64_of(const xg_mma64_args &args, unsigned block)
{
  unsigned band = args.rows < 8 ? args.rows : 8; /* so that band * cols fits */
  unsigned at = block / args.cluster, place = 0, tiles = args.rows * args.cols;
  if (at >= tiles) place = at / tiles, at -= place * tiles;
  unsigned first = at / (band * args.cols) * band, within = at - first * args.cols;
  unsigned height = args.rows - first < band ? args.rows - first : band;
  unsigned col = within / height;
  return {first + within - col * height, col, place * args.cluster + block % args.cluster, place};
}

/* How A and B lie; TURNED: the product was turned round, so rows here are columns of C. */
template <class S, bool A_BY_K, bool B_BY_K, bool TURNED, bool WIDE>
__global__ void __launch_bounds__(S::THREADS, S::BLOCKS)
    xg_mma64_kernel(const __grid_constant__ xg_mma64_args args)
{
  constexpr int STAGES = S::STAGES, AHEAD = S::AHEAD, BK = S::BK;
  constexpr xg_lay64 LAY_A = A_BY_K ? XG_TWO : XG_ALONG;
  constexpr xg_lay64 LAY_B = !B_BY_K ? XG_ALONG : A_BY_K ? XG_ROW : XG_PAIRS;
  static_assert(!A_BY_K || B_BY_K, "turn it round");
  extern __shared__ __align__(128) double shared[];
  xg_place64 *place = (xg_place64 *)(shared + S::DATA + STAGES * 2); /* kept for the end */
  unsigned stages = (unsigned)__cvta_generic_to_shared(shared);
  unsigned full = stages + S::DATA * 8, empty = full + STAGES * 8;

  xg_place64 mine = xg_place64_of(args, blockIdx.x);
  int64_t row = (int64_t)mine.row * S::BM, col = (int64_t)mine.col * S::BN;
  int64_t first_k = mine.part * args.part_k;
  int64_t ks = args.k - first_k < args.part_k ? args.k - first_k : args.part_k;
  if (ks < 0) ks = 0; /* a cluster may have more blocks than there are parts */
  xg_loader64<S::BM, S::WK, S::THREADS, LAY_A, WIDE> load_a(args.a, row, first_k);
  xg_loader64<S::BN, S::WK, S::THREADS, LAY_B, WIDE> load_b(args.b, col, first_k);

  if (threadIdx.x == 0) {
    for (int s = 0; s < STAGES; s++)
      xg_bar64_init(full + s * 8, S::THREADS), xg_bar64_init(empty + s * 8, S::THREADS);
    *place = mine;
  }
  __syncthreads();

  /* A piece that is not whole goes first: then the loop needs no look at k. */
  unsigned whole = (unsigned)(ks / BK), pieces = (unsigned)xg_tiles(ks, BK);
  if (whole < pieces) {
    int steps = (int)(ks - (int64_t)whole * BK);
    load_a.copy_part(args.a, stages, steps, whole * args.a.piece);
    load_b.copy_part(args.b, stages + S::STAGE_A * 8, steps, whole * args.b.piece);
    xg_bar64_arrive_copied(full);
  }
#pragma unroll 1
  for (unsigned i = pieces - whole; i < AHEAD && i < pieces; i++) {
    unsigned stage = stages + i * S::STAGE * 8;
    load_a.copy(args.a, stage, true), load_b.copy(args.b, stage + S::STAGE_A * 8, true);
    load_a.from += args.a.piece, load_b.from += args.b.piece;
    xg_bar64_arrive_copied(full + i * 8);
  }
  if (args.out.beta != 0 && args.out.cs == 1)
    xg_expect64<S, TURNED>(args.out, TURNED ? col : row, TURNED ? row : col);

  const double *my_a = shared + S::warp_slice(threadIdx.x) * S::SLICE_A +
                       S::warp_row(threadIdx.x) * (A_BY_K ? 16 : 1);
  const double *my_b = shared + S::STAGE_A + S::warp_slice(threadIdx.x) * S::SLICE_B +
                       S::warp_col(threadIdx.x) * (B_BY_K ? 16 : 1);
  double sum[S::MI * S::NJ][4] = {}, a[S::MI][4], b[2][S::NJ][2];
  if (pieces > 0) xg_bar64_wait(full, 0);
  xg_fragment_b<S, LAY_B>(b[0], my_b, 0);
#pragma unroll
  for (int i = 0; i < S::MI; i++) xg_fragment_a<S, LAY_A>(a[i], my_a, i, 0);

#pragma unroll 1
  for (unsigned piece = 0; piece < pieces; piece++) {
    unsigned next = piece + 1, ahead = piece + AHEAD, use = piece % STAGES * S::STAGE;
    unsigned fill = ahead % STAGES, stage = stages + fill * S::STAGE * 8;
    bool more = ahead < pieces, free = !more || ahead < STAGES, landed = next >= pieces;
    if (!free) free = xg_bar64_look(empty + fill * 8, (ahead / STAGES - 1) & 1);
    xg_step64<S, LAY_A, LAY_B>(sum, a, b[0], b[1], my_a + use, my_b + use, 1, [&](int i) {
      if (i == 0) {
        xg_bar64_wait(empty + fill * 8, (ahead / STAGES - 1) & 1, free);
        load_a.copy(args.a, stage, more);
        load_a.from += args.a.piece;
        if (!landed) landed = xg_bar64_look(full + next % STAGES * 8, next / STAGES & 1);
      }
    });
    xg_bar64_wait(full + next % STAGES * 8, next / STAGES & 1, landed);
    use = next % STAGES * S::STAGE; /* after the last piece some stage, of no account */
    xg_step64<S, LAY_A, LAY_B>(sum, a, b[1], b[0], my_a + use, my_b + use, 0, [&](int i) {
      if (i == 0) {
        load_b.copy(args.b, stage + S::STAGE_A * 8, more);
        load_b.from += args.b.piece;
        if (more) xg_bar64_arrive_copied(full + fill * 8);
        xg_bar64_arrive(empty + piece % STAGES * 8);
      }
    });
  }

  xg_out64 out = args.out;
  __syncthreads();
  row = (int64_t)place->row * S::BM, col = (int64_t)place->col * S::BN;
  out.c += place->place * args.part_c;
  xg_finish64<S, TURNED>(out, shared, sum, TURNED ? col : row, TURNED ? row : col, args.cluster);
}

#endif
