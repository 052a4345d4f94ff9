/* f32, block tile 128 x 128, 256 threads, 8 x 8 a thread: large products.
 *
 *   block tile   128 x 128      2*128*128 / (4*(128+128)) = 32 flop/byte from device memory
 *   warp tile     32 x 64       8 warps, 4 down and 2 across
 *   thread tile    8 x 8        64 FMAs for 4 shared loads of 16 bytes: 94 % of the issue slots
 *
 * A piece is 16 steps of k, 2 * 16 * 132 * 4 = 16.5 KiB for A and B; two pieces, and two blocks on
 * a multiprocessor (at most 128 registers a thread), so that one computes while the other waits at
 * its barrier. Operands that are copied an element at a time take pieces of 8 steps, four of them.
 *
 * H200, TFLOP/s at 1024 / 2048 / 4096 / 8192, row-major NN: 21.1 / 45.8 / 46.9 / 47.1 (cuBLAS 13.1
 * in the same run 35.6 / 46.4 / 49.3 / 49.4); both operands wide (TN) 49.9 at 4096, neither
 * (NT) 44.1; 4095: 44. Limits: issue slots, and registers: 16 x 8 a thread was slower (42.7 at
 * 4096, one block on a multiprocessor).
 */
#include "../../simt.cuh"

/*                    BM  BN  BK  TM TN pieces blocks */
using shape = xg_simt<float, 128, 128, 16, 8, 8, 2, 2>;
using narrow = xg_simt<float, 128, 128, 8, 8, 8, 4, 2>;

static const char *ok(const xg_gkr_args *args)
{
  return xg_grid_ok(args, shape::BM, shape::BN);
}

static int launch(const xg_gkr_args *args, void *stream)
{
  return xg_simt_launch<shape, narrow>(args, stream);
}

static const void *function(const xg_gkr_args *args)
{
  return xg_simt_function<shape, narrow>(args);
}

extern "C" const xg_gkr sgemm_sm80_128x128x16 = {
    .name = "sgemm_sm80_128x128x16",
    .family = "sm80",
    .min_cc = 80,
    .type = 's',
    .bm = shape::BM,
    .bn = shape::BN,
    .bk = shape::BK,
    .threads = shape::THREADS,
    .shared = shape::SHARED,
    .blocks = shape::BLOCKS,
    .efficiency = 0.72,
    .ok = ok,
    .function = function,
    .launch = launch,
};
