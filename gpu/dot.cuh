/* Products with so few elements in C that each is a dot product of its own, read straight from
 * memory. The frame of dot.
 *
 * LANES threads make an element, together with the others of its row and column reading A and B out
 * of the caches: 1 for a few steps of k, 32 (a warp), or a block, which may have a part of k only
 * (parts.cuh). Two vectors that are contiguous along k are read 16 bytes at a time.
 *
 *   1 x 1 x 10^7           a block's lanes, parts for all multiprocessors: 80 MB, at the speed of
 * memory 1 x 10 x 10^4          10 blocks, each has its 80 KB in flight at once 500 x 2 x 2 1 lane:
 * nothing but the launch */
#ifndef XG_DOT_CUH
#define XG_DOT_CUH

#include "parts.cuh"
#include "simt.cuh"

enum { XG_DOT_THREADS = 512 };

template <class T> struct xg_dot_args {
  xg_product<T> p;
  xg_parts<T> parts;
};

/* This lane's share of a dot product of `len` steps, DEPTH loads of each vector at a time. */
template <class T, int LANES, bool WIDE>
__device__ inline T xg_dot_share(const T *a, int64_t sa, const T *b, int64_t sb, int64_t len,
                                 int lane)
{
  constexpr int V = 16 / sizeof(T), DEPTH = LANES == 1 ? 4 : 8;
  if constexpr (WIDE) {
    T sum[V] = {};
    for (int64_t k = (int64_t)lane * V; k < len; k += DEPTH * LANES * V) {
      xg_vec<T> x[DEPTH] = {}, y[DEPTH] = {};
#pragma unroll
      for (int d = 0; d < DEPTH; d++) {
        int64_t at = k + d * LANES * V;
        if (at + V <= len) x[d] = *(const xg_vec<T> *)(a + at), y[d] = *(const xg_vec<T> *)(b + at);
      }
#pragma unroll
      for (int d = 0; d < DEPTH; d++)
#pragma unroll
        for (int v = 0; v < V; v++) sum[v] = fma(x[d].v[v], y[d].v[v], sum[v]);
    }
    if (lane == 0)
      for (int64_t k = len / V * V; k < len; k++) sum[0] = fma(a[k], b[k], sum[0]);
    T all = sum[0];
#pragma unroll
    for (int v = 1; v < V; v++) all += sum[v];
    return all;
  } else {
    T sum = 0;
    int64_t k = lane;
    for (; k + (DEPTH - 1) * LANES < len; k += DEPTH * LANES) {
      T x[DEPTH], y[DEPTH];
#pragma unroll
      for (int d = 0; d < DEPTH; d++)
        x[d] = a[(k + d * LANES) * sa], y[d] = b[(k + d * LANES) * sb];
#pragma unroll
      for (int d = 0; d < DEPTH; d++) sum = fma(x[d], y[d], sum);
    }
    for (; k < len; k += LANES) sum = fma(a[k * sa], b[k * sb], sum);
    return sum;
  }
}

template <class T, int LANES, bool WIDE>
__global__ void __launch_bounds__(XG_DOT_THREADS)
    xg_dot_kernel(const __grid_constant__ xg_dot_args<T> x)
{
  xg_parts_begin();
  const xg_product<T> &p = x.p;
  int lane = (int)threadIdx.x % LANES;
  int64_t groups = XG_DOT_THREADS / LANES, blocks = xg_tiles(p.m * p.n, (int)groups);
  int64_t part = blockIdx.x / blocks;
  int64_t e = (blockIdx.x - part * blocks) * groups + (int)threadIdx.x / LANES;
  bool inside = e < p.m * p.n;
  if (!inside) e = 0;
  int64_t i = x.parts.by_columns ? e / p.n : e % p.m, j = x.parts.by_columns ? e % p.n : e / p.m;
  int64_t first = part * x.parts.steps,
          len = p.k - first < x.parts.steps ? p.k - first : x.parts.steps;
  T sum = xg_dot_share<T, LANES, WIDE>(p.a + i * p.rs_a + first * p.cs_a, p.cs_a,
                                       p.b + j * p.cs_b + first * p.rs_b, p.rs_b, len, lane);
  if (LANES > 1)
#pragma unroll
    for (int bit = 16; bit > 0; bit /= 2) sum += __shfl_xor_sync(~0u, sum, bit);
  if (LANES > 32) {
    __shared__ T warps[XG_DOT_THREADS / 32];
    if (lane % 32 == 0) warps[lane / 32] = sum;
    __syncthreads();
#pragma unroll
    for (int w = 1; w < XG_DOT_THREADS / 32; w++)
      if (lane == 0) sum += warps[w];
  }
  if (inside && lane == 0) xg_parts_out(p, x.parts, (int)part, i, j, sum);
}

/* ---------------------------------------------------------------- host */

struct xg_dot_run {
  const void *function;
  int64_t blocks; /* of a part */
  int parts;
  int64_t steps;
};

template <class T> xg_dot_run xg_dot_run_of(const xg_product<T> &p, int sms)
{
  bool wide = xg_wide(p.a, p.cs_a, p.rs_a, p.m) && xg_wide(p.b, p.rs_b, p.cs_b, p.n);
  int64_t elements = p.m * p.n, least = 4 * XG_DOT_THREADS * 16 / sizeof(T); /* steps of a part */
  if (p.k <= 32)
    return {(const void *)xg_dot_kernel<T, 1, false>, xg_tiles(elements, XG_DOT_THREADS), 1, p.k};
  if (p.k <= 4096 / (int)sizeof(T))
    return {wide ? (const void *)xg_dot_kernel<T, 32, true>
                 : (const void *)xg_dot_kernel<T, 32, false>,
            xg_tiles(elements, XG_DOT_THREADS / 32), 1, p.k};
  int64_t parts = 4 * (int64_t)sms / elements, most = p.k / (2 * least);
  parts = parts < most ? parts : most;
  int64_t steps = parts > 1 ? xg_tiles(xg_tiles(p.k, (int)parts), 8) * 8 : p.k;
  return {wide ? (const void *)xg_dot_kernel<T, XG_DOT_THREADS, true>
               : (const void *)xg_dot_kernel<T, XG_DOT_THREADS, false>,
          elements, (int)((p.k + steps - 1) / steps), steps};
}

template <class T> xg_dot_run xg_dot_run_of(const xg_gkr_args *args)
{
  return xg_dot_run_of(xg_long_first<T>(args), args->sms);
}

template <class T> const char *xg_dot_ok(const xg_gkr_args *args)
{
  if (args->m > 4096 || args->n > 4096 || args->m * args->n > 4096) return "C is too large";
  return nullptr;
}

template <class T> int xg_dot_split(const xg_gkr_args *args)
{
  return xg_dot_run_of<T>(args).parts;
}

template <class T> size_t xg_dot_workspace(const xg_gkr_args *args)
{
  return xg_parts_bytes(xg_long_first<T>(args), xg_dot_run_of<T>(args).parts);
}

template <class T> const void *xg_dot_function(const xg_gkr_args *args)
{
  return xg_dot_run_of<T>(args).function;
}

template <class T> int xg_dot_launch(const xg_gkr_args *args, void *stream)
{
  xg_product<T> p = xg_long_first<T>(args);
  xg_dot_run run = xg_dot_run_of(p, args->sms);
  xg_dot_args<T> x = {p, xg_parts_of(p, run.parts, run.steps, args->workspace)};
  return xg_parts_launch(run.function, &x, p, x.parts, run.blocks * run.parts, XG_DOT_THREADS, 0,
                         stream);
}

#endif
