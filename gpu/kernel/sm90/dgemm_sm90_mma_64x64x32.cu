/* f64 on the Tensor Cores, block tile 64 x 64, 256 threads: few tiles, deep k.
 *
 *   block tile    64 x 64
 *   warp tile     32 x 32       4 warps for each of two slices of k
 *   stages        4, three pieces of 32 steps on their way
 *
 * H200, column-major, microseconds beside cuBLAS 13.1 in the same run: 64 x 64 x 65536 25.3 (30.4),
 * 128 x 128 x 16384 20.1 (20.4), 256 x 256 x 16384 46.9 (48.6), 4096 x 128 x 4096 78 (82),
 * 100 x 300 x 3000 13.9 (14.3).
 */
#include "../../mma_f64_launch.cuh"

/*                       instruction    BM   BN   WM  WN WK stages ahead blocks */
using shape = xg_mma64<xg_mma64_sm90, 64, 64, 32, 32, 2, 4, 3, 1>;

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

extern "C" const xg_gkr dgemm_sm90_mma_64x64x32 = {
    .name = "dgemm_sm90_mma_64x64x32",
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
    .efficiency = 0.91,
    .step_ns = 17.8,
    .fill_us = 3.0,
    .ok = ok,
    .split = xg_mma64_split<shape>,
    .workspace = xg_mma64_workspace<shape>,
    .function = function,
    .launch = launch,
};
