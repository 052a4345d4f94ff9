/* f64 on the Tensor Cores, block tile 32 x 32, 128 threads: small products, short k.
 *
 *   block tile    32 x 32
 *   warp tile     16 x 32       2 warps for each of two slices of k
 *   stages        4, three pieces of 32 steps on their way; three blocks on a multiprocessor
 *
 * H200, column-major, microseconds beside cuBLAS 13.1 in the same run: 31 2.7 (2.1), 63 3.4 (2.7),
 * 256 5.4 (4.3), 257 6.8 (6.0); 512 x 512 x 64, beta = 1: 4.9 (4.7).
 */
#include "../../mma_f64_launch.cuh"

/*                       instruction    BM   BN   WM  WN WK stages ahead blocks */
using shape = xg_mma64<xg_mma64_sm90, 32, 32, 16, 32, 2, 4, 3, 3>;

static const char *ok(const xg_gkr_args *args)
{
  return xg_mma64_ok<shape>(args);
}

static int launch(const xg_gkr_args *args, void *stream)
{
  return xg_mma64_launch<shape>(args, stream);
}

static const void *function(const xg_gkr_args *args)
{
  return xg_mma64_function<shape>(args);
}

extern "C" const xg_gkr dgemm_sm90_mma_32x32x32 = {
    .name = "dgemm_sm90_mma_32x32x32",
    .family = "sm90",
    .min_cc = 90,
    .max_cc = 90,
    .type = 'd',
    .tensor = 1,
    .bm = shape::BM,
    .bn = shape::BN,
    .bk = shape::BK,
    .threads = shape::THREADS,
    .shared = shape::SHARED,
    .blocks = shape::BLOCKS,
    .efficiency = 0.47,
    .step_ns = 12,
    .fill_us = 1.4,
    .ok = ok,
    .split = xg_mma64_split<shape>,
    .workspace = xg_mma64_workspace<shape>,
    .function = function,
    .launch = launch,
};
