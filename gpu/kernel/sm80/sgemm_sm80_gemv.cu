/* f32, m = 1 or n = 1.
 *
 * 512 threads a multiprocessor: 16 bytes x 4 rows x 2 ahead along k, 64 KB on their way; 16 bytes x
 * 8 ahead along m. 16 warps take turns along k, so that 4096 rows in columns are 128 blocks and no
 * second kernel is needed.
 *
 * H200, us, column-major, operands from device memory (cuBLAS 13.1 in the same run; memory alone
 * takes 16): 4096x1x4096 TN 18.7 (21.9), NN 17.9 (18.1); 28672x1x8192 NN 223 (230), memory alone
 * 220; 4224x1x128 NN 3.1 (3.8). */
#include "../../gemv.cuh"

/*                     R depth along k, m; lanes along m, warps, blocks */
using shape = xg_gemv<float, 4, 2, 8, 8, 16, 1>;

extern "C" const xg_gkr sgemm_sm80_gemv = {
    .name = "sgemm_sm80_gemv",
    .family = "sm80",
    .min_cc = 80,
    .type = 's',
    .bm = 4 * shape::R,
    .bn = 1,
    .bk = 8 * shape::V,
    .threads = shape::THREADS,
    .shared = shape::SHARED,
    .blocks = shape::BLOCKS,
    .efficiency = 0.25,
    .fill_us = 2.5,
    .bandwidth = 0.97,
    .ok = xg_gemv_ok<shape>,
    .split = xg_gemv_split<shape>,
    .workspace = xg_gemv_workspace<shape>,
    .function = xg_gemv_function<shape>,
    .launch = xg_gemv_launch<shape>,
};
