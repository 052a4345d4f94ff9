/* f64 on the Tensor Cores, block tile 32 x 64, 256 threads: a few hundred rows.
 *
 *   block tile    32 x 64       512 x 512 is 128 tiles
 *   warp tile     32 x 32       2 warps for each of four slices of k
 *   stages        4, three pieces of 64 steps on their way
 *
 * H200, column-major, microseconds beside cuBLAS 13.1 in the same run: 512 9.2 (10.4), 500 10.3
 * (11.1).
 */
#include "../../mma_f64_launch.cuh"

/*                       instruction    BM   BN   WM  WN WK stages ahead blocks */
using shape = xg_mma64<xg_mma64_sm90, 32, 64, 32, 32, 4, 4, 3, 1>;

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

extern "C" const xg_gkr dgemm_sm90_mma_32x64x64 = {
    .name = "dgemm_sm90_mma_32x64x64",
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
    .efficiency = 0.79,
    .step_ns = 10.2,
    .fill_us = 2.9,
    .ok = ok,
    .split = xg_mma64_split<shape>,
    .workspace = xg_mma64_workspace<shape>,
    .function = function,
    .launch = launch,
};
