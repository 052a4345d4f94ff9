/* f32, block tile 128 x 64, one slice, 8 x 8 a thread: many tiles and a short k.
 *
 *   block tile  128 x 64
 *   warp tile    32 x 64      4 warps, one above the other
 *   thread tile   8 x 8
 *
 * Three blocks of 4 warps on a multiprocessor, each with four pieces of 16 steps: while one reads
 * and writes C, two compute. Where k is 64 to 384, as in the updates of an LU factorisation, that
 * is what counts.
 *
 * H200, us by graph replay (cuBLAS 13.1 beside it), beta = 1: 4096 x 4096 x 64 NN 76.9 (82.2), 4096
 * x 4096 x 128 NT 109 (141), 2048 x 2048 x 64 NN 27.5 (26.9); beta = 0: 1760 x 128 x 1760 NN, k in
 * 4 parts, 27.6 (31.1). */
#include "../../sliced.cuh"

/*                             BM BN BK TM TN slices stages blocks */
using shape = xg_sliced<float, 128, 64, 16, 8, 8, 1, 4, 3, true>;

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

extern "C" const xg_gkr sgemm_sm90_sliced_128x64x16 = {
    .name = "sgemm_sm90_sliced_128x64x16",
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
    .efficiency = 0.77,
    .step_ns = 53,
    .fill_us = 5,
    .ok = ok,
    .split = split,
    .workspace = workspace,
    .function = function,
    .launch = launch,
};
