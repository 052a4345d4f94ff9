/* f32, block tile 32 x 32, 64 threads, 4 x 4 a thread: small products.
 *
 *   block tile    32 x 32       8 flop/byte from device memory: the L2 cache has to answer
 *   warp tile     16 x 32       2 warps
 *   thread tile    4 x 4        16 FMAs for 2 shared loads of 16 bytes
 *
 * 512 x 512 is 256 tiles, two for each multiprocessor of an H200. Four pieces of 16 steps.
 *
 * H200, TFLOP/s at 128 / 256 / 512 / 1024, row-major NN, called back to back: 0.74 / 3.9 / 17.3
 * / 29.9 (cuBLAS 13.1 in the same run 0.32 / 1.8 / 13.7 / 35.6). Limit on large products: shared
 * memory, 2 FMAs for each element read from it against 4 with 8 x 8 a thread.
 */
#include "../../simt.cuh"

/*                    BM  BN  BK  TM TN pieces blocks */
using shape = xg_simt<float, 32, 32, 16, 4, 4, 4, 8>;

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

extern "C" const xg_gkr sgemm_sm80_32x32x16 = {
    .name = "sgemm_sm80_32x32x16",
    .family = "sm80",
    .min_cc = 80,
    .type = 's',
    .bm = shape::BM,
    .bn = shape::BN,
    .bk = shape::BK,
    .threads = shape::THREADS,
    .shared = shape::SHARED,
    .blocks = shape::BLOCKS,
    .efficiency = 0.51,
    .ok = ok,
    .function = function,
    .launch = launch,
};
