/* f32, block tile 64 x 64, 3 slices, 8 x 8 a thread: middling products.
 *
 *   block tile   64 x 64      1024 x 1024 is 256 tiles, two for each multiprocessor of an H200
 *   warp tile    32 x 64      a slice is two warps, one above the other
 *   thread tile   8 x 8       64 FMAs for 4 shared loads of 16 bytes
 *
 * Two blocks of 6 warps on a multiprocessor, so that one begins or ends while the other computes.
 *
 * H200, TFLOP/s (cuBLAS 13.1 beside it) at 1024, column-major NN 43.0 (35.5), TN 38.4 (34.1),
 * NT 45.8 (40.9), TT 42.2 (36.3); at 2048 NN 46.0 (50.4), NT 48.7 (52.0). Limits: registers for the
 * operand that is read along k, and the shared memory passes of the second such operand (TN). */
#include "../../sliced.cuh"

/*                             BM BN BK TM TN slices stages blocks */
using shape = xg_sliced<float, 64, 64, 16, 8, 8, 3, 3, 2, true>;

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

extern "C" const xg_gkr sgemm_sm90_sliced_64x64x48 = {
    .name = "sgemm_sm90_sliced_64x64x48",
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
    .efficiency = 0.775,
    .step_ns = 29,
    .fill_us = 3.5,
    .ok = ok,
    .split = split,
    .workspace = workspace,
    .function = function,
    .launch = launch,
};
