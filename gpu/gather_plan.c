#include "gather.h"

static int64_t length(int64_t stride)
{
  return stride < 0 ? -stride : stride;
}

/* Tiles that read an operand again are at most 128 wide, so from here on it is read twice. */
enum { OFTEN = 128 };

/* Strides of 0 and 1 are read well as they are. Where lines overlap each other the copy could be
 * far larger than the operand. */
static int must_gather(int64_t rows, int64_t cols, int64_t rs, int64_t cs, int64_t uses)
{
  int64_t down = length(rs), across = length(cs);
  if (down <= 1 || across <= 1 || rows == 1 || cols == 1 || uses <= OFTEN) return 0;
  return down < across ? across / down >= rows : down / across >= cols;
}

/* Where turning costs 2 % at most: it moves 8 bytes an element, and each element then serves this
 * many FMAs. */
enum { LARGE = 1024 };

static int is_awkward(const void *x, int64_t along_k, int64_t across)
{
  return along_k == 1 && across != 1 && ((size_t)x % 16 != 0 || across % 4 != 0);
}

static int must_turn(const struct xg_gkr_args *args, size_t size)
{
  return size == sizeof(float) && args->m >= LARGE && args->n >= LARGE && args->k >= LARGE / 2 &&
         is_awkward(args->a, args->cs_a, args->rs_a) && is_awkward(args->b, args->rs_b, args->cs_b);
}

/* Strides of a dense copy whose rows (by_rows: whose columns) start on 16 bytes; its bytes. */
static size_t dense(int64_t rows, int64_t cols, int by_rows, int64_t *rs, int64_t *cs, size_t size)
{
  const size_t unit = 256;
  const int64_t wide = 16 / (int64_t)size;
  int64_t line = ((by_rows ? rows : cols) + wide - 1) / wide * wide;
  *rs = by_rows ? 1 : line, *cs = by_rows ? line : 1;
  return ((size_t)line * (size_t)(by_rows ? cols : rows) * size + unit - 1) / unit * unit;
}

struct xg_gather xg_gather_plan(struct xg_gkr_args *args, size_t size)
{
  const double sector = 32;
  struct xg_gather g = {0};
  double a = (double)args->m * (double)args->k, b = (double)args->k * (double)args->n;
  int turn = must_turn(args, size);
  int turn_a = turn && args->m <= args->n, turn_b = turn && !turn_a; /* the smaller one */
  g.a = turn_a || must_gather(args->m, args->k, args->rs_a, args->cs_a, args->n);
  g.b = turn_b || must_gather(args->k, args->n, args->rs_b, args->cs_b, args->m);
  if (g.a) {
    int by_rows = turn_a || length(args->rs_a) < length(args->cs_a);
    g.at_b = dense(args->m, args->k, by_rows, &args->rs_a, &args->cs_a, size);
    g.moved += a * (turn_a ? (double)(2 * size) : sector + (double)size);
  }
  g.bytes = g.at_b;
  if (g.b) {
    int by_rows = !turn_b && length(args->rs_b) < length(args->cs_b);
    g.bytes += dense(args->k, args->n, by_rows, &args->rs_b, &args->cs_b, size);
    g.moved += b * (turn_b ? (double)(2 * size) : sector + (double)size);
  }
  return g;
}
