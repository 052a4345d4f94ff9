/* f32, block tile 128 x 128, one slice, 8 x 8 a thread: as many large tiles as multiprocessors
 * hold.
 *
 *   block tile  128 x 128     2048 x 2048 is 256 tiles
 *   warp tile    32 x 64      8 warps, 4 down and 2 across
 *   thread tile   8 x 8
 *
 * Operands that are read k by k take 137 registers a thread and one block on a multiprocessor.
 *
 * H200, us by graph replay (cuBLAS 13.1 beside it), column-major NN, beta = 1: 2048 x 2048 x
 * 64 24.1 (26.9), 2048 x 2048 x 128 35.7 (37.4); beta = 0: 256 x 256 x 16384, k in parts, 55.2
 * (53.6). */
#include "../../sliced.cuh"

/*                             BM BN BK TM TN slices stages blocks */
using shape = xg_sliced<float, 128, 128, 16, 8, 8, 1, 3, 1, true>;

static const char *ok(const xg_gkr_args *args)
{
  return xg_sliced_ok<shape>(args);
}

static int split(const xg_gkr_args *args)
{
  return xg_sliced_split<shape>(args);
}

static size_t workspace(const xg_gkr_args *args)
{
  return xg_sliced_workspace<shape>(args);
}

static const void *function(const xg_gkr_args *args)
{
  return xg_sliced_function<shape>(args);
}

static int launch(const xg_gkr_args *args, void *stream)
{
  return xg_sliced_launch<shape>(args, stream);
}

extern "C" const xg_gkr sgemm_sm90_sliced_128x128x16 = {
    .name = "sgemm_sm90_sliced_128x128x16",
    .family = "sm90",
    .min_cc = 90,
    .max_cc = 90,
    .type = 's',
    .bm = shape::BM,
    .bn = shape::BN,
    .bk = shape::BK * shape::SLICES,
    .threads = shape::THREADS,
    .shared = shape::SHARED,
    .blocks = shape::BLOCKS,
    .efficiency = 0.75,
    .step_ns = 89,
    .fill_us = 5,
    .ok = ok,
    .split = split,
    .workspace = workspace,
    .function = function,
    .launch = launch,
};
