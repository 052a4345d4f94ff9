#include "gather.h"

static int64_t length(int64_t stride)
{
  return stride < 0 ? -stride : stride;
}

/* Tiles that read an operand again are at most 128 wide, so from here on it is read twice. */
enum { OFTEN = 128 };

/* Strides of 0 and 1 are read well as they are. An operand that fits into a few kilobytes is not
 * worth a launch. */
static int pays(int64_t rows, int64_t cols, int64_t rs, int64_t cs, int64_t uses)
{
  return length(rs) > 1 && length(cs) > 1 && rows > 1 && cols > 1 && uses > OFTEN;
}

/* The copy is dense along the dimension whose elements are nearer each other. */
static size_t dense(int64_t rows, int64_t cols, int64_t *rs, int64_t *cs, size_t size)
{
  const size_t unit = 256;
  const int64_t wide = 16 / (int64_t)size;
  int by_rows = length(*rs) < length(*cs);
  int64_t line = ((by_rows ? rows : cols) + wide - 1) / wide * wide;
  *rs = by_rows ? 1 : line, *cs = by_rows ? line : 1;
  return ((size_t)line * (size_t)(by_rows ? cols : rows) * size + unit - 1) / unit * unit;
}

struct xg_gather xg_gather_plan(struct xg_gkr_args *args, size_t size)
{
  const double sector = 32;
  struct xg_gather g = {0};
  g.a = pays(args->m, args->k, args->rs_a, args->cs_a, args->n);
  g.b = pays(args->k, args->n, args->rs_b, args->cs_b, args->m);
  double elements = 0;
  if (g.a) {
    g.at_b = dense(args->m, args->k, &args->rs_a, &args->cs_a, size);
    elements += (double)args->m * (double)args->k;
  }
  g.bytes = g.at_b;
  if (g.b) {
    g.bytes += dense(args->k, args->n, &args->rs_b, &args->cs_b, size);
    elements += (double)args->k * (double)args->n;
  }
  g.moved = elements * (sector + (double)size);
  return g;
}
