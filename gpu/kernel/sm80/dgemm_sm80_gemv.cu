/* f64, m = 1 or n = 1.
 *
 * 512 threads a multiprocessor: 16 bytes x 4 rows x 2 ahead along k, 64 KB on their way; 16 bytes x
 * 8 ahead along m.
 *
 * H200, us, column-major, operands from device memory (cuBLAS 13.1 in the same run; memory alone
 * takes 31): 4096x1x4096 TN 33.4 (33.5), NN 33.7 (35.3). */
#include "../../gemv.cuh"

/*                     R depth along k, m; lanes along m, warps, blocks */
using shape = xg_gemv<double, 4, 2, 8, 8, 16, 1>;

extern "C" const xg_gkr dgemm_sm80_gemv = {
    .name = "dgemm_sm80_gemv",
    .family = "sm80",
    .min_cc = 80,
    .type = 'd',
    .bm = 4 * shape::R,
    .bn = 1,
    .bk = 8 * shape::V,
    .threads = shape::THREADS,
    .shared = shape::SHARED,
    .blocks = shape::BLOCKS,
    .efficiency = 0.25,
    .fill_us = 1.5,
    .bandwidth = 0.99,
    .ok = xg_gemv_ok<shape>,
    .split = xg_gemv_split<shape>,
    .workspace = xg_gemv_workspace<shape>,
    .function = xg_gemv_function<shape>,
    .launch = xg_gemv_launch<shape>,
};
