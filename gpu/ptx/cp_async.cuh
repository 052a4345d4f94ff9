/* Asynchronous copies by threads, global to shared memory (sm_80; the mbarrier form sm_90). */
#ifndef XG_PTX_CP_ASYNC_CUH
#define XG_PTX_CP_ASYNC_CUH

#include <stdint.h>

/* 4 bytes. `to` is a shared-memory address. */
__device__ inline void xg_cp_async_4(uint32_t to, const void *from)
{
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(from) : "memory");
}

/* 4 bytes, or 4 bytes of zeros without a read. */
__device__ inline void xg_cp_async_4(uint32_t to, const void *from, bool inside)
{
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from),
               "r"(inside ? 4 : 0)
               : "memory");
}

/* This thread arrives at the barrier when all its copies so far have landed. The arrival counts
 * among those that the barrier was initialised for. */
__device__ inline void xg_cp_async_arrive(uint32_t barrier)
{
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}

#endif
