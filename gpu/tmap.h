/* Tensor maps: how the copy engine of sm_90 is told about a matrix in device memory. Made on the
 * host, passed to a kernel by value as a __grid_constant__ parameter. Plain C. */
#ifndef XG_TMAP_H
#define XG_TMAP_H

#include <stdint.h>

struct xg_tmap {
#ifdef __cplusplus
  alignas(64)
#else
  _Alignas(64)
#endif
      uint64_t opaque[16];
};

enum xg_tmap_swizzle { XG_TMAP_LINEAR = 0, XG_TMAP_SWIZZLE_128 = 3 };

struct xg_tmap_matrix {
  const void *data; /* on 16 bytes */
  char type;        /* 's', 'd', 'h' (fp16), 'b' (bf16) */
  int64_t inner;    /* elements along the unit stride */
  int64_t outer;
  int64_t pitch;            /* elements from one outer to the next: a multiple of 16 bytes, > 0 */
  int box_inner, box_outer; /* at most 256 */
  enum xg_tmap_swizzle swizzle;
};

#ifdef __cplusplus
extern "C" {
#endif
/* Whether a matrix has what a map asks for: unit stride inside, 16-byte base and pitch, and extents
 * that coordinates of 32 bits reach. */
int xg_tmap_can(const void *data, int size, int64_t inner, int64_t outer, int64_t inner_stride,
                int64_t outer_stride);

/* 0, or -1 if the driver has no tensor maps or refuses this one. */
int xg_tmap_make(struct xg_tmap *map, const struct xg_tmap_matrix *matrix);
#ifdef __cplusplus
}
#endif

#endif
