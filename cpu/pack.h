/* Copies a block of an operand into panels that a micro-kernel reads from end to end. */
#ifndef XG_PACK_H
#define XG_PACK_H

#include <stddef.h>

#include "ukr.h"

/* Elements that `rows` rows take in panels of `width` over k steps. */
static inline int64_t xg_packed_size(int64_t width, int64_t rows, int64_t k)
{
  return (rows + width - 1) / width * width * k;
}

/* Element (i,p) of the source is at src + i*is + p*ps, 0 <= i < rows, 0 <= p < k, any strides, e
 * bytes each. Panel q holds rows q*width .. q*width+width-1, zero-padded, and starts at dst +
 * q*width*k: A goes in with i = row and width = MR, B with i = column and width = NR. */
void xg_pack(const struct xg_ukr *packer, size_t e, int64_t width, int64_t rows, int64_t k,
             const void *src, int64_t is, int64_t ps, void *dst);

#endif
