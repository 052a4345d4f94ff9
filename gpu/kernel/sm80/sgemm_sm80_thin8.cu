/* f32, m or n about 8: the long operand at the speed of memory.
 *
 *   warp tile    64 x 8        4 warps take turns along k, 32 steps at a time: 128 bytes of a row
 *   thread tile   4 x 4        3 shared loads for 16 FMAs, of which a third of the peak is needed
 *
 * H200, us, column-major, operands from device memory (cuBLAS 13.1 in the same run; memory alone
 * takes 16): 4096x8x4096 TN 22.6 (45.5); 4096x4x4096 TN 22.1 (28.1), NN 21.5 (65.3); 2x65536x512 NN
 * 38.2 (66.1); 60x35x25024 NN 10.6 (16.4). */
#include "../../slab.cuh"

/*                       BM BN BK lane rows, stages, warps, blocks */
using shape = xg_slab<float, 64, 8, 32, 16, 2, 4, 2>;

extern "C" const xg_gkr sgemm_sm80_thin8 = {
    .name = "sgemm_sm80_thin8",
    .family = "sm80",
    .min_cc = 80,
    .type = 's',
    .bm = shape::BM,
    .bn = shape::BN,
    .bk = shape::BK,
    .threads = shape::THREADS,
    .shared = shape::SHARED,
    .blocks = shape::BLOCKS,
    .efficiency = 0.33,
    .fill_us = 4,
    .bandwidth = 0.95,
    .ok = xg_slab_ok<shape>,
    .split = xg_slab_split<shape>,
    .workspace = xg_slab_workspace<shape>,
    .function = xg_slab_function_of<shape>,
    .launch = xg_slab_launch<shape>,
};
