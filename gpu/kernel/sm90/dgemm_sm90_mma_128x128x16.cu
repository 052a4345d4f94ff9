/* f64 on the Tensor Cores, block tile 128 x 128, 256 threads: large products.
 *
 *   block tile   128 x 128      16 flop/byte from device memory and the L2 cache
 *   warp tile     64 x 32       8 warps, two a scheduler; 64 sums, 128 registers of them
 *   stages        5, three pieces on their way, 33 KB each
 *
 * H200, column-major, TFLOP/s beside cuBLAS 13.1 in the same run: 2048 58.9 (60.6), 4096 NN 60.3
 * (62.0), NT 60.5 (61.9), TT 60.9 (62.7), TN 58.8 (62.8); 1001 44.7 (36.7), 2047 57.4 (41.2). The
 * Tensor Cores reach 66; 1024 tiles on 132 multiprocessors are 97 % of whole rounds. A variant that
 * stays on its multiprocessor and loads the next tile during the last stores was 5 % slower.
 */
#include "../../mma_f64_launch.cuh"

/*                       instruction    BM   BN   WM  WN WK stages ahead blocks */
using shape = xg_mma64<xg_mma64_sm90, 128, 128, 64, 32, 1, 5, 3, 1>;

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

extern "C" const xg_gkr dgemm_sm90_mma_128x128x16 = {
    .name = "dgemm_sm90_mma_128x128x16",
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
    .efficiency = 0.95,
    .step_ns = 68,
    .fill_us = 5.7,
    .ok = ok,
    .split = xg_mma64_split<shape>,
    .workspace = xg_mma64_workspace<shape>,
    .function = function,
    .launch = launch,
};
