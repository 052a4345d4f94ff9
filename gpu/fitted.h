/* The cost model's numbers of each kernel, as bench/fit_gpu.py fitted them to measurements. A
 * kernel that has none is judged by those of its descriptor. */
#ifndef XG_GPU_FITTED_H
#define XG_GPU_FITTED_H

#include "gkr.h"

/* See the fields of struct xg_gkr. */
struct xg_fitted {
  double efficiency, step_ns, fill_us, bandwidth;
};

/* Of a kernel of xg_gkr_table. */
const struct xg_fitted *xg_fitted_numbers(const struct xg_gkr *kernel);

#endif
