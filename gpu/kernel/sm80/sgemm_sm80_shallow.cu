/* f32, k of at most 32: C at the speed of memory.
 *
 *   block tile   64 x 128      4 warps; 4 blocks on a multiprocessor, each goes from tile to tile
 *   thread tile   8 x 8        and has the next one's operands on their way
 *
 * H200, us, column-major NN, operands from device memory (cuBLAS 13.1 in the same run; to write C
 * alone takes 16): 4096x4096x16 25.8 (34.3), with beta 39.9 (50.1); 4096x4096x32 38.7 (46.5);
 * 4096x4096x1 18.0 (27.4). (C through shared memory and bulk stores: 33 instead of 26.) */
#include "../../shallow.cuh"

/*                    BM  BN  BK  TM TN pieces blocks */
using shape = xg_simt<float, 64, 128, 32, 8, 8, 1, 4>;

extern "C" const xg_gkr sgemm_sm80_shallow = {
    .name = "sgemm_sm80_shallow",
    .family = "sm80",
    .min_cc = 80,
    .type = 's',
    .bm = shape::BM,
    .bn = shape::BN,
    .bk = shape::BK,
    .threads = shape::THREADS,
    .shared = xg_shallow_shared<shape>(shape::BK),
    .blocks = shape::BLOCKS,
    .efficiency = 0.42,
    .fill_us = 2.5,
    .bandwidth = 0.9,
    .ok = xg_shallow_ok<shape>,
    .function = xg_shallow_function<shape>,
    .launch = xg_shallow_launch<shape>,
};
