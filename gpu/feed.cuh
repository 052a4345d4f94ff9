/* How pieces of an operand come into shared memory: the copying of sliced.cuh.
 *
 * An operand is seen as (outer, k), outer being m for A and n for B. A piece is BX of outer by BK
 * of k, and lies in shared memory in one of two ways; lines are 16 bytes longer than needed, so
 * that neighbours begin in other banks:
 *
 *      k by k                                      COL: as it comes where k runs fastest
 *          k=0  [o0 o1 o2 ...          ] pad           o0  [k0 k1 k2 ... ] pad
 *          k=1  [o0 o1 o2 ...          ] pad           o1  [k0 k1 k2 ... ] pad
 *
 * Copying k by k from memory in which k runs fastest writes each element into a line of its own,
 * and cp.async then takes a pass for each line: 8 passes for 32 elements, which held up all other
 * shared memory accesses. COL leaves such an operand as it is, and the transposing is left to the
 * registers (sliced.cuh).
 *
 *      way          for                                a copy   neighbouring lanes
 *      WIDE         outer stride 1, all on 16 bytes    16 bytes  along outer
 *      OUTER        outer stride 1                     element   along outer
 *      ALONG        any other, k by k all the same     element   along k
 *      COL_WIDE     k stride 1, all on 16 bytes        16 bytes  along k
 *      COL          any other                          element   along k
 *
 * All threads take the same way, so it is a branch. What lies outside the operand is not read. */
#ifndef XG_FEED_CUH
#define XG_FEED_CUH

#include "simt.cuh"

/* Elements of a piece in shared memory. */
template <int BX, int BK, int V, bool COL>
inline constexpr int xg_piece = COL ? BX *(BK + V) : BK *(BX + V);

enum { XG_WIDE, XG_OUTER, XG_ALONG, XG_COL_WIDE, XG_COL };

/* One thread's part in copying BX x BK pieces of an operand, with GROUP threads. LO lanes lie along
 * outer and LK along k; a thread makes NO x NK copies of V elements. */
template <class T, int BX, int BK, int GROUP, int WAY> struct xg_lanes {
  static constexpr bool COL = WAY >= XG_COL_WIDE;
  static constexpr bool BY_K = WAY >= XG_ALONG; /* neighbouring lanes lie along k */
  static constexpr int V = WAY == XG_WIDE || WAY == XG_COL_WIDE ? 16 / sizeof(T) : 1;
  static constexpr int VO = BY_K ? 1 : V, VK = BY_K ? V : 1;
  static constexpr int MOST = BX / VO < 32 ? BX / VO : 32;
  static constexpr int LK = BY_K ? BK / VK : GROUP / MOST, LO = GROUP / LK;
  static constexpr int NO = BX / VO / LO, NK = BK / VK / LK;
  static constexpr int PITCH_O = COL ? BK + 16 / sizeof(T) : 1; /* in shared memory */
  static constexpr int PITCH_K = COL ? 1 : BX + 16 / sizeof(T);
  static_assert(LO * LK == GROUP && LO * NO * VO == BX && LK * NK * VK == BK, "");
};

/* Copies pass through the L1 cache: where lines don't begin on 32 bytes, a sector is needed by two.
 */
template <int SIZE> __device__ inline void xg_copy_cached(unsigned to, const void *from)
{
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(from), "n"(SIZE));
}

/* An element of four bytes, or zero. */
__device__ inline void xg_copy_or_zero(unsigned to, const void *from, bool inside)
{
  asm volatile("{.reg .pred p; setp.eq.s32 p, %2, 0;"
               "cp.async.ca.shared.global [%0], [%1], 4, p;}" ::"r"(to),
               "l"(from), "r"((int)inside));
}

/* How much of a piece exists: all; all its steps of k, but not all of outer; any part. */
enum { XG_WHOLE, XG_EDGE, XG_SOME };

/* How an operand is walked, worked out by the host: it stays in constant memory. */
template <class T> struct xg_route {
  const T *x;
  int64_t outer, so, sk; /* extent and stride of the outer dimension, stride of k */
  int64_t next;          /* bytes from a slice's piece to its next */
  int64_t step;          /* and between a thread's copies, across the unit stride */
  int way;
};

/* The value of x, which ptxas can't work out again: it would do so in each piece, from scratch. */
__device__ inline unsigned xg_keep(unsigned x)
{
  return __shfl_sync(0xffffffff, x, (int)threadIdx.x % 32);
}

