/* f32, block tile 32 x 32, 8 slices, 8 x 4 a thread: small products.
 *
 *   block tile   32 x 32      512 x 512 is 256 tiles, two for each multiprocessor of an H200
 *   warp tile    32 x 32      a slice is one warp
 *   thread tile   8 x 4       32 FMAs for 3 shared loads of 16 bytes
 *
 * H200, us by graph replay (cuBLAS 13.1 beside it), column-major NN: 333^3 5.9 (8.9), 500^3 10.4
 * (12.8), 512^3 9.8 (12.9); 512^3 NT 8.8 (12.8), TN 11.5 (13.6). Limit: the L2 cache, which has to
 * deliver 8 flop/byte. */
#include "../../sliced.cuh"

/*                             BM BN BK TM TN slices stages blocks */
using shape = xg_sliced<float, 32, 32, 16, 8, 4, 8, 2, 2, true>;

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

extern "C" const xg_gkr sgemm_sm90_sliced_32x32x128 = {
    .name = "sgemm_sm90_sliced_32x32x128",
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
    .efficiency = 0.59,
    .step_ns = 7.1,
    .fill_us = 1.3,
    .ok = ok,
    .split = split,
    .workspace = workspace,
    .function = function,
    .launch = launch,
};
