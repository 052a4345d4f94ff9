/* Sums of parts of k added up by a kernel of their own, and the launch of kernels that may start
 * early. */
#ifndef XG_SUM_PARTS_CUH
#define XG_SUM_PARTS_CUH

#include "simt.cuh"

/* HOPPER: with leave to start before the kernel before has ended; such kernels wait for that
 * themselves, once they have worked out where to begin. */
template <bool HOPPER, class A>
int xg_launch_early(void (*kernel)(const A), A args, int64_t blocks, int threads, int shared,
                    void *stream)
{
  cudaLaunchAttribute early = {};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3((unsigned)blocks), config.blockDim = dim3((unsigned)threads);
  config.dynamicSmemBytes = (size_t)shared, config.stream = (cudaStream_t)stream;
  config.attrs = &early, config.numAttrs = HOPPER;
  if (shared > 48 * 1024) {
    cudaError_t e = cudaFuncSetAttribute((const void *)kernel,
                                         cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
    if (e) return (int)e;
  }
  void *arguments[] = {&args};
  return (int)cudaLaunchKernelExC(&config, (const void *)kernel, arguments);
}

/* C from the parts' sums, in order: a thread for 4 elements of a row. */
template <class T> struct xg_sum_parts_args {
  xg_product<T> p;        /* a: the first part's sums, rows of ld */
  unsigned parts, across; /* across: threads to a row */
  int64_t ld, part;
};

template <class T, bool HOPPER>
__global__ void __launch_bounds__(128)
    xg_parts_kernel(const __grid_constant__ xg_sum_parts_args<T> args)
{
  constexpr int V = 16 / sizeof(T);
  const xg_product<T> &p = args.p;
  unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  int64_t row = thread / args.across, col = (int64_t)(thread % args.across) * V;
  if constexpr (HOPPER) {
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  }
  if (row >= p.m) return;
  const T *from = p.a + row * args.ld + col;
  xg_vec<T> sum = *(const xg_vec<T> *)from;
#pragma unroll 8
  for (unsigned i = 1; i < args.parts; i++) {
    xg_vec<T> more = *(const xg_vec<T> *)(from + i * args.part);
#pragma unroll
    for (int v = 0; v < V; v++) sum.v[v] += more.v[v];
  }
  T *to = p.c + row * p.rs_c + col * p.cs_c;
#pragma unroll
  for (int v = 0; v < V; v++)
    if (col + v < p.n) to[v * p.cs_c] = xg_finish(p.alpha, sum.v[v], p.beta, to + v * p.cs_c);
}

#endif
