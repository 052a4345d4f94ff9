/* Register-blocked product on the FMA units whose threads share out k too: for products with few or
 * small tiles.
 *
 * A tile small enough that every multiprocessor gets one has too few threads to keep it busy, if
 * each thread is to hold the 8 x 8 sums that spare shared memory. So k is dealt out, piece by piece
 * of BK steps, to SLICES groups of threads, each of which sums the whole tile:
 *
 *      k   0    BK   2BK  3BK  4BK  ...
 *          +----+----+----+----+----+----        a slice: its own ring of STAGES pieces in shared
 *          | 0  | 1  | 2  | 0  | 1  |            memory, its own barrier, as independent as blocks
 *          +----+----+----+----+----+----        of their own would be
 *
 * At the end the slices' sums go to shared memory and are added in the order of the slices. Where
 * even so there are multiprocessors to spare, k is dealt out to several blocks as well, whose sums
 * go to the workspace and are added by a second kernel (sum_parts.cuh). The order of additions
 * follows from kernel, shape and number of multiprocessors.
 *
 * Registers. The register file has two banks, of even and of odd registers; an FMA whose three
 * operands are in one bank takes two cycles. A 16-byte load puts the elements of B into even, odd,
 * even, odd registers. The sums are loaded (as zeros) and stored with neighbours exchanged, so
 * column j's sum is always in the other bank than column j's element of B. That needs registers to
 * spare: with 168 a thread 0 to 6 of 1044 FMAs have all operands in one bank, with 128, where ptxas
 * moves sums about, 160 to 450. Hence 12 warps on a multiprocessor, not 16.
 *
 * An operand in which k runs fastest is read 4 steps at a time (COL, feed.cuh), which takes 32
 * registers in place of 8. Both operands so would be too many.
 *
 * HOPPER: the next kernel of the stream may start while this one runs, and waits with its first
 * read until it has ended (programmatic dependent launch): 1 us less from one to the next.
 */
#ifndef XG_SLICED_CUH
#define XG_SLICED_CUH

#include "feed.cuh"
#include "sum_parts.cuh"

template <class T_, int BM_, int BN_, int BK_, int TM_, int TN_, int SLICES_, int STAGES_,
          int BLOCKS_, bool HOPPER_>
struct xg_sliced {
  using T = T_;
  static constexpr int BM = BM_, BN = BN_, BK = BK_, TM = TM_, TN = TN_;
  static constexpr int SLICES = SLICES_, STAGES = STAGES_, BLOCKS = BLOCKS_;
  static constexpr bool HOPPER = HOPPER_; /* clusters, and starting before the kernel before ends */
  static constexpr int V = 16 / sizeof(T);
  static constexpr int WM = TM * XG_LANE_ROWS, WN = TN * XG_LANE_COLS;
  static constexpr int GROUP = (BM / WM) * (BN / WN) * 32; /* threads of a slice */
  static constexpr int THREADS = GROUP * SLICES;
  static constexpr int LDC = BN + V, SLAB = BM * LDC;
  static_assert(BM % WM == 0 && BN % WN == 0 && TM % V == 0 && TN % V == 0 && BK % 8 == 0, "");

  template <bool COL> static constexpr int PIECE_A = xg_piece<BM, BK, V, COL>;
  template <bool COL> static constexpr int PIECE_B = xg_piece<BN, BK, V, COL>;
  template <bool A, bool B> static constexpr int STAGE = PIECE_A<A> + PIECE_B<B>;
  template <bool A, bool B>
  static constexpr int SHARED_OF = SLICES *(STAGES *STAGE<A, B> > SLAB ? STAGES * STAGE<A, B>
                                                                       : SLAB) *
                                   (int)sizeof(T);
  static constexpr int SHARED = SHARED_OF<true, false> > SHARED_OF<false, true>
                                    ? SHARED_OF<true, false>
                                    : SHARED_OF<false, true>;
};

