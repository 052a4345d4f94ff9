/* Rung 8's asynchronous copies, which the rungs after it keep. */
#ifndef XG_LADDER_COPIES_CUH
#define XG_LADDER_COPIES_CUH

#include "../ptx/copy_groups.cuh"
#include "rung.cuh"

/* How an operand is copied. A piece lies in shared memory as the operand does, [k][outer] or
 * [outer][k], or is turned on the way, which goes element by element. */
enum xg_way {
  XG_ACROSS, /* contiguous along outer: vectors of 16 bytes, [k][outer] */
  XG_ALONG,  /* contiguous along k: vectors of 16 bytes, [outer][k] */
  XG_TURNED, /* contiguous along k: elements, [k][outer] */
  XG_ANY,    /* elements, [k][outer]; lanes run whichever way is nearer */
};

/* A thread's share of copying BX x BK pieces of an operand: as xg_piece, but past the registers. */
template <class E, int BX, int BK, int THREADS, xg_way WAY> struct xg_copies {
  static constexpr int PAD = 16 / sizeof(E), V = WAY == XG_ACROSS || WAY == XG_ALONG ? PAD : 1;
  static constexpr int ROW = (WAY == XG_ALONG ? BK : BX) + PAD;
  static constexpr int SIZE = (WAY == XG_ALONG ? BX : BK) * ROW, COUNT = BX * BK / V / THREADS;
  static_assert(BK % PAD == 0 && COUNT * THREADS == BX * BK / V, "");

  /* Where an element is in a piece. */
  static __host__ __device__ constexpr int at(int outer, int k)
  {
    return WAY == XG_ALONG ? outer * ROW + k : k * ROW + outer;
  }

  const E *from;
  int64_t step, next;
  int k, outer, k_step, o_step, to, to_step;

  __device__ xg_copies(const E *x, int64_t extent, int64_t so, int64_t sk, int64_t origin)
  {
    bool along_k = WAY == XG_ANY ? xg_nearer(sk, so) : WAY != XG_ACROSS;
    int t = threadIdx.x, o = along_k ? t / (BK / V) : t % (BX / V) * V;
    k = along_k ? t % (BK / V) * V : t / (BX / V);
    o_step = along_k ? THREADS / (BK / V) : 0, k_step = along_k ? 0 : THREADS / (BX / V);
    from = x + (origin + o) * so + k * sk, step = o_step * so + k_step * sk, next = BK * sk;
    outer = (int)(extent - origin < BX ? extent - origin : BX) - o;
    to = at(o, k), to_step = at(o_step, k_step);
  }

  /* Starts my copies of the next piece, of which `rest` steps exist. */
  __device__ void start(E *stage, int64_t rest)
  {
    int ks = rest < BK ? (int)rest : BK;
#pragma unroll
    for (int i = 0; i < COUNT; i++)
      one(stage + to + i * to_step, from + i * step, i * o_step < outer && k + i * k_step < ks);
    from += next;
  }

  /* cp.async copies 4 bytes at least. */
  static __device__ void one(E *to, const E *from, bool inside)
  {
    if constexpr (V * sizeof(E) >= 4)
      xg_copy_async<V * sizeof(E)>(to, from, inside);
    else
      *to = inside ? *from : E(0);
  }
};

#endif
