#include <cuda.h>
#include <cuda_runtime.h>

#include "tmap.h"

typedef decltype(&cuTensorMapEncodeTiled) encoder;

/* The driver's own function, found at run time: the library links no driver. */
static encoder find_encoder()
{
  static void *found; /* every thread would store the same */
  void *entry = __atomic_load_n(&found, __ATOMIC_RELAXED);
  if (entry) return (encoder)entry;
  cudaDriverEntryPointQueryResult result;
  if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault,
                                       &result) != cudaSuccess ||
      result != cudaDriverEntryPointSuccess)
    return nullptr;
  __atomic_store_n(&found, entry, __ATOMIC_RELAXED);
  return (encoder)entry;
}

int xg_tmap_can(const void *data, int size, int64_t inner, int64_t outer, int64_t inner_stride,
                int64_t outer_stride)
{
  const int64_t most = (int64_t)1 << 30, most_pitch = (int64_t)1 << 40;
  if ((uintptr_t)data % 16 != 0 || inner > most || outer > most) return 0;
  if (inner > 1 && inner_stride != 1) return 0;
  if (outer == 1) return 1;
  return outer_stride > 0 && outer_stride < most_pitch / size && outer_stride * size % 16 == 0;
}

int xg_tmap_make(struct xg_tmap *map, const struct xg_tmap_matrix *x)
{
  encoder encode = find_encoder();
  if (!encode) return -1;
  CUtensorMapDataType type = x->type == 's'   ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32
                             : x->type == 'd' ? CU_TENSOR_MAP_DATA_TYPE_FLOAT64
                             : x->type == 'h' ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
                                              : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  uint64_t size = x->type == 'd' ? 8 : x->type == 's' ? 4 : 2;
  uint64_t pitch =
      x->outer == 1 ? ((uint64_t)x->inner * size + 15) / 16 * 16 : (uint64_t)x->pitch * size;
  cuuint64_t extents[] = {(cuuint64_t)x->inner, (cuuint64_t)x->outer}, pitches[] = {pitch};
  cuuint32_t box[] = {(cuuint32_t)x->box_inner, (cuuint32_t)x->box_outer}, steps[] = {1, 1};
  CUresult status = encode((CUtensorMap *)map, type, 2, (void *)x->data, extents, pitches, box,
                           steps, CU_TENSOR_MAP_INTERLEAVE_NONE, (CUtensorMapSwizzle)x->swizzle,
                           CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return status == CUDA_SUCCESS ? 0 : -1;
}
