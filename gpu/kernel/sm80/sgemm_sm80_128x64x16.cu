/* f32, block tile 128 x 64, 128 threads, 8 x 8 a thread: where 128 x 128 tiles are too few.
 *
 *   block tile   128 x 64       21 flop/byte from device memory
 *   warp tile     32 x 64       4 warps, one above the other
 *   thread tile    8 x 8
 *
 * 1024 x 1024 is 128 tiles, about one for each of an H200's 132 multiprocessors (128 x 128: 64
 * tiles, half of the chip idle). Three pieces of 16 steps, three blocks on a multiprocessor.
 *
 * H200, TFLOP/s at 512 / 1024 / 2048 / 4096, row-major NN: 7.8 / 33.6 / 41.8 / 44.5 (cuBLAS 13.1 in
 * the same run 13.7 / 35.6 / 46.4 / 49.3).
 */
#include "../../simt.cuh"

/*                    BM  BN  BK  TM TN pieces blocks */
using shape = xg_simt<float, 128, 64, 16, 8, 8, 3, 3>;

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

extern "C" const xg_gkr sgemm_sm80_128x64x16 = {
    .name = "sgemm_sm80_128x64x16",
    .family = "sm80",
    .min_cc = 80,
    .type = 's',
    .bm = shape::BM,
    .bn = shape::BN,
    .bk = shape::BK,
    .threads = shape::THREADS,
    .shared = shape::SHARED,
    .blocks = shape::BLOCKS,
    .efficiency = 0.685,
    .ok = ok,
    .function = function,
    .launch = launch,
};
