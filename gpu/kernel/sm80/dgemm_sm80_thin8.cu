/* f64, m or n about 8: the long operand at the speed of memory.
 *
 *   warp tile    64 x 8        8 warps on a multiprocessor take turns along k, 16 steps at a time
 *   thread tile   4 x 4        4 shared loads for 16 FMAs
 *
 * H200, us, column-major, operands from device memory (cuBLAS 13.1 in the same run; memory alone
 * takes 33): 4096x4x4096 TN 38.4 (39.9), NN 37.6 (39.5); 4x4096x4096 NN 40.5 (38.4). */
#include "../../slab.cuh"

/*                       BM BN BK lane rows, stages, warps, blocks */
using shape = xg_slab<double, 64, 8, 16, 16, 2, 4, 2>;

extern "C" const xg_gkr dgemm_sm80_thin8 = {
    .name = "dgemm_sm80_thin8",
    .family = "sm80",
    .min_cc = 80,
    .type = 'd',
    .bm = shape::BM,
    .bn = shape::BN,
    .bk = shape::BK,
    .threads = shape::THREADS,
    .shared = shape::SHARED,
    .blocks = shape::BLOCKS,
    .efficiency = 0.29,
    .fill_us = 2,
    .bandwidth = 0.88,
    .ok = xg_slab_ok<shape>,
    .split = xg_slab_split<shape>,
    .workspace = xg_slab_workspace<shape>,
    .function = xg_slab_function_of<shape>,
    .launch = xg_slab_launch<shape>,
};
