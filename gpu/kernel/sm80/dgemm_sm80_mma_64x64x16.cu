/* f64 on the Tensor Cores, block tile 64 x 64, 128 threads, Ampere's instruction.
 *
 *   block tile    64 x 64
 *   warp tile     32 x 32       4 warps
 *   stages        4, two pieces on their way, 17 KB each: two blocks on an A100, three on an H200
 *
 * H200, TFLOP/s at 2048 / 4096: 30.4 / 30.8. Hopper runs this instruction at half its rate, 33. Not
 * measured on an A100.
 */
#include "../../mma_f64_launch.cuh"

/*                       instruction    BM   BN   WM  WN WK stages ahead blocks */
using shape = xg_mma64<xg_mma64_sm80, 64, 64, 32, 32, 1, 4, 2, 3>;

static const char *ok(const xg_gkr_args *args)
{
  return xg_mma64_ok<shape>(args);
}

static int launch(const xg_gkr_args *args, void *stream)
{
  return xg_mma64_launch<shape>(args, stream);
}

static const void *function(const xg_gkr_args *args)
{
  return xg_mma64_function<shape>(args);
}

extern "C" const xg_gkr dgemm_sm80_mma_64x64x16 = {
    .name = "dgemm_sm80_mma_64x64x16",
    .family = "sm80",
    .min_cc = 80,
    .type = 'd',
    .tensor = 1,
    .bm = shape::BM,
    .bn = shape::BN,
    .bk = shape::BK,
    .threads = shape::THREADS,
    .shared = shape::SHARED,
    .blocks = shape::BLOCKS,
    .efficiency = 0.45,
    .ok = ok,
    .split = xg_mma64_split<shape>,
    .workspace = xg_mma64_workspace<shape>,
    .function = function,
    .launch = launch,
};
