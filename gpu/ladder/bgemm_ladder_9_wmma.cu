/* Rung 9 for bf16: Tensor Cores by WMMA. */
#include "gemm_ladder_9_wmma.cuh"

using rung = xg_tensor_rung<xg_wmma_rung<__nv_bfloat16>>;
using medium = xg_wmma_rung<__nv_bfloat16>::medium;

extern "C" const xg_gkr bgemm_ladder_9_wmma = {
    .name = "bgemm_ladder_9_wmma",
    .family = "ladder",
    .min_cc = 80,
    .type = 'b',
    .tensor = 1,
    .bm = medium::BM,
    .bn = medium::BN,
    .bk = medium::BK,
    .threads = medium::THREADS,
    .shared = xg_tensor_copies<__nv_bfloat16, medium, XG_ALONG, XG_ACROSS>::SHARED,
    .blocks = 2,
    .efficiency = 0.2,
    .ok = rung::ok,
    .function = rung::function,
    .launch = rung::launch,
};
