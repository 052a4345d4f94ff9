/* f32, block tile 128 x 64, 3 slices, 8 x 8 a thread: middling products whose tiles are about as
 * many as the multiprocessors.
 *
 *   block tile  128 x 64      1024 x 1024 is 128 tiles for the 132 multiprocessors of an H200
 *   warp tile    32 x 64      a slice is four warps, one above the other
 *   thread tile   8 x 8
 *
 * One block of 12 warps on a multiprocessor: nothing hides its beginning and end, so k should be
 * long.
 *
 * H200, TFLOP/s (cuBLAS 13.1 beside it) at 1024, column-major NN 41.8 (35.5), TN 37.6 (34.1),
 * NT 45.9 (40.9), TT 43.4 (36.3); at 2048 NN 45.1 (50.4), NT 49.2 (52.0). */
#include "../../sliced.cuh"

/*                             BM BN BK TM TN slices stages blocks */
using shape = xg_sliced<float, 128, 64, 16, 8, 8, 3, 3, 1, true>;

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

extern "C" const xg_gkr sgemm_sm90_sliced_128x64x48 = {
    .name = "sgemm_sm90_sliced_128x64x48",
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
    .efficiency = 0.76,
    .step_ns = 44.9,
    .fill_us = 4.5,
    .ok = ok,
    .split = split,
    .workspace = workspace,
    .function = function,
    .launch = launch,
};
