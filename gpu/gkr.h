/* The GPU kernel contract and the table of GPU kernels. Plain C, also included by .cu files.
 *
 * A GPU kernel computes C = alpha*A*B + beta*C for device pointers with any row and column strides
 * (negative too, 0 for A and B), any m, n, k >= 1, on a given stream.
 *   - beta = 0: C is written and never read. Elements between C's elements are not touched.
 *   - Index arithmetic is 64-bit. Grid limits (65535 in y and z) are hidden by the launcher.
 *   - The order of additions for an element is a function of the kernel, m, n, k, the class that
 * the strides and addresses fall in (unit stride or not, on 16 bytes or not) and the count of
 *     multiprocessors, and of nothing else. No floating-point atomics.
 *   - ok() may refuse products that the kernel is not for; every other one is right.
 *   - launch() only enqueues, one kernel or a few: no synchronisation, no allocation. It returns
 * the CUDA error as an int.
 */
#ifndef XG_GKR_H
#define XG_GKR_H

#include <stddef.h>
#include <stdint.h>

/* Sizes differ in the tile that suits them. The size of a product is the shorter side of its C. */
enum xg_size_class {
  XG_SIZE_ANY,    /* the class that the product falls in */
  XG_SIZE_SMALL,  /* below 512: 64 x 64, a single buffer; many such products are better batched */
  XG_SIZE_MEDIUM, /* 512 to 2048: 128 x 128 */
  XG_SIZE_LARGE,  /* above 2048: 128 x 256 */
};

static inline enum xg_size_class xg_size_class_of(int64_t m, int64_t n)
{
  int64_t side = m < n ? m : n;
  return side < 512 ? XG_SIZE_SMALL : side <= 2048 ? XG_SIZE_MEDIUM : XG_SIZE_LARGE;
}

struct xg_gkr_args {
  int64_t m, n, k;
  double alpha, beta;
  const void *a, *b;
  void *c;
  int64_t rs_a, cs_a, rs_b, cs_b, rs_c, cs_c;

  /* Epilogue, for kernels whose descriptor says so: C = relu(alpha*A*B + beta*C + bias). */
  const void *bias; /* NULL, or n elements of C's type, element j added to column j */
  int relu;

  enum xg_size_class size; /* whose tile to take, of kernels that have one for each class */

  int sms;         /* multiprocessors of the card */
  void *workspace; /* kernel->workspace(args) bytes, on 256; of this launch alone */
};

/* Each kernel file ends with one of these, named as the file: `extern "C" const struct xg_gkr
 * NAME`. A field not named is 0 or NULL. */
struct xg_gkr {
  const char *name;
  const char *family; /* "ladder", "sm80", "sm90" */
  int min_cc, max_cc; /* 80: compute capability 8.0; max_cc 0: any later one */
  char type;          /* 's', 'd'; 'h', 'b': A and B fp16, bf16, C and the sums fp32 */
  int fuses;          /* takes bias and relu */
  int tensor;         /* works on the Tensor Cores */

  /* What the cost model (pick_cost.c) takes of it; the last four for a kernel that
   * fitted_numbers.h does not have. */
  int bm, bn, bk; /* block tile */
  int threads;    /* per block */
  int shared;     /* bytes of shared memory per block */
  int blocks;     /* resident on one multiprocessor of an H100 or H200; a test asks the runtime */
  double efficiency; /* share of the peak of the FMA units or Tensor Cores, on large products */
  double step_ns;   /* a step of k in a block that has a multiprocessor for itself; of a kernel that
                       streams, a later wave of blocks; 0: not known */
  double fill_us;   /* from a block's start to its first step, and from the last to its end */
  double bandwidth; /* share of the copy bandwidth that it streams at; 0: it works in tiles */

  /* NULL if legal for this problem, else the reason. */
  const char *(*ok)(const struct xg_gkr_args *args);
  /* Parts that k is cut into, from shape and SM count alone. NULL: never cut. */
  int (*split)(const struct xg_gkr_args *args);
  /* Times that the busiest multiprocessor goes through the whole of k; a fraction where tiles are
   * cut so that all are busy alike. NULL: whole tiles, `blocks` of them side by side. */
  double (*rounds)(const struct xg_gkr_args *args);
  /* Bytes of workspace. NULL: none. */
  size_t (*workspace)(const struct xg_gkr_args *args);
  /* The __global__ function that launch() would start, for occupancy and register counts. */
  const void *(*function)(const struct xg_gkr_args *args);
  int (*launch)(const struct xg_gkr_args *args, void *stream);
};

/* Made by make from the kernel lists in gpu/local.mk. NULL at the end. */
#ifdef __cplusplus
extern "C" {
#endif
extern const struct xg_gkr *const xg_gkr_table[];
#ifdef __cplusplus
}
#endif

#endif