template <class S, bool COL>
using xg_feeder_a = xg_feeder<typename S::T, S::BM, S::BK, S::GROUP, COL>;
template <class S, bool COL>
using xg_feeder_b = xg_feeder<typename S::T, S::BN, S::BK, S::GROUP, COL>;

/* ---------------------------------------------------------------- the kernel */

template <class T> struct xg_sliced_args {
  xg_product<T> p;
  xg_route<T> a, b;
  unsigned tiles, rows, cols; /* of C */
  unsigned pieces;            /* of BK steps of k */
  unsigned parts;             /* blocks that share a tile, each with a C of its own */
  int64_t part;               /* elements between those */
};

/* xg_tile_of() in 32 bits: a 64-bit division is 100 instructions, before the first load. */
struct xg_place {
  unsigned row, col;
};

__device__ inline xg_place xg_place_of(unsigned block, unsigned rows, unsigned cols)
{
  unsigned band = rows < 8 ? rows : 8;
  unsigned first = block / (band * cols) * band, within = block - first * cols;
  unsigned height = rows - first < band ? rows - first : band;
  return {first + within % height, within / height};
}

/* Until the threads of my slice are here, at its barrier. */
template <class S> __device__ inline void xg_slice_sync(unsigned barrier)
{
  if (S::GROUP == 32)
    __syncwarp();
  else
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "n"(S::GROUP) : "memory");
}

/* A slice's pieces: how many are still to be copied, and what of them exists. */
template <class S, bool COL_A, bool COL_B> struct xg_supply {
  xg_feeder_a<S, COL_A> a;
  xg_feeder_b<S, COL_B> b;
  int left;
  int plain;        /* down to so many pieces left, all exists and is copied the best way */
  unsigned extents; /* of the tile in rows, columns; steps of the last piece */

  __device__ xg_supply(const xg_sliced_args<typename S::T> &args, int64_t row, int64_t col,
                       unsigned mine, unsigned slices, unsigned ring)
      : a(args.a, row, (int64_t)mine * S::BK, ring),
        b(args.b, col, (int64_t)mine * S::BK,
          ring + (unsigned)S::template PIECE_A<COL_A> * (unsigned)sizeof(typename S::T))
  {
    unsigned end = args.pieces - 1;
    left = mine <= end ? (int)((end - mine) / slices + 1) : 0;
    bool with_last = left && mine + (unsigned)(left - 1) * slices == end;
    int last = with_last ? (int)(args.p.k - (int64_t)end * S::BK) : S::BK;
    int rows = args.a.outer - row < S::BM ? (int)(args.a.outer - row) : S::BM;
    int cols = args.b.outer - col < S::BN ? (int)(args.b.outer - col) : S::BN;
    bool best = a.route.way == a.BEST && b.route.way == b.BEST;
    extents = xg_keep((unsigned)(rows << 16 | cols << 8 | last));
    plain = (int)xg_keep(!best || rows < S::BM || cols < S::BN ? 0x7fffffff : last < S::BK);
  }

  /* The next piece, if there is one. */
  __device__ void copy(unsigned offset)
  {
    if (left > plain) {
      a.copy_best(offset), b.copy_best(offset);
    } else if (left > 0) {
      int rows = (int)(extents >> 16), cols = (int)(extents >> 8 & 255);
      int steps = left == 1 ? (int)(extents & 255) : S::BK;
      if (steps < S::BK) {
        a.template copy<XG_SOME>(offset, rows, steps);
        b.template copy<XG_SOME>(offset, cols, steps);
      } else if (rows < S::BM || cols < S::BN) {
        a.template copy<XG_EDGE>(offset, rows, steps);
        b.template copy<XG_EDGE>(offset, cols, steps);
      } else {
        a.template copy<XG_WHOLE>(offset, S::BM, S::BK);
        b.template copy<XG_WHOLE>(offset, S::BN, S::BK);
      }
    }
    left--;
    xg_copies_end();
  }
};

/* 16 bytes of shared memory. */
__device__ inline void xg_read(float *to, unsigned from)
{
  asm volatile("ld.shared.v4.f32 {%0,%1,%2,%3}, [%4];"
               : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
               : "r"(from));
}

