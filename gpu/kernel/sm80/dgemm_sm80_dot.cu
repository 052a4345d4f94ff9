/* f64, at most 4096 elements in C, each a dot product of its own.
 *
 * H200, us, column-major, operands from device memory (cuBLAS 13.1 in the same run): 1x1x10^7 44.6
 * (77.0); 3x5x100000 TN 7.2 (19.8); 500x2x2 1.6 (1.7). */
#include "../../dot.cuh"

extern "C" const xg_gkr dgemm_sm80_dot = {
    .name = "dgemm_sm80_dot",
    .family = "sm80",
    .min_cc = 80,
    .type = 'd',
    .bm = 1,
    .bn = 1,
    .bk = 1,
    .threads = XG_DOT_THREADS,
    .blocks = 2,
    .efficiency = 0.008,
    .fill_us = 0.5,
    .bandwidth = 0.75,
    .ok = xg_dot_ok<double>,
    .split = xg_dot_split<double>,
    .workspace = xg_dot_workspace<double>,
    .function = xg_dot_function<double>,
    .launch = xg_dot_launch<double>,
};
