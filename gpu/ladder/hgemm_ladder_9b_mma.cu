/* Rung 9b for fp16: Tensor Cores by mma.sync. */
#include "gemm_ladder_9b_mma.cuh"

using rung = xg_tensor_rung<xg_mma_rung<__half>>;
using medium = xg_mma_rung<__half>::medium;

extern "C" const xg_gkr hgemm_ladder_9b_mma = {
    .name = "hgemm_ladder_9b_mma",
    .family = "ladder",
    .min_cc = 80,
    .type = 'h',
    .tensor = 1,
    .bm = medium::BM,
    .bn = medium::BN,
    .bk = medium::BK,
    .threads = medium::THREADS,
    .shared = xg_tensor_copies<__half, medium, XG_ALONG, XG_ACROSS>::SHARED,
    .blocks = 1,
    .efficiency = 0.44,
    .ok = rung::ok,
    .function = rung::function,
    .launch = rung::launch,
};
