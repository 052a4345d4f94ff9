/* The GPU kernel contract and the table of GPU kernels. Plain C, also included by .cu files.
 *
 * A GPU kernel computes C = alpha*A*B + beta*C for device pointers with any row and column strides
 * (negative too, 0 for A and B), any m, n, k >= 1, on a given stream.
 *   - beta = 0: C is written and never read. Elements between C's elements are not touched.
 *   - Index arithmetic is 64-bit. Grid limits (65535 in y and z) are hidden by the launcher.
 *   - The order of additions for an element is a function of the kernel and k alone.
 *   - launch() only enqueues: no synchronisation, no allocation. It returns the CUDA error as an
 * int.
 */
#ifndef XG_GKR_H
#define XG_GKR_H

#include <stddef.h>
#include <stdint.h>

struct xg_gkr_args {
  int64_t m, n, k;
  double alpha, beta;
  const void *a, *b;
  void *c;
  int64_t rs_a, cs_a, rs_b, cs_b, rs_c, cs_c;
};

/* Each kernel file ends with one of these, named as the file: `extern "C" const struct xg_gkr
 * NAME`. */
struct xg_gkr {
  const char *name;
  const char *family; /* "ladder", "sm80", "sm90" */
  int min_cc;         /* 80 for compute capability 8.0 */
  char type;          /* 's' or 'd' */
  int bm, bn, bk;     /* block tile */
  int threads;        /* per block */
  int shared;         /* bytes of shared memory per block */
  double efficiency;  /* share of the FMA peak reached on large products, measured */
  /* NULL if legal for this problem, else the reason. */
  const char *(*ok)(const struct xg_gkr_args *args);
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