template <class T, int BX, int BK, int GROUP, bool COL> struct xg_feeder {
  const xg_route<T> &route;
  const char *from;
  unsigned to; /* my first copy's address in the first stage */

  template <int WAY> using lanes = xg_lanes<T, BX, BK, GROUP, WAY>;

  static xg_route<T> plan(const T *x, int64_t outer, int64_t so, int64_t sk, int64_t k,
                          int64_t stride)
  {
    int way = COL                     ? (xg_wide(x, sk, so, outer) ? XG_COL_WIDE : XG_COL)
              : xg_wide(x, so, sk, k) ? XG_WIDE
              : so == 1               ? XG_OUTER
                                      : XG_ALONG;
    int64_t step = way == XG_WIDE       ? lanes<XG_WIDE>::LK * sk
                   : way == XG_OUTER    ? lanes<XG_OUTER>::LK * sk
                   : way == XG_COL_WIDE ? lanes<XG_COL_WIDE>::LO * so
                                        : lanes<XG_ALONG>::LO * so;
    return {x, outer, so, sk, stride * sk * (int)sizeof(T), step * (int)sizeof(T), way};
  }

  template <int WAY> __device__ static int outer_of(int t)
  {
    return lanes<WAY>::BY_K ? t / lanes<WAY>::LK : t % lanes<WAY>::LO * lanes<WAY>::VO;
  }
  template <int WAY> __device__ static int k_of(int t)
  {
    return lanes<WAY>::BY_K ? t % lanes<WAY>::LK * lanes<WAY>::VK : t / lanes<WAY>::LO;
  }

  template <int WAY> __device__ void begin(int64_t origin, int64_t first, unsigned stage)
  {
    using L = lanes<WAY>;
    int t = (int)threadIdx.x % GROUP, o = outer_of<WAY>(t), k = k_of<WAY>(t);
    from = (const char *)(route.x + (origin + o) * route.so + (first + k) * route.sk);
    to = xg_keep(stage + (unsigned)(k * L::PITCH_K + o * L::PITCH_O) * (unsigned)sizeof(T));
  }

  __device__ xg_feeder(const xg_route<T> &r, int64_t origin, int64_t first, unsigned stage)
      : route(r)
  {
    if (COL && r.way == XG_COL_WIDE)
      begin<XG_COL_WIDE>(origin, first, stage);
    else if (COL)
      begin<XG_COL>(origin, first, stage);
    else if (r.way == XG_WIDE)
      begin<XG_WIDE>(origin, first, stage);
    else if (r.way == XG_OUTER)
      begin<XG_OUTER>(origin, first, stage);
    else
      begin<XG_ALONG>(origin, first, stage);
  }

  static constexpr int BEST = COL ? XG_COL_WIDE : XG_WIDE;

  /* Starts my copies of the next piece, to the stage at `offset`; all of it exists, and it is
   * copied the best way. */
  __device__ void copy_best(unsigned offset)
  {
    copy_as<BEST, XG_WHOLE>(offset, BX, BK);
    from += route.next;
  }

  /* The same of any piece, of which `extent` elements along outer and `steps` of k exist. */
  template <int HOW> __device__ void copy(unsigned offset, int extent, int steps)
  {
    if (!COL && route.way == XG_WIDE && (HOW == XG_SOME || extent % (16 / (int)sizeof(T))))
      copy_as<XG_WIDE, XG_SOME>(offset, extent, steps);
    else if (route.way == BEST)
      copy_as<BEST, HOW>(offset, extent, steps);
    else if (COL)
      copy_as<XG_COL, HOW>(offset, extent, steps);
    else if (route.way == XG_OUTER)
      copy_as<XG_OUTER, HOW>(offset, extent, steps);
    else
      copy_as<XG_ALONG, HOW>(offset, extent, steps);
    from += route.next;
  }

  /* Steps outside the operand are set to 0. Elements outside along outer are left as they are in
   * shared memory: they only get into sums that lie outside C. */
  template <int WAY, int HOW> __device__ void copy_as(unsigned offset, int extent, int steps)
  {
    using L = lanes<WAY>;
    constexpr int E = sizeof(T), LINES = L::BY_K ? L::NO : L::NK, EACH = L::BY_K ? L::NK : L::NO;
    const char *line = from;
    unsigned t; /* read anew, else what follows from it waits in registers all through the loop */
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(t));
    int left = extent - outer_of<WAY>((int)t % GROUP), ks = steps - k_of<WAY>((int)t % GROUP);
#pragma unroll HOW == XG_SOME ? 2 : 8 /* ptxas works out all addresses first, in registers */
    for (int i = 0; i < LINES; i++) {
#pragma unroll
      for (int j = 0; j < EACH; j++) { /* along the unit stride, where steps are constants */
        const int o = (L::BY_K ? i : j) * L::LO * L::VO, kk = (L::BY_K ? j : i) * L::LK * L::VK;
        unsigned address = to + offset + (unsigned)(kk * L::PITCH_K + o * L::PITCH_O) * E;
        const char *x = line + (L::BY_K ? kk : o) * E;
        int count = L::BY_K ? (o < left ? ks - kk : 0) : (kk < ks ? left - o : 0);
        if (HOW == XG_SOME)
#pragma unroll
          for (int v = 0; v < L::V; v++) /* nothing beyond the last element is touched */
            xg_copy_or_zero(address + (unsigned)v * E, x + v * E, v < count);
        else if (HOW == XG_WHOLE || o < left)
          xg_copy_cached<L::V * E>(address, x);
      }
      line += route.step;
    }
  }
};

#endif
