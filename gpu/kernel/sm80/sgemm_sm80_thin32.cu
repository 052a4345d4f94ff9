/* f32, m or n about 32.
 *
 *   warp tile    64 x 32       12 warps on a multiprocessor take turns along k, 16 steps at a time
 *   thread tile   8 x 8        4 shared loads for 64 FMAs
 *
 * H200, us, column-major, operands from device memory (cuBLAS 13.1 in the same run): 4096x32x4096
 * TN 44.2 (47.7), NN 39.1 (39.9); 32x4096x4096 NN 42.9 (40.6). FMAs alone take 17. */
#include "../../slab.cuh"

/*                       BM BN BK lane rows, stages, warps, blocks */
using shape = xg_slab<float, 64, 32, 16, 8, 2, 4, 3>;

extern "C" const xg_gkr sgemm_sm80_thin32 = {
    .name = "sgemm_sm80_thin32",
    .family = "sm80",
    .min_cc = 80,
    .type = 's',
    .bm = shape::BM,
    .bn = shape::BN,
    .bk = shape::BK,
    .threads = shape::THREADS,
    .shared = shape::SHARED,
    .blocks = shape::BLOCKS,
    .efficiency = 0.53,
    .fill_us = 5.0,
    .bandwidth = 0.7,
    .ok = xg_slab_ok<shape>,
    .split = xg_slab_split<shape>,
    .workspace = xg_slab_workspace<shape>,
    .function = xg_slab_function_of<shape>,
    .launch = xg_slab_launch<shape>,
};
