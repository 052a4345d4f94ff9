/* The cost model's numbers of each kernel, as bench/fit_gpu.py fitted them to measurements. A
 * kernel that has none is judged by those of its descriptor. */
#ifndef XG_GPU_FITTED_H
#define XG_GPU_FITTED_H

#include "gkr.h"

struct xg_fitted {
  double efficiency, step_ns, fill_us, bandwidth; /* see struct xg_gkr; an efficiency near or above
                                                     1 says that step_ns is what limits it */
  double unaligned; /* times as long if an operand is not on 16-byte borders */
  double along_k;   /* times as long if both operands are contiguous along k */
  double sum_us;    /* what adding the parts of k takes, besides moving them */
};

/* Of a kernel of xg_gkr_table. */
const struct xg_fitted *xg_fitted_numbers(const struct xg_gkr *kernel);

#endif