/* A lane's TX elements of an operand for a step of k, in two buffers if BUFFERS is 2. LANES lanes
 * share the warp's tile. Stored k by k, a lane has groups of V neighbours and reads a group for
 * one step; stored along k, it has every LANESth element and reads V steps of one. */
template <class T, int BX, int BK, int TX, int LANES, bool COL, int BUFFERS> struct xg_fragment_of {
  static constexpr int V = 16 / sizeof(T), E = sizeof(T);
  T x[BUFFERS][COL ? TX : 1][COL ? V : TX];

  __device__ static int first(int lane)
  {
    return COL ? lane : lane * V;
  }
  __device__ static int place(int i) /* of element i, from the first */
  {
    return COL ? i * LANES : i / V * LANES * V + i % V;
  }
  __device__ static unsigned offset(int row) /* of the first one, in a piece */
  {
    return (unsigned)(row * (COL ? BK + V : 1)) * E;
  }

  __device__ T at(int step, int i) const
  {
    return COL ? x[step / V % BUFFERS][i][step % V] : x[step % BUFFERS][0][i];
  }
  /* What may be read for `step` once element i is done with. */
  __device__ void read(int step, int i, unsigned piece)
  {
    if (COL && step % V == 0)
      xg_read(x[step / V % BUFFERS][i], piece + (unsigned)(i * LANES * (BK + V) + step) * E);
    if (!COL && i % V == V - 1)
      xg_read(x[step % BUFFERS][0] + i - (V - 1),
              piece + (unsigned)(step * (BX + V) + i / V * LANES * V) * E);
  }
};

/* My sums of the slice's pieces, the first STAGES - 1 of which are on their way.
 *
 * While one step of k is added up, the elements for the next are read. An operand that is read 4
 * steps at a time has one set of registers all the same: the outer loop runs over its elements, and
 * each is read again after its last use. */
