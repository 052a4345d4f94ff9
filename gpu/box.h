/* A host operand as a box of lines: what is copied to and from a card.
 *
 *          width elements
 *        +----------------+...              lines are pitch apart in the host's memory, elements of
 * a |  line 0        |  :  gap         line `step` apart (1: they can be copied as they are, else
 *        +----------------+..:              they are gathered first); on the card lines are dense
 * but |  line 1        |                 for rounding up to 16 bytes, and steps are 1
 *        +----------------+
 * Negative strides keep their order in memory: only the place of element (0,0) differs. A stride of
 * 0 is a box of one line, or of lines of one element, on the card too. */
#ifndef XG_GPU_BOX_H
#define XG_GPU_BOX_H

#include <stddef.h>
#include <stdint.h>

#include "../common/problem.h"

struct xg_box {
  char *base;  /* lowest address */
  size_t size; /* of an element */
  int64_t lines, width;
  int64_t pitch, step;      /* host, elements */
  int64_t card_pitch;       /* card, elements */
  int64_t first;            /* card: elements from the start to element (0,0) */
  int64_t card_rs, card_cs; /* card strides */
};

struct xg_box xg_box_of(const struct xg_operand *x, int64_t rows, int64_t cols, xgemm_type type);

/* Whether one two-dimensional copy does it. */
int xg_box_is_direct(const struct xg_box *box);

static inline size_t xg_box_line_bytes(const struct xg_box *box)
{
  return (size_t)box->card_pitch * box->size;
}

/* Lines first .. first+count-1 between the host operand and a dense buffer of card_pitch lines. */
void xg_box_gather(const struct xg_box *box, int64_t first, int64_t count, void *buffer);
void xg_box_scatter(const struct xg_box *box, int64_t first, int64_t count, const void *buffer);

#endif
