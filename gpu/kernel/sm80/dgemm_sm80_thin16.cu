/* f64, m or n about 16.
 *
 *   warp tile    64 x 16       8 warps on a multiprocessor take turns along k, 16 steps at a time
 *   thread tile   4 x 8        6 shared loads for 32 FMAs
 *
 * H200, us, column-major, operands from device memory (cuBLAS 13.1 in the same run; memory alone
 * takes 33): 4096x16x4096 TN 44.0 (41.0), NN 42.0 (40.4); 4096x4x4096 NN 40.4 (40.2);
 * 4097x16x4095 TN 44.1 (48.6). */
#include "../../slab.cuh"

/*                       BM BN BK lane rows, stages, warps, blocks */
using shape = xg_slab<double, 64, 16, 16, 16, 2, 4, 2>;

extern "C" const xg_gkr dgemm_sm80_thin16 = {
    .name = "dgemm_sm80_thin16",
    .family = "sm80",
    .min_cc = 80,
    .type = 'd',
    .bm = shape::BM,
    .bn = shape::BN,
    .bk = shape::BK,
    .threads = shape::THREADS,
    .shared = shape::SHARED,
    .blocks = shape::BLOCKS,
    .efficiency = 0.45,
    .fill_us = 5,
    .bandwidth = 0.86,
    .ok = xg_slab_ok<shape>,
    .split = xg_slab_split<shape>,
    .workspace = xg_slab_workspace<shape>,
    .function = xg_slab_function_of<shape>,
    .launch = xg_slab_launch<shape>,
};
