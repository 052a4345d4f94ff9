/* spack_base: f32 packing for any machine, an element at a time in the order of the target, or of
 * the source where that one runs along k. Bound by loads and stores.
 */
#include "../../ukr.h"

static void pack(int64_t width, int64_t rows, int64_t k, const void *src_p, int64_t is, int64_t ps,
                 void *dst_p)
{
  const float *src = src_p;
  float *dst = dst_p;
  if (ps == 1) {
    for (int64_t i = 0; i < rows; i++)
      for (int64_t p = 0; p < k; p++) dst[p * width + i] = src[i * is + p];
  } else {
    for (int64_t p = 0; p < k; p++)
      for (int64_t i = 0; i < rows; i++) dst[p * width + i] = src[i * is + p * ps];
  }
  for (int64_t p = 0; p < k; p++)
    for (int64_t i = rows; i < width; i++) dst[p * width + i] = 0;
}

const struct xg_ukr spack_base = {
    .name = "spack_base",
    .isa = XG_ISA_BASE,
    .kind = XG_UKR_PACK,
    .type = 's',
    .priority = 10,
    .pack = pack,
};
