/* Rung 9 for fp16: Tensor Cores by WMMA. */
#include "gemm_ladder_9_wmma.cuh"

using rung = xg_tensor_rung<xg_wmma_rung<__half>>;
using medium = xg_wmma_rung<__half>::medium;

extern "C" const xg_gkr hgemm_ladder_9_wmma = {
    .name = "hgemm_ladder_9_wmma",
    .family = "ladder",
    .min_cc = 80,
    .type = 'h',
    .tensor = 1,
    .bm = medium::BM,
    .bn = medium::BN,
    .bk = medium::BK,
    .threads = medium::THREADS,
    .shared = xg_tensor_copies<__half, medium, XG_ALONG, XG_ACROSS>::SHARED,
    .blocks = 2,
    .efficiency = 0.32,
    .ok = rung::ok,
    .function = rung::function,
    .launch = rung::launch,
};
