/* f32, m or n about 16, the long operand contiguous along its length.
 *
 *   warp tile    64 x 16       16 warps on a multiprocessor take turns along k, 16 steps at a time
 *   thread tile   4 x 8        3 shared loads for 32 FMAs
 *
 * Shorter slabs and twice the warps of thin16. (Along k they would read 64 bytes of a row at a
 * time: 31 us instead of 27 at 4096x16x4096 TN.)
 *
 * H200, us, column-major NN, operands from device memory (cuBLAS 13.1 in the same run):
 * 4096x16x4096 26.4 (77.1); 14336x16x4096 78.0 (119.6); 4096x32x4096 39.2 (39.9); 35x8457x1760 68.0
 * (68.0). */
#include "../../slab.cuh"

/*                       BM BN BK lane rows, stages, warps, blocks, any */
using shape = xg_slab<float, 64, 16, 16, 16, 2, 4, 4, false>;

extern "C" const xg_gkr sgemm_sm80_thin16_columns = {
    .name = "sgemm_sm80_thin16_columns",
    .family = "sm80",
    .min_cc = 80,
    .type = 's',
    .bm = shape::BM,
    .bn = shape::BN,
    .bk = shape::BK,
    .threads = shape::THREADS,
    .shared = shape::SHARED,
    .blocks = shape::BLOCKS,
    .efficiency = 0.525,
    .fill_us = 4.6,
    .bandwidth = 0.76,
    .ok = xg_slab_ok<shape>,
    .split = xg_slab_split<shape>,
    .workspace = xg_slab_workspace<shape>,
    .function = xg_slab_function_of<shape>,
    .launch = xg_slab_launch<shape>,
};
