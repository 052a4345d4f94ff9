/* f32, block tile 128 x 256, 8 warps that multiply and 4 that load: large products.
 *
 *   block tile   128 x 256      2*128*256 / (4*(128+256)) = 43 flop/byte from device memory
 *   warp tile     64 x 64       8 warps, 2 down and 4 across
 *   thread tile   16 x 8        128 FMAs for 6 shared loads of 16 bytes
 *
 * A piece is 32 steps of k, 32 * (132 + 260) * 4 = 49 KiB; four of them, 196 KiB. One block on a
 * multiprocessor, which stays for all its tiles; those that don't come out even are split along k.
 *
 * H200, TFLOP/s, column-major NN / NT / TN / TT at 4096: 53.0 / 53.4 / 52.5 / 52.6 (cuBLAS 13.1 in
 * the same run 51.1 / 51.8 / 50.5 / 49.3); NN at 2048 50.0 (50.3), at 8192 53.7 (51.3).
 *
 * Limits, in cycles of a scheduler for the 128 FMAs of a step: 128, and 6 and 14 for the loads,
 * since a 16-byte load holds up the issue by 2.4 cycles more (a loop of nothing else takes 150); 2
 * for the loop; the rest of the 160 is instruction fetch, edges and the start. A loop of 8 steps,
 * 18 KB, saves an instruction a step and is slower as soon as the loaders run too; of 16 steps, 10
 * %. */
#include "../../sm90_simt.cuh"

/*                          BM   BN   BK  pieces groups unroll */
using shape = xg_ring_shape<128, 256, 32, 4, 1, 4>;

static const char *ok(const xg_gkr_args *args)
{
  return xg_sm90_ok<shape>(args);
}

static double rounds(const xg_gkr_args *args)
{
  return xg_sm90_rounds<shape>(args);
}

static size_t workspace(const xg_gkr_args *args)
{
  return xg_sm90_workspace<shape>(args);
}

static const void *function(const xg_gkr_args *args)
{
  return xg_sm90_function<shape>(args);
}

static int launch(const xg_gkr_args *args, void *stream)
{
  return xg_sm90_launch<shape>(args, stream);
}

extern "C" const xg_gkr sgemm_sm90_128x256x32 = {
    .name = "sgemm_sm90_128x256x32",
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
    .efficiency = 0.80,
    .step_ns = 161,
    .fill_us = 11,
    .ok = ok,
    .rounds = rounds,
    .workspace = workspace,
    .function = function,
    .launch = launch,
};
