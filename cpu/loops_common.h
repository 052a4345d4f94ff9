/* Small things that the ways through a product share. */
#ifndef XG_LOOPS_COMMON_H
#define XG_LOOPS_COMMON_H

#include "../common/problem.h"

/* alpha and beta in the product's type, as kernels take them. */
union scalar {
  float f;
  double d;
};

static inline int64_t min64(int64_t a, int64_t b)
{
  return a < b ? a : b;
}

/* Element (i,j) of an operand with elements of e bytes. */
static inline char *at(const struct xg_operand *x, int64_t e, int64_t i, int64_t j)
{
  return (char *)x->data + (i * x->rs + j * x->cs) * e;
}

#endif
