/* f64, block tile 128 x 64, 128 threads, 8 x 8 a thread: large products.
 *
 *   block tile   128 x 64       2*128*64 / (8*(128+64)) = 10.7 flop/byte from device memory
 *   warp tile     32 x 64       4 warps, one above the other
 *   thread tile    8 x 8        128 registers of sums
 *
 * Three pieces of 8 steps, 12.3 KiB each; two blocks on a multiprocessor.
 *
 * H200, TFLOP/s at 512 / 1024 / 2048 / 4096, row-major NN: 4.7 / 19.4 / 23.0 / 23.6, of 33.5 that
 * the FMA units can do. cuBLAS 13.1 in the same run: 22.4 / 47.9 / 51.2 / 57.1, on the Tensor
 * Cores, which do twice as many f64 FMAs as the FMA units: what this kernel leaves is theirs.
 */
#include "../../simt.cuh"

/*                    BM  BN  BK  TM TN pieces blocks */
using shape = xg_simt<double, 128, 64, 8, 8, 8, 3, 2>;

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

extern "C" const xg_gkr dgemm_sm80_128x64x8 = {
    .name = "dgemm_sm80_128x64x8",
    .family = "sm80",
    .min_cc = 80,
    .type = 'd',
    .bm = shape::BM,
    .bn = shape::BN,
    .bk = shape::BK,
    .threads = shape::THREADS,
    .shared = shape::SHARED,
    .blocks = shape::BLOCKS,
    .efficiency = 0.73,
    .ok = ok,
    .function = function,
    .launch = launch,
};