template <class S, bool COL_A, bool COL_B> struct xg_inner {
  using T = typename S::T;
  static constexpr int TM = S::TM, TN = S::TN, V = S::V, BK = S::BK, STAGES = S::STAGES;
  static constexpr bool ROLL_A = COL_A && TM * TN == 64, ROLL_B = COL_B && TM * TN == 64;
  using frag_a = xg_fragment_of<T, S::BM, BK, TM, XG_LANE_ROWS, COL_A, ROLL_A ? 1 : 2>;
  using frag_b = xg_fragment_of<T, S::BN, BK, TN, XG_LANE_COLS, COL_B, ROLL_B ? 1 : 2>;

  frag_a a;
  frag_b b;
  unsigned piece_a, piece_b; /* in shared memory, my first elements of the piece in use */
  unsigned use;              /* where its stage is */

  __device__ xg_inner(unsigned ring, int row, int col)
      : piece_a(xg_keep(ring + frag_a::offset(row))),
        piece_b(xg_keep(ring + (unsigned)S::template PIECE_A<COL_A> * (unsigned)sizeof(T) +
                        frag_b::offset(col))),
        use(0)
  {
  }

  /* The next piece has come, and all are done reading this one. */
  __device__ void next_piece(unsigned barrier)
  {
    constexpr unsigned STAGE = (unsigned)S::template STAGE<COL_A, COL_B> * (unsigned)sizeof(T);
    xg_copies_wait<STAGES - 2>();
    xg_slice_sync<S>(barrier);
    unsigned step = use == (STAGES - 1) * STAGE ? 0u - (STAGES - 1) * STAGE : STAGE;
    use += step, piece_a += step, piece_b += step;
  }

  __device__ void read_a(int step)
  {
#pragma unroll
    for (int i = 0; i < TM; i++) a.read(step, i, piece_a);
  }
  __device__ void read_b(int step)
  {
#pragma unroll
    for (int j = 0; j < TN; j++) b.read(step, j, piece_b);
  }

  /* There and back: the register file gives the element of the outer loop once for all of the inner
   * one, and at the turn that of the inner one once for two. */
  __device__ void add(xg_sums<S> &sum, int step, int next)
  {
    constexpr int OUTER = ROLL_B ? TN : TM, INNER = ROLL_B ? TM : TN;
#pragma unroll
    for (int o = 0; o < OUTER; o++) {
#pragma unroll
      for (int n = 0; n < INNER; n++) {
        int in = o % 2 ? INNER - 1 - n : n, i = ROLL_B ? in : o, j = ROLL_B ? o : in;
        sum.at[i][j] = fma(a.at(step, i), b.at(step, j), sum.at[i][j]);
      }
      if (ROLL_A) a.read(next, o, piece_a);
      if (ROLL_B) b.read(next, o, piece_b);
    }
  }

  /* Sums of zero, from shared memory. The register file has two banks, even and odd; an FMA whose
   * three operands are in the same one takes two cycles. Vectors begin at even registers, so B's
   * elements are in even, odd, even, odd ones. The sums are loaded here, and stored below, with
   * neighbours exchanged, which puts them into odd, even, odd, even ones: always the other bank. */
  __device__ static void clear(xg_sums<S> &sum, unsigned zeros)
  {
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
      for (int j = 0; j < TN; j += V) {
        T x[V];
        xg_read(x, zeros);
#pragma unroll
        for (int v = 0; v < V; v++) sum.at[i][j + v] = x[v ^ 1];
      }
  }

  template <class SUPPLY> __device__ void run(xg_sums<S> &sum, SUPPLY &supply, unsigned barrier)
  {
    constexpr unsigned STAGE = (unsigned)S::template STAGE<COL_A, COL_B> * (unsigned)sizeof(T);
    xg_copies_wait<STAGES - 2>();
    xg_slice_sync<S>(barrier);
    read_a(0), read_b(0);
    while (supply.left > -(STAGES - 1)) {
      /* the stage used before this one is free: refill it */
      supply.copy(use == 0 ? (STAGES - 1) * STAGE : use - STAGE);
#pragma unroll
      for (int step = 0; step < BK; step++) {
        int next = (step + 1) % BK;
        if (next == 0) next_piece(barrier);
        if (!ROLL_A) read_a(next);
        if (!ROLL_B) read_b(next);
        add(sum, step, next);
      }
    }
  }

  /* The sums to the slice's slab in shared memory, columns c and c^1 exchanged. */
  __device__ static void store(T *slab, const xg_sums<S> &sum, int row, int col)
  {
#pragma unroll
    for (int i = 0; i < TM; i++) {
      T *to = slab + (row + frag_a::place(i)) * S::LDC;
#pragma unroll
      for (int j = 0; j < TN; j += COL_B ? 1 : V) {
        int at = col + frag_b::place(j);
        if (COL_B)
          to[at ^ 1] = sum.at[i][j];
        else
          *(xg_vec<T> *)(to + at) = {sum.at[i][j + 1], sum.at[i][j], sum.at[i][j + 3],
                                     sum.at[i][j + 2]};
      }
    }
  }
};

/* C, as far as this block has to do with it: its tile and its part of k. */
struct xg_spot {
  unsigned row, col, part;
};

template <class T> struct xg_share {
  T *c;
  int64_t row, col; /* of the tile's first element */
};

template <class S>
__device__ inline xg_share<typename S::T> xg_share_of(const xg_sliced_args<typename S::T> &args,
                                                      xg_spot x)
{
  return {args.p.c + x.part * args.part, (int64_t)x.row * S::BM, (int64_t)x.col * S::BN};
}

/* The slabs into C, W elements at a time. What beta needs of a few rows is read before any of them
 * is written: the compiler, which can't know that they differ, would wait for each. */
