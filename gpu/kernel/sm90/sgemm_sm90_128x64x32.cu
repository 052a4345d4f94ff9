/* f32, block tile 128 x 64, 8 warps that multiply and 4 that load: about 1024 x 1024.
 *
 *   block tile   128 x 64       2*128*64 / (4*(128+64)) = 21 flop/byte from device memory
 *   warp tile     64 x 64       2 warps, one above the other, in 4 groups
 *   thread tile   16 x 8        128 FMAs for 6 shared loads of 16 bytes
 *
 * The warps of a large tile on a tile of a quarter of the size: each of the 4 groups has the whole
 * block tile and every fourth piece, and their sums are added in shared memory at the end. So there
 * are four times the tiles for the multiprocessors to share, at the same rate in the main loop. A
 * piece is 32 steps of k, 32 * (132 + 68) * 4 = 25 KiB; eight of them.
 *
 * H200, TFLOP/s, column-major NN / NT / TN at 1024: 42.3 / 46.0 / 41.3 (cuBLAS 13.1 in the same run
 * 35.4 / 40.6 / 34.0). Limits: the start and the end, 8 us; where operands run along k, their
 * copies, of which there are twice as many for an FMA as in a 128 x 256 tile. */
#include "../../sm90_simt.cuh"

/*                          BM   BN  BK  pieces groups unroll */
using shape = xg_ring_shape<128, 64, 32, 8, 4, 4>;

static const char *ok(const xg_gkr_args *args)
{
  return xg_sm90_ok<shape>(args);
}

static const void *function(const xg_gkr_args *args)
{
  return xg_sm90_function<shape>(args);
}

static int launch(const xg_gkr_args *args, void *stream)
{
  return xg_sm90_launch<shape>(args, stream);
}

extern "C" const xg_gkr sgemm_sm90_128x64x32 = {
    .name = "sgemm_sm90_128x64x32",
    .family = "sm90",
    .min_cc = 90,
    .max_cc = 90,
    .type = 's',
    .bm = shape::BM,
    .bn = shape::BN,
    .bk = shape::BK,
    .threads = shape::THREADS,
    .shared = shape::SHARED,
    .blocks = 1,
    .efficiency = 0.78,
    .step_ns = 39,
    .fill_us = 5,
    .ok = ok,
    .function = function,
    .launch = launch,
};
