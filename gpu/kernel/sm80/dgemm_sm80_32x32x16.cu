/* f64, block tile 32 x 32, 64 threads, 4 x 4 a thread: small products.
 *
 *   block tile    32 x 32       4 flop/byte from device memory: the L2 cache has to answer
 *   warp tile     16 x 32       2 warps
 *   thread tile    4 x 4
 *
 * 512 x 512 is 256 tiles, two for each multiprocessor of an H200. Three pieces of 16 steps.
 *
 * H200, TFLOP/s at 128 / 256 / 512 / 1024, row-major NN, called back to back: 0.58 / 2.9 / 12.2
 * / 17.0 (cuBLAS 13.1 in the same run 0.38 / 2.8 / 22.4 / 47.9, on the Tensor Cores).
 */
#include "../../simt.cuh"

/*                    BM  BN  BK  TM TN pieces blocks */
using shape = xg_simt<double, 32, 32, 16, 4, 4, 3, 4>;

static const char *ok(const xg_gkr_args *args)
{
  return xg_grid_ok(args, shape::BM, shape::BN);
}

static int launch(const xg_gkr_args *args, void *stream)
{
  return xg_simt_launch<shape>(args, stream);
}

static const void *function(const xg_gkr_args *args)
{
  return xg_simt_function<shape>(args);
}

extern "C" const xg_gkr dgemm_sm80_32x32x16 = {
    .name = "dgemm_sm80_32x32x16",
    .family = "sm80",
    .min_cc = 80,
    .type = 'd',
    .bm = shape::BM,
    .bn = shape::BN,
    .bk = shape::BK,
    .threads = shape::THREADS,
    .shared = shape::SHARED,
    .blocks = shape::BLOCKS,
    .efficiency = 0.58,
    .ok = ok,
    .function = function,
    .launch = launch,
};