template <class S, int W>
__device__ inline void xg_write(const xg_product<typename S::T> &p,
                                const xg_share<typename S::T> &to, const typename S::T *slabs)
{
  using T = typename S::T;
  struct alignas(W * sizeof(T)) vec {
    T v[W];
  };
  constexpr int ROW = S::BN / W, STEP = S::THREADS / ROW, BATCH = 4;
  static_assert(S::THREADS % ROW == 0 && (W == 1 || W % 2 == 0), "");
  int c = (int)threadIdx.x % ROW * W, rows = p.m - to.row < S::BM ? (int)(p.m - to.row) : S::BM;
  if (to.col + c >= p.n) return;
  int64_t step = STEP * p.rs_c;
  T *at = to.c + (to.row + threadIdx.x / ROW) * p.rs_c + (to.col + c) * p.cs_c;
  for (int r = (int)threadIdx.x / ROW; r < rows; r += BATCH * STEP) {
    vec x[BATCH];
#pragma unroll
    for (int i = 0; i < BATCH; i++)
      if (p.beta != 0 && r + i * STEP < rows) x[i] = *(const vec *)(at + i * step);
#pragma unroll
    for (int i = 0; i < BATCH; i++) {
      if (r + i * STEP >= rows) break;
      const T *from = slabs + (r + i * STEP) * S::LDC + (W == 1 ? c ^ 1 : c);
      vec sum = *(const vec *)from;
#pragma unroll
      for (int s = 1; s < S::SLICES; s++) {
        vec more = *(const vec *)(from + s * S::SLAB);
#pragma unroll
        for (int v = 0; v < W; v++) sum.v[v] += more.v[v];
      }
#pragma unroll
      for (int v = 0; v < W; v++)
        x[i].v[v] = xg_finish(p.alpha, sum.v[W == 1 ? 0 : v ^ 1], p.beta, &x[i].v[v]);
      *(vec *)(at + i * step) = x[i];
    }
    at += BATCH * step;
  }
}

template <class S>
__device__ inline void xg_tile_out(const xg_product<typename S::T> &p,
                                   const xg_share<typename S::T> &to, const typename S::T *slabs)
{
  if (p.cs_c == 1 && p.rs_c % S::V == 0 && p.n % S::V == 0 && (size_t)to.c % 16 == 0)
    xg_write<S, S::V>(p, to, slabs);
  else
    xg_write<S, 1>(p, to, slabs);
}

/* Starts what beta will need on its way to the L2 cache. */
template <class S>
__device__ inline void xg_expect(const xg_product<typename S::T> &p,
                                 const xg_share<typename S::T> &to)
{
  constexpr int LINE = 128 / sizeof(typename S::T), LINES = (S::BN + LINE - 1) / LINE;
  if (p.beta == 0 || p.cs_c != 1) return;
  for (int i = (int)threadIdx.x; i < S::BM * LINES; i += S::THREADS) {
    int64_t row = to.row + i / LINES, col = to.col + i % LINES * LINE;
    if (row < p.m && col < p.n)
      asm volatile("prefetch.global.L2 [%0];" ::"l"(to.c + row * p.rs_c + col));
  }
}

