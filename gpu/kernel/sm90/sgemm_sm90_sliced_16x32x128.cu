/* f32, block tile 16 x 32, 8 slices, 4 x 4 a thread: the smallest products.
 *
 *   block tile   16 x 32      256 x 256 is 128 tiles, about one for each multiprocessor of an H200
 *   warp tile    16 x 32      a slice is one warp
 *   thread tile   4 x 4
 *
 * 8 slices with three pieces of 16 steps: all of k is on its way at once if it is at most 384.
 *
 * H200, us by graph replay (cuBLAS 13.1 beside it), column-major NN: 31^3 1.8 (3.9), 129^3 2.6
 * (6.6), 256^3 3.2 (7.3), 257^3 5.4 (7.6). Limits: the way from memory, and from one kernel to the
 * next. */
#include "../../sliced.cuh"

/*                             BM BN BK TM TN slices stages blocks */
using shape = xg_sliced<float, 16, 32, 16, 4, 4, 8, 3, 2, true>;

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

extern "C" const xg_gkr sgemm_sm90_sliced_16x32x128 = {
    .name = "sgemm_sm90_sliced_16x32x128",
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
    .efficiency = 0.44,
    .step_ns = 4.8,
    .fill_us = 1.0,
    .ok = ok,
    .split = split,
    .workspace = workspace,
    .function = function,
    .launch = launch,
};
