/* Small things that the ways through a product share. */
#ifndef XG_LOOPS_COMMON_H
#define XG_LOOPS_COMMON_H

#include "../common/problem.h"

enum { XG_FLOPS_PER_NS = 50 /* of a fast core, about */ };

/* alpha and beta in the product's type, as kernels take them. */
union scalar {
  float f;
  double d;
};

static inline int64_t min64(int64_t a, int64_t b)
{
  return a < b ? a : b;
}

static inline int64_t ceil_div(int64_t a, int64_t b)
{
  return a / b + (a % b != 0);
}

static inline int64_t round_up(int64_t x, int64_t step)
{
  return (x + step - 1) / step * step;
}

/* The first of `count` things that share number `id` of `parts` begins with; shares differ by one
 * at most, longer ones come first. */
static inline int64_t xg_share(int64_t count, int64_t id, int64_t parts)
{
  return count / parts * id + min64(id, count % parts);
}

/* Element (i,j) of an operand with elements of e bytes. */
static inline char *at(const struct xg_operand *x, int64_t e, int64_t i, int64_t j)
{
  return (char *)x->data + (i * x->rs + j * x->cs) * e;
}

#endif
