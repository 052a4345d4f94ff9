/* k cut in parts, for products with too few tiles of C to fill the card: each part's sums go to the
 * workspace, and a second kernel adds them in the order of the parts and writes C.
 *
 *   workspace:  part 0 | part 1 | ...      each m n elements
 *
 * On cc 9.0 every kernel launched from here is launched programmatically: its blocks take their
 * places as those of the kernel before it in the stream end, and wait there (griddepcontrol.wait)
 * until that kernel's results can be seen. */
#ifndef XG_PARTS_CUH
#define XG_PARTS_CUH

#include "launch.cuh"

template <class T> struct xg_parts {
  int count;
  int64_t steps;  /* of k in a part; the last has what is left */
  int by_columns; /* neighbours in the workspace are neighbours along n, not m */
  T *sums;
};

/* A is the longer of the two. */
template <class T> xg_product<T> xg_long_first(const xg_gkr_args *x)
{
  return xg_product_of<T>(x, x->n > x->m);
}

template <class T>
xg_parts<T> xg_parts_of(const xg_product<T> &p, int count, int64_t steps, void *workspace)
{
  int64_t row = p.rs_c < 0 ? -p.rs_c : p.rs_c, col = p.cs_c < 0 ? -p.cs_c : p.cs_c;
  return {count, steps, col < row, (T *)workspace};
}

template <class T> size_t xg_parts_bytes(const xg_product<T> &p, int count)
{
  return count > 1 ? sizeof(T) * (size_t)count * (size_t)p.m * (size_t)p.n : 0;
}

/* First in every kernel launched from here. */
__device__ inline void xg_parts_begin()
{
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* One sum of a part. */
template <class T>
__device__ inline void xg_parts_out(const xg_product<T> &p, const xg_parts<T> &parts, int part,
                                    int64_t i, int64_t j, T sum)
{
  if (parts.count > 1) {
    int64_t at = parts.by_columns ? i * p.n + j : j * p.m + i;
    parts.sums[part * (p.m * p.n) + at] = sum;
  } else {
    T *c = p.c + i * p.rs_c + j * p.cs_c;
    *c = xg_finish(p.alpha, sum, p.beta, c);
  }
}

enum { XG_PARTS_THREADS = 256, XG_PARTS_MANY = 16 };

template <class T> struct xg_parts_args {
  xg_product<T> p;
  xg_parts<T> parts;
};

/* GROUPS threads for an element, each taking every GROUPS-th part. */
template <class T, int GROUPS>
__global__ void __launch_bounds__(XG_PARTS_THREADS)
    xg_parts_add(const __grid_constant__ xg_parts_args<T> x)
{
  constexpr int EACH = XG_PARTS_THREADS / GROUPS; /* elements of a block */
  __shared__ T shared[GROUPS][EACH];
  int group = (int)threadIdx.x / EACH, lane = (int)threadIdx.x % EACH;
  const xg_product<T> &p = x.p;
  int64_t all = p.m * p.n, at = blockIdx.x * (int64_t)EACH + lane;
  xg_parts_begin();
  T sum = 0;
  if (at < all) {
    const T *from = x.parts.sums + at;
#pragma unroll 4
    for (int part = group; part < x.parts.count; part += GROUPS) sum += __ldcg(from + part * all);
  }
  if (GROUPS > 1) {
    shared[group][lane] = sum;
    __syncthreads();
    if (group > 0) return;
#pragma unroll
    for (int g = 1; g < GROUPS; g++) sum += shared[g][lane];
  }
  if (at >= all) return;
  int64_t i = x.parts.by_columns ? at / p.n : at % p.m;
  int64_t j = x.parts.by_columns ? at % p.n : at / p.m;
  T *c = p.c + i * p.rs_c + j * p.cs_c;
  *c = xg_finish(p.alpha, sum, p.beta, c);
}

/* ---------------------------------------------------------------- host */

inline int xg_parts_start(const void *kernel, void *args, int64_t blocks, int threads, int shared,
                          void *stream)
{
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3((unsigned)blocks), config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared, config.stream = (cudaStream_t)stream;
  config.attrs = &attribute, config.numAttrs = xg_may_start_early();
  void *arguments[] = {args};
  return (int)cudaLaunchKernelExC(&config, kernel, arguments);
}

/* The kernel that makes the sums, and the one that adds them. */
template <class T>
int xg_parts_launch(const void *kernel, void *args, const xg_product<T> &p,
                    const xg_parts<T> &parts, int64_t blocks, int threads, int shared, void *stream)
{
  int error = 0;
  if (shared > 0)
    error = (int)cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
  if (!error) error = xg_parts_start(kernel, args, blocks, threads, shared, stream);
  if (error || parts.count == 1) return error;
  xg_parts_args<T> add = {p, parts};
  bool many = parts.count >= XG_PARTS_MANY;
  return xg_parts_start(many ? (const void *)xg_parts_add<T, 8> : (const void *)xg_parts_add<T, 1>,
                        &add, xg_tiles(p.m * p.n, XG_PARTS_THREADS / (many ? 8 : 1)),
                        XG_PARTS_THREADS, 0, stream);
}

#endif
