/* f32, at most 4096 elements in C, each a dot product of its own.
 *
 * H200, us, column-major, operands from device memory (cuBLAS 13.1 in the same run): 1x1x10^7 26.7
 * (49.3); 1x10x10000 3.3 (3.5); 3x5x100000 TN 6.0 (30.5); 18x128x300 3.8 (6.6); 500x2x2 1.6 (1.7).
 */
#include "../../dot.cuh"

extern "C" const xg_gkr sgemm_sm80_dot = {
    .name = "sgemm_sm80_dot",
    .family = "sm80",
    .min_cc = 80,
    .type = 's',
    .bm = 1,
    .bn = 1,
    .bk = 1,
    .threads = XG_DOT_THREADS,
    .blocks = 2,
    .efficiency = 0.008,
    .fill_us = 0.5,
    .bandwidth = 0.75,
    .ok = xg_dot_ok<float>,
    .split = xg_dot_split<float>,
    .workspace = xg_dot_workspace<float>,
    .function = xg_dot_function<float>,
    .launch = xg_dot_launch<float>,
};