template <class S, bool COL_A, bool COL_B>
__global__ void __launch_bounds__(S::THREADS, S::BLOCKS)
    xg_sliced_kernel(const __grid_constant__ xg_sliced_args<typename S::T> args)
{
  using T = typename S::T;
  extern __shared__ __align__(16) unsigned char xg_dynamic[];
  T *shared = (T *)xg_dynamic;
  const xg_product<T> &p = args.p;

  int slice = (int)threadIdx.x / S::GROUP, t = (int)threadIdx.x % S::GROUP;
  unsigned part = blockIdx.x / args.tiles;
  xg_place tile = xg_place_of(blockIdx.x - part * args.tiles, args.rows, args.cols);
  int64_t row = (int64_t)tile.row * S::BM, col = (int64_t)tile.col * S::BN;

  /* Pieces are dealt out one by one to all slices that work on the tile. */
  unsigned slices = args.parts * S::SLICES, mine = part * S::SLICES + (unsigned)slice;
  constexpr int STAGE = S::template STAGE<COL_A, COL_B>;
  unsigned ring = (unsigned)__cvta_generic_to_shared(shared + slice * S::STAGES * STAGE);
  unsigned barrier = xg_keep((unsigned)slice + 1);
  xg_supply<S, COL_A, COL_B> supply(args, row, col, mine, slices, ring);

  if constexpr (S::HOPPER) {
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  }
  for (int s = 0; s < S::STAGES - 1; s++) supply.copy((unsigned)(s * STAGE) * (unsigned)sizeof(T));
  xg_expect<S>(p, xg_share_of<S>(args, {tile.row, tile.col, part}));
  __shared__ xg_spot spot; /* not in registers meanwhile */
  if (threadIdx.x == 0) spot = {tile.row, tile.col, part};

  using inner = xg_inner<S, COL_A, COL_B>;
  int warp = t / 32, lane = t % 32;
  int lane_row = lane / 16 * 2 + lane % 2, lane_col = lane % 16 / 2;
  int my_row = warp / (S::BN / S::WN) * S::WM + inner::frag_a::first(lane_row);
  int my_col = warp % (S::BN / S::WN) * S::WN + inner::frag_b::first(lane_col);
  __shared__ xg_vec<T> zeros[S::THREADS / 32];
  if (lane == 0) zeros[threadIdx.x / 32] = {};
  __syncwarp();
  xg_sums<S> sum;
  inner::clear(sum, (unsigned)__cvta_generic_to_shared(zeros + threadIdx.x / 32));
  inner(ring, my_row, my_col).run(sum, supply, barrier);

  xg_copies_wait<0>();
  __syncthreads();
  inner::store(shared + slice * S::SLAB, sum, my_row, my_col);
  __syncthreads();
  xg_tile_out<S>(p, xg_share_of<S>(args, spot), shared);
}

/* ---------------------------------------------------------------- launching */

/* Parts that k is cut into. What counts is how many parts the multiprocessor with most of them has,
 * each 1/parts of a tile: with 48 tiles for 132, two parts give 1/2, five 2/5. A block that has a
 * multiprocessor to itself reaches about 0.85 of what it can do with others. Adding the parts up
 * takes a kernel of its own; a slice shall have 4 pieces at least. */
template <class S> int xg_sliced_split(const xg_gkr_args *x)
{
  const double lone = 0.85, launch = 2.5e-6, bandwidth = 1.5e12; /* of the workspace */
  const double step = 2.0 * S::BM * S::BN / 350e9; /* of k, on one multiprocessor: seconds */
  xg_product<typename S::T> p = xg_rows_contiguous<typename S::T>(x);
  int64_t tiles = xg_blocks(p, S::BM, S::BN), sms = x->sms > 0 ? x->sms : 1;
  int64_t most = xg_tiles(p.k, S::BK) / (4 * S::SLICES), room = S::BLOCKS * sms / tiles;
  if (most > room) most = room;
  double c_seconds = (double)p.m * (double)p.n * sizeof(typename S::T) / bandwidth, best = 0;
  int parts = 1;
  for (int s = 1; s == 1 || s <= most; s++) {
    double each = (double)xg_tiles(tiles * s, (int)sms);
    double rate = each >= S::BLOCKS ? 1 : lone + (1 - lone) * (each - 1) / S::BLOCKS;
    double time = each / s * (double)p.k * step / rate;
    if (s > 1) time += launch + (s + 1) * c_seconds;
    if (s == 1 || time < best) best = time, parts = s;
  }
  return parts;
}

/* Each part's sums have rows of a multiple of 16 bytes. */
template <class S> int64_t xg_part_ld(const xg_product<typename S::T> &p)
{
  return xg_tiles(p.n, S::V) * S::V;
}

template <class S> size_t xg_sliced_workspace(const xg_gkr_args *x)
{
  int parts = xg_sliced_split<S>(x);
  if (parts == 1) return 0;
  xg_product<typename S::T> p = xg_rows_contiguous<typename S::T>(x);
  return (size_t)parts * (size_t)(p.m * xg_part_ld<S>(p)) * sizeof(typename S::T);
}

