#include "box.h"

static int64_t magnitude(int64_t x)
{
  return x < 0 ? -x : x;
}

/* Lines along which dimension: lines of contiguous elements if there are any, the longer ones if
 * there are both; otherwise along the smaller stride. */
static int by_rows(int64_t rows, int64_t cols, int64_t rs, int64_t cs)
{
  int rows_dense = cols == 1 || cs == 1, cols_dense = rows == 1 || rs == 1;
  if (rows_dense != cols_dense) return rows_dense;
  return rows_dense ? cols >= rows : cs <= rs;
}

struct xg_box xg_box_of(const struct xg_operand *x, int64_t rows, int64_t cols, xgemm_type type)
{
  int64_t r = x->rs == 0 ? 1 : rows, c = x->cs == 0 ? 1 : cols;
  int64_t ar = magnitude(x->rs), ac = magnitude(x->cs);
  int64_t lowest = (x->rs < 0 ? (r - 1) * x->rs : 0) + (x->cs < 0 ? (c - 1) * x->cs : 0);
  int flat = by_rows(r, c, ar, ac);
  struct xg_box box = {.size = xg_sizeof(type)};
  box.base = (char *)x->data + lowest * (int64_t)box.size;
  box.lines = flat ? r : c, box.width = flat ? c : r;
  box.pitch = flat ? ar : ac, box.step = flat ? ac : ar;
  if (box.lines == 1) box.pitch = box.width; /* never used */
  if (box.width == 1) box.step = 1;

  int64_t unit = 16 / (int64_t)box.size;
  box.card_pitch = (box.width + unit - 1) / unit * unit;
  int64_t down = x->rs < 0 ? -1 : x->rs > 0, across = x->cs < 0 ? -1 : x->cs > 0;
  box.card_rs = down * (flat ? box.card_pitch : 1);
  box.card_cs = across * (flat ? 1 : box.card_pitch);
  box.first = (down < 0 ? (r - 1) * -box.card_rs : 0) + (across < 0 ? (c - 1) * -box.card_cs : 0);
  return box;
}

int xg_box_is_direct(const struct xg_box *box)
{
  const int64_t shortest = 64, longest_pitch = INT32_MAX; /* bytes: worth a copy; CUDA's limit */
  if (box->step != 1) return 0;
  if (box->lines == 1) return 1;
  return box->pitch >= box->width && box->width * (int64_t)box->size >= shortest &&
         box->pitch <= longest_pitch / (int64_t)box->size;
}

static void gather_s(const float *from, int64_t step, float *to, int64_t count)
{
  for (int64_t i = 0; i < count; i++) to[i] = from[i * step];
}

static void gather_d(const double *from, int64_t step, double *to, int64_t count)
{
  for (int64_t i = 0; i < count; i++) to[i] = from[i * step];
}

static void scatter_s(const float *from, float *to, int64_t step, int64_t count)
{
  for (int64_t i = 0; i < count; i++) to[i * step] = from[i];
}

static void scatter_d(const double *from, double *to, int64_t step, int64_t count)
{
  for (int64_t i = 0; i < count; i++) to[i * step] = from[i];
}

static void *host_line(const struct xg_box *box, int64_t line)
{
  return box->base + line * box->pitch * (int64_t)box->size;
}

void xg_box_gather(const struct xg_box *box, int64_t first, int64_t count, void *buffer)
{
  for (int64_t i = 0; i < count; i++) {
    void *from = host_line(box, first + i), *to = (char *)buffer + i * xg_box_line_bytes(box);
    if (box->size == sizeof(double))
      gather_d(from, box->step, to, box->width);
    else
      gather_s(from, box->step, to, box->width);
  }
}

void xg_box_scatter(const struct xg_box *box, int64_t first, int64_t count, const void *buffer)
{
  for (int64_t i = 0; i < count; i++) {
    const void *from = (const char *)buffer + i * xg_box_line_bytes(box);
    void *to = host_line(box, first + i);
    if (box->size == sizeof(double))
      scatter_d(from, to, box->step, box->width);
    else
      scatter_s(from, to, box->step, box->width);
  }
}
