/* f32, m or n about 16, whichever way the long operand lies.
 *
 *   warp tile    64 x 16       4 warps take turns along k, 32 steps at a time: 128 bytes of a row
 *   thread tile   8 x 4        3 shared loads for 32 FMAs
 *
 * H200, us, column-major, operands from device memory (cuBLAS 13.1 in the same run): 4096x16x4096
 * TN 27.2 (48.6), NN 24.8 (78.6); 16x4096x4096 NN 29.0 (39.9); 14336x16x4096 TN 88.1 (153.8);
 * 4096x16x14336 NN 68.8 (124.4); 64x64x65536 NN 23.8 (28.4); 60x35x25024 NN 12.1 (16.3). */
#include "../../slab.cuh"

/*                       BM BN BK lane rows, stages, warps, blocks */
using shape = xg_slab<float, 64, 16, 32, 8, 2, 4, 2>;

extern "C" const xg_gkr sgemm_sm80_thin16 = {
    .name = "sgemm_sm80_thin16",
    .family = "sm80",
    .min_cc = 80,
    .type = 's',
    .bm = shape::BM,
    .bn = shape::BN,
    .bk = shape::BK,
    .threads = shape::THREADS,
    .shared = shape::SHARED,
    .blocks = shape::BLOCKS,
    .efficiency = 0.48,
    .fill_us = 3.0,
    .bandwidth = 0.68,
    .ok = xg_slab_ok<shape>,
    .split = xg_slab_split<shape>,
    .workspace = xg_slab_workspace<shape>,
    .function = xg_slab_function_of<shape>,
    .launch = xg_slab_launch<shape>,
};