template <class S> using xg_sliced_function_type = void (*)(const xg_sliced_args<typename S::T>);

/* Whether an operand stays as it comes, along k. Not both: that takes too many registers. */
struct xg_layouts {
  bool col_a, col_b;
};

template <class T> xg_layouts xg_layouts_of(const xg_product<T> &p)
{
  bool a = p.cs_a == 1 && !xg_wide_a(p) && p.rs_a != 1;
  bool b = p.rs_b == 1 && !xg_wide_b(p) && p.cs_b != 1;
  return {a, b && !a};
}

/* The kernel for a product's layouts. */
template <class S> xg_sliced_function_type<S> xg_sliced_for(const xg_product<typename S::T> &p)
{
  xg_layouts l = xg_layouts_of(p);
  return l.col_a   ? xg_sliced_kernel<S, true, false>
         : l.col_b ? xg_sliced_kernel<S, false, true>
                   : xg_sliced_kernel<S, false, false>;
}

template <class S> const void *xg_sliced_function(const xg_gkr_args *x)
{
  return (const void *)xg_sliced_for<S>(xg_rows_contiguous<typename S::T>(x));
}

template <class S> int xg_sliced_launch(const xg_gkr_args *x, void *stream)
{
  using T = typename S::T;
  xg_product<T> p = xg_rows_contiguous<T>(x);
  xg_layouts l = xg_layouts_of(p);
  int parts = xg_sliced_split<S>(x);
  int64_t stride = (int64_t)parts * S::SLICES * S::BK;
  xg_sliced_args<T> args = {};
  args.p = p;
  args.a = l.col_a ? xg_feeder_a<S, true>::plan(p.a, p.m, p.rs_a, p.cs_a, p.k, stride)
                   : xg_feeder_a<S, false>::plan(p.a, p.m, p.rs_a, p.cs_a, p.k, stride);
  args.b = l.col_b ? xg_feeder_b<S, true>::plan(p.b, p.n, p.cs_b, p.rs_b, p.k, stride)
                   : xg_feeder_b<S, false>::plan(p.b, p.n, p.cs_b, p.rs_b, p.k, stride);
  args.rows = (unsigned)xg_tiles(p.m, S::BM), args.cols = (unsigned)xg_tiles(p.n, S::BN);
  args.tiles = args.rows * args.cols, args.parts = (unsigned)parts;
  args.pieces = (unsigned)xg_tiles(p.k, S::BK);
  int64_t ld = xg_part_ld<S>(p);
  if (parts > 1) {
    args.p.c = (T *)x->workspace, args.p.rs_c = ld, args.p.cs_c = 1, args.part = p.m * ld;
    args.p.n = ld; /* whole vectors: what is beyond n is of no use, and of no harm */
    args.p.alpha = 1, args.p.beta = 0;
  }
  int shared = l.col_a   ? S::template SHARED_OF<true, false>
               : l.col_b ? S::template SHARED_OF<false, true>
                         : S::template SHARED_OF<false, false>;
  int e = xg_launch_early<S::HOPPER>(xg_sliced_for<S>(p), args, (int64_t)args.tiles * parts,
                                     S::THREADS, shared, stream);
  if (e || parts == 1) return e;
  xg_sum_parts_args<T> sums = {p, (unsigned)parts, (unsigned)(ld / S::V), ld, args.part};
  sums.p.a = (const T *)x->workspace;
  return xg_launch_early<S::HOPPER>(xg_parts_kernel<T, S::HOPPER>, sums,
                                    xg_tiles(p.m * sums.across, 128), 128, 0, stream);
}

/* Where a kernel of this shape can be used. */
template <class S> const char *xg_sliced_ok(const xg_gkr_args *x)
{
  if (xg_tiles(x->k, S::BK) > 0x3fffffff) return "k has more pieces than are counted";
  return xg_grid_ok(x, S::BM, S::BN);
}

#endif
