/* Loads into registers that happen or don't, by predicate: many of them shall be on their way at
 * once, and where the compiler made branches of conditions it let each load wait for the one before
 * it (f64 gemv: 2.0 instead of 3.6 TB/s). */
#ifndef XG_LOADS_CUH
#define XG_LOADS_CUH

#include "simt.cuh"

/* 16 bytes that are read once, or zeros. */
__device__ inline void xg_stream(float (&to)[4], const float *from, bool inside)
{
#pragma unroll
  for (int v = 0; v < 4; v++) to[v] = 0;
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %5, 0;\n"
               "@p ld.global.cs.v4.f32 {%0, %1, %2, %3}, [%4];\n}"
               : "+f"(to[0]), "+f"(to[1]), "+f"(to[2]), "+f"(to[3])
               : "l"(from), "r"((int)inside));
}

__device__ inline void xg_stream(double (&to)[2], const double *from, bool inside)
{
  to[0] = to[1] = 0;
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %3, 0;\n"
               "@p ld.global.cs.v2.f64 {%0, %1}, [%2];\n}"
               : "+d"(to[0]), "+d"(to[1])
               : "l"(from), "r"((int)inside));
}

/* One element, or what is in `to` already. */
__device__ inline void xg_load_if(float &to, const float *from, bool inside)
{
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %2, 0;\n@p ld.global.f32 %0, [%1];\n}"
               : "+f"(to)
               : "l"(from), "r"((int)inside));
}

__device__ inline void xg_load_if(double &to, const double *from, bool inside)
{
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %2, 0;\n@p ld.global.f64 %0, [%1];\n}"
               : "+d"(to)
               : "l"(from), "r"((int)inside));
}

/* Starts the copy of the first `have` of V neighbours into shared memory, the others become 0. By
 * elements if some exist and some don't: a 16-byte copy of fewer bytes is right, but a checker of
 * memory accesses takes it for one of 16 bytes. */
template <class T> __device__ inline void xg_copy_some(unsigned to, const T *from, int have)
{
  constexpr int V = 16 / sizeof(T), E = sizeof(T);
  if (have <= 0 || have >= V) {
    xg_copy<16>(to, from, have <= 0 ? 0 : 16);
  } else {
#pragma unroll
    for (int v = 0; v < V; v++) xg_copy<E>(to + v * E, from + v, v < have ? E : 0);
  }
}

#endif
