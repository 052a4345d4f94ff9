/* Registers handed from one warpgroup to another (sm_90a). All four warps of a warpgroup execute
 * it together; N is a multiple of 8 in 24 .. 240. Raising waits until others have given enough. */
#ifndef XG_PTX_SETMAXNREG_CUH
#define XG_PTX_SETMAXNREG_CUH

template <int N> __device__ inline void xg_registers_give()
{
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N));
}

template <int N> __device__ inline void xg_registers_take()
{
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N));
}

#endif
