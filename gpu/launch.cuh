/* What every GPU kernel file shares: its arguments in the type of the product, the grid, the
 * launch, and the last step alpha*sum + beta*C. Nothing here is about how a kernel works. */
#ifndef XG_LAUNCH_CUH
#define XG_LAUNCH_CUH

#include <cuda_runtime.h>

#include "gkr.h"

/* One product in type T, of operands of type E, passed to kernels by value. */
template <class T, class E = T> struct xg_product {
  int64_t m, n, k;
  T alpha, beta;
  const E *a, *b;
  T *c;
  int64_t rs_a, cs_a, rs_b, cs_b, rs_c, cs_c;
};

/* The product, or the same one seen from the other side, C^T = B^T A^T: nothing but an exchange of
 * arguments. */
template <class T, class E = T> xg_product<T, E> xg_product_of(const xg_gkr_args *x, bool turned)
{
  const E *a = (const E *)x->a, *b = (const E *)x->b;
  T *c = (T *)x->c, alpha = (T)x->alpha, beta = (T)x->beta;
  if (turned)
    return {x->n, x->m,    x->k,    alpha,   beta,    b,       a,
            c,    x->cs_b, x->rs_b, x->cs_a, x->rs_a, x->cs_c, x->rs_c};
  return {x->m, x->n,    x->k,    alpha,   beta,    a,       b,
          c,    x->rs_a, x->cs_a, x->rs_b, x->cs_b, x->rs_c, x->cs_c};
}

/* Kernels are written for a C whose rows are contiguous, so that neighbouring threads write
 * neighbouring columns. */
template <class T, class E = T> xg_product<T, E> xg_rows_contiguous(const xg_gkr_args *x)
{
  int64_t row = x->rs_c < 0 ? -x->rs_c : x->rs_c, col = x->cs_c < 0 ? -x->cs_c : x->cs_c;
  return xg_product_of<T, E>(x, row < col);
}

__host__ __device__ inline int64_t xg_tiles(int64_t extent, int tile)
{
  return (extent + tile - 1) / tile;
}

/* Grids are one-dimensional, because y and z end at 65535; x ends at 2^31 - 1. */
static const int64_t xg_most_blocks = 0x7fffffff;

inline const char *xg_grid_ok(const xg_gkr_args *x, int bm, int bn)
{
  int tile = bm < bn ? bm : bn; /* whichever way round the product is taken */
  if (xg_tiles(x->m, tile) <= xg_most_blocks / xg_tiles(x->n, tile)) return nullptr;
  return "C has more tiles than a grid has blocks";
}

/* The same for kernels that count pieces of BK steps of k in 32 bits. */
inline const char *xg_pieces_ok(const xg_gkr_args *x, int bm, int bn, int bk)
{
  const int64_t most_pieces = (int64_t)1 << 30;
  if (x->k / bk >= most_pieces) return "k has more pieces than it counts";
  return xg_grid_ok(x, bm, bn);
}

template <class T, class E> int64_t xg_blocks(const xg_product<T, E> &p, int bm, int bn)
{
  return xg_tiles(p.m, bm) * xg_tiles(p.n, bn);
}

/* Enqueues and returns the launch's own error, leaving the runtime's last error to others. */
template <class A>
int xg_launch(void (*kernel)(A), A args, int64_t blocks, int threads, void *stream)
{
  void *arguments[] = {&args};
  return (int)cudaLaunchKernel((const void *)kernel, dim3((unsigned)blocks), dim3(threads),
                               arguments, 0, (cudaStream_t)stream);
}

/* Whether a kernel may be launched before the one in front of it has ended: the code that runs must
 * then wait itself (griddepcontrol), which only code for sm_90 does. A newer card runs code made
 * from older PTX. */
inline bool xg_may_start_early()
{
  const int built_for[] = {__CUDA_ARCH_LIST__};
  bool built = false;
  for (int arch : built_for) built |= arch == 900;
  int device, major = 0;
  if (!built || cudaGetDevice(&device) != cudaSuccess) return false;
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  return major == 9;
}

/* Which tile a block takes. Blocks that run at the same time have neighbouring numbers; a band of 8
 * tile rows is walked column by column, so that together they read a near-square piece of A and B,
 * which the L2 cache then holds:
 *
 *      0  8 16 ...
 *      1  9 17 ...
 *      :  :
 *      7 15 23 ...                                                                              */
struct xg_tile {
  int64_t row, col;
};

__device__ inline xg_tile xg_tile_of(int64_t block, int64_t rows, int64_t cols)
{
  const int64_t band = 8;
  int64_t first = block / (band * cols) * band, within = block % (band * cols);
  int64_t height = rows - first < band ? rows - first : band;
  return {first + within % height, within / height};
}

/* One element of C. beta = 0: C is not read. */
template <class T> __device__ inline T xg_finish(T alpha, T sum, T beta, const T *c)
{
  return beta == 0 ? alpha * sum : fma(alpha, sum, beta * *c);
}

#endif
