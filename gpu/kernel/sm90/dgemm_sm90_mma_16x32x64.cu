/* f64 on the Tensor Cores, block tile 16 x 32, 128 threads: the smallest products.
 *
 *   block tile    16 x 32       256 x 256 is 128 tiles
 *   warp tile     16 x 32       a warp for each of four slices of k
 *   stages        4, three pieces of 64 steps on their way; two blocks on a multiprocessor
 *
 * H200, column-major, microseconds beside cuBLAS 13.1 in the same run: 31 2.6 (2.1), 63 3.0 (2.7),
 * 129 4.2 (4.1), 256 4.4 (4.3). An empty kernel takes 0.6.
 */
#include "../../mma_f64_launch.cuh"

/*                       instruction    BM   BN   WM  WN WK stages ahead blocks */
using shape = xg_mma64<xg_mma64_sm90, 16, 32, 16, 32, 4, 4, 3, 2>;

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

extern "C" const xg_gkr dgemm_sm90_mma_16x32x64 = {
    .name = "dgemm_sm90_mma_16x32x64",
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
    .efficiency = 0.36,
    .step_ns = 7.6,
    .fill_us = 1.3,
    .ok = ok,
    .split = xg_mma64_split<shape>,
    .workspace = xg_mma64_workspace<shape>,
    .function = function,
    .launch = launch,
};
