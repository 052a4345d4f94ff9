/* Barriers in shared memory (sm_90): a count of arrivals, and of bytes that a copy engine still has
 * to bring. A barrier's phases have parity 0, 1, 0, ...; a phase ends when all arrivals and bytes
 * of it have come. Waiting for the parity of the phase before the first one returns at once, which
 * is how a ring of empty stages starts.
 *
 * Barriers are named by their shared-memory address. */
#ifndef XG_PTX_MBARRIER_CUH
#define XG_PTX_MBARRIER_CUH

#include <stdint.h>

__device__ inline uint32_t xg_shared_address(const void *x)
{
  return (uint32_t)__cvta_generic_to_shared(x);
}

__device__ inline void xg_mbarrier_init(uint32_t barrier, int arrivals)
{
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

/* Makes initialised barriers visible to the copy engine; then the block needs its own barrier. */
__device__ inline void xg_mbarrier_fence_init()
{
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ inline void xg_mbarrier_arrive(uint32_t barrier)
{
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/* Arrives, and `bytes` more are expected in this phase. */
__device__ inline void xg_mbarrier_arrive_expect(uint32_t barrier, int bytes)
{
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

/* Whether the phase of this parity has ended; looks for a short while. */
__device__ inline bool xg_mbarrier_try(uint32_t barrier, int parity)
{
  uint32_t ended;
  asm volatile("{ .reg .pred p;\n"
               "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
               "selp.u32 %0, 1, 0, p; }"
               : "=r"(ended)
               : "r"(barrier), "r"(parity)
               : "memory");
  return ended != 0;
}

__device__ inline void xg_mbarrier_wait(uint32_t barrier, int parity)
{
  while (!xg_mbarrier_try(barrier, parity)) continue;
}

#endif
