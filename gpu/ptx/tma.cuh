/* Copies of boxes by the tensor memory accelerator (sm_90). The map (gpu/tmap.h) lies in the
 * kernel's parameters; one thread starts the copy of a box, which counts its bytes off a barrier.
 * Elements outside the tensor come as zeros and count as bytes too. */
#ifndef XG_PTX_TMA_CUH
#define XG_PTX_TMA_CUH

#include <stdint.h>

/* The box with first element (inner, outer) to shared memory, whose address is a multiple of 128.
 */
__device__ inline void xg_tma_load(uint32_t to, const void *map, uint32_t barrier, int inner,
                                   int outer)
{
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
               "[%0], [%1, {%3, %4}], [%2];" ::"r"(to),
               "l"(map), "r"(barrier), "r"(inner), "r"(outer)
               : "memory");
}

/* Brings a map into the cache for maps. */
__device__ inline void xg_tma_prefetch_map(const void *map)
{
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

#endif
