/* The memory of one case: operands on the host and, for contestants that want it, on the card. */
#ifndef XGB_OPERANDS_H
#define XGB_OPERANDS_H

#include <stddef.h>

#include "case.h"
#include "memory.h"

struct xgb_operands {
  void *a, *b, *c, *c_start; /* c_start: what C holds before a call, if beta is not 0 */
  size_t a_bytes, b_bytes, c_bytes;
  /* On the card: `sets` copies, set s of X at x_device + s * x_step */
  char *a_device, *b_device, *c_device;
  void *a_narrow, *b_narrow; /* what goes there instead of A and B: 16-bit copies, or NULL */
  size_t a_step, b_step, c_step;
  long sets;
  int cold;             /* a set has left the L2 before its turn comes again */
  size_t room[4];       /* bytes of the four host buffers, which are kept from case to case */
  size_t filled[4];     /* bytes of them that are random */
  int filled_type[4];   /* 1 + the type of the random elements, + 100 if tiny */
  enum xgb_pages pages; /* of the host buffers; set before the first use */
};

/* Sets the leading dimensions of a case: the least plus `pad`. */
void xgb_case_storage(struct xgb_case *c, int64_t pad);

/* Makes room and random data, uniform in (-1, 1). 0, or -1: out of memory. */
int xgb_operands_prepare(struct xgb_operands *o, const struct xgb_case *c);

/* Rounds A and B (f32) to fp16 ('h') or bf16 ('b') and makes the copies in that type that go to the
 * card; other types: nothing. 0, or -1: out of memory. */
int xgb_operands_narrow(struct xgb_operands *o, char type);

/* Copies them to the card, often enough that the sets together exceed `rotate` bytes, but at most
 * 400 times: o->cold is 0 if they do not. */
int xgb_operands_to_device(struct xgb_operands *o, const struct xgb_case *c, size_t rotate);
void xgb_operands_free_device(struct xgb_operands *o);

/* C as before a call: c_start, or NaN everywhere if beta = 0, so that a C that is not written
 * shows. */
void xgb_operands_reset(struct xgb_operands *o, const struct xgb_case *c);
/* The same for set 0 on the card. */
int xgb_operands_reset_device(struct xgb_operands *o, const struct xgb_case *c);

void xgb_operands_free(struct xgb_operands *o);

/* The case over these pointers in the library's own terms. */
xgemm_problem xgb_problem(const struct xgb_case *c, const void *a, const void *b, void *out,
                          xgemm_space space);

#endif
