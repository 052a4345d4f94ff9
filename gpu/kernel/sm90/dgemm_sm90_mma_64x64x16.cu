/* f64 on the Tensor Cores, block tile 64 x 64, 128 threads: middling products, short k.
 *
 *   block tile    64 x 64       8 flop/byte
 *   warp tile     32 x 32       4 warps
 *   stages        4, three pieces on their way; three blocks on a multiprocessor, so that one
 *                 multiplies while another loads or stores
 *
 * H200, column-major, TFLOP/s beside cuBLAS 13.1 in the same run: 1024 50.4 (53.0), 2048 55.6
 * (60.6); 4096 x 4096 x 64, beta = 1: 21.7 (20.0), the same x 128 NT: 30.7 (36.9).
 */
#include "../../mma_f64_launch.cuh"

/*                       instruction    BM   BN   WM  WN WK stages ahead blocks */
using shape = xg_mma64<xg_mma64_sm90, 64, 64, 32, 32, 1, 4, 3, 3>;

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

extern "C" const xg_gkr dgemm_sm90_mma_64x64x16 = {
    .name = "dgemm_sm90_mma_64x64x16",
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
    .efficiency = 0.87,
    .step_ns = 24,
    .fill_us = 3.0,
    .ok = ok,
    .split = xg_mma64_split<shape>,
    .workspace = xg_mma64_workspace<shape>,
    .function = function,
    .launch = launch,
};
