/* The ring of pieces in shared memory between the warps that load and those that multiply, for sm90
 * kernels, and how operands get into it.
 *
 * An operand is (outer, k), outer being m for A and n for B, and lies in the ring k by k. If its
 * outer stride is 1 and all is on 16 bytes, one thread has the copy engine bring a whole box;
 * otherwise all 128 loaders copy 4 bytes at a time. Rows of the ring are then 16 bytes longer, so
 * that copies along k too fall into different banks. */
#ifndef XG_SM90_RING_CUH
#define XG_SM90_RING_CUH

#include "ptx/cp_async.cuh"
#include "ptx/mbarrier.cuh"
#include "ptx/tma.cuh"
#include "sm90_stream.cuh"
#include "tmap.h"

enum { XG_LOADERS = 128 };

/* Pieces are numbered through all of a block's segments, modulo 2^32; piece `turn` lies in stage
 * turn % STAGES and is that stage's (turn / STAGES)-th. */
template <class S> struct xg_ring {
  uint32_t full, empty; /* the first of STAGES barriers */

  static __device__ int stage(uint32_t turn)
  {
    return turn % S::STAGES;
  }

  __device__ void wait_full(uint32_t turn) const
  {
    xg_mbarrier_wait(full + stage(turn) * 8, turn / S::STAGES & 1);
  }

  __device__ void wait_empty(uint32_t turn) const
  {
    xg_mbarrier_wait(empty + stage(turn) * 8, (turn / S::STAGES & 1) ^ 1);
  }

  __device__ void release(uint32_t turn) const
  {
    if (threadIdx.x % 32 == 0) xg_mbarrier_arrive(empty + stage(turn) * 8);
  }
};

/* ---------------------------------------------------------------- loads */

struct xg_operand {
  const float *x;
  int64_t outer, k, so, sk; /* extents, strides */
};

/* Adds, where the compiler would rather keep several pointers than make the next from the last: a
 * loader has few registers. */
__device__ inline void xg_advance(const float *&x, int64_t elements)
{
  asm volatile("add.s64 %0, %0, %1;" : "+l"(x) : "l"(elements * (int64_t)sizeof(float)));
}

/* Element-wise copies of the 128 loaders; `t` is my number among them. Of the piece, `outer` rows
 * and `steps` of k exist. Other steps become zeros; other rows stay what they were, since they end
 * in no element of C. */
template <int BX, int BK> struct xg_elements {
  static constexpr int LD = BX + 4;

  /* Unit stride along k: 8 lanes to a row, whose other copies are a constant away. */
  template <bool ROWS, bool STEPS>
  static __device__ void along_k(uint32_t to, const float *from, int64_t so, int outer, int steps,
                                 int t)
  {
    const int rows = XG_LOADERS / 8;
    int k = t % 8, row = t / 8;
    from += row * so + k;
    to += (k * LD + row) * 4;
#pragma unroll(STEPS ? BX / rows : 1)
    for (int i = 0; i < BX; i += rows) {
      if (ROWS || row + i < outer) {
#pragma unroll
        for (int kk = 0; kk < BK; kk += 8)
          if (STEPS)
            xg_cp_async_4(to + (kk * LD + i) * 4, from + kk);
          else
            xg_cp_async_4(to + (kk * LD + i) * 4, from + kk, k + kk < steps);
      }
      xg_advance(from, rows * so);
    }
  }

  /* Unit stride along outer: 32 lanes to a step of k. */
  template <bool ROWS, bool STEPS>
  static __device__ void along_outer(uint32_t to, const float *from, int64_t sk, int outer,
                                     int steps, int t)
  {
    const int warps = XG_LOADERS / 32;
    int k = t / 32, row = t % 32;
    from += row + k * sk;
    to += (k * LD + row) * 4;
#pragma unroll(STEPS ? 2 : 1)
    for (int kk = 0; kk < BK; kk += warps) {
#pragma unroll
      for (int i = 0; i < BX; i += 32)
        if (ROWS || row + i < outer) {
          if (STEPS)
            xg_cp_async_4(to + i * 4, from + i);
          else
            xg_cp_async_4(to + i * 4, from + i, k + kk < steps);
        }
      xg_advance(from, warps * sk);
      to += warps * LD * 4;
    }
  }

  static __device__ void anyhow(uint32_t to, const float *from, int64_t so, int64_t sk, int outer,
                                int steps, int t)
  {
#pragma unroll 1
    for (int i = t; i < BX * BK; i += XG_LOADERS) {
      int k = i / BX, row = i % BX;
      if (row < outer) xg_cp_async_4(to + (k * LD + row) * 4, from + row * so + k * sk, k < steps);
    }
  }

  static __device__ void copy(uint32_t to, const xg_operand &x, int64_t origin, int64_t k, int t)
  {
    const float *from = x.x + origin * x.so + k * x.sk;
    int outer = x.outer - origin < BX ? (int)(x.outer - origin) : BX;
    int steps = x.k - k < BK ? (int)(x.k - k) : BK;
    if (x.sk == 1) {
      if (steps == BK && outer == BX)
        along_k<true, true>(to, from, x.so, outer, steps, t);
      else if (steps == BK)
        along_k<false, true>(to, from, x.so, outer, steps, t);
      else
        along_k<false, false>(to, from, x.so, outer, steps, t);
    } else if (x.so == 1) {
      if (steps == BK && outer == BX)
        along_outer<true, true>(to, from, x.sk, outer, steps, t);
      else if (steps == BK)
        along_outer<false, true>(to, from, x.sk, outer, steps, t);
      else
        along_outer<false, false>(to, from, x.sk, outer, steps, t);
    } else {
      anyhow(to, from, x.so, x.sk, outer, steps, t);
    }
  }
};

#endif
