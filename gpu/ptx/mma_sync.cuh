/* Products of fragments by a warp on the Tensor Cores (sm_80): 2-byte operands, fp32 sums. */
#ifndef XG_PTX_MMA_SYNC_CUH
#define XG_PTX_MMA_SYNC_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

/* c (16 x 8) += a (16 x 16) * b (16 x 8). A register holds two neighbours along k of a and b.
 * Lane l, g = l/4, t = l%4:
 *     a[0] row g, k 2t   a[1] row g+8, k 2t   a[2] row g, k 2t+8   a[3] row g+8, k 2t+8
 *     b[0] column g, k 2t   b[1] column g, k 2t+8
 *     c[0], c[1] row g, columns 2t and 2t+1   c[2], c[3] row g+8 */
template <class E>
__device__ void xg_mma_16x8x16(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1);

template <>
__device__ inline void xg_mma_16x8x16<__half>(float (&c)[4], const uint32_t (&a)[4], uint32_t b0,
                                              uint32_t b1)
{
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
      "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <>
__device__ inline void xg_mma_16x8x16<__nv_bfloat16>(float (&c)[4], const uint32_t (&a)[4],
                                                     uint32_t b0, uint32_t b1)
{
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
      "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

#endif
