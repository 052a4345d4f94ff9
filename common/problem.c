#include "problem.h"

#include <string.h>

#include "backend.h"
#include "status.h"

double xg_ideal_bytes(const struct xg_problem *p)
{
  double e = (double)xg_sizeof(p->type), m = (double)p->m, n = (double)p->n, k = (double)p->k;
  double bytes = m * n * (p->beta != 0 ? 2 : 1);
  if (!xg_is_scale_only(p)) bytes += m * k + k * n;
  return e * bytes;
}

static void scale_line_f32(float *c, int64_t count, int64_t step, float beta)
{
  for (int64_t i = 0; i < count; i++) c[i * step] = beta == 0 ? 0 : beta * c[i * step];
}

static void scale_line_f64(double *c, int64_t count, int64_t step, double beta)
{
  for (int64_t i = 0; i < count; i++) c[i * step] = beta == 0 ? 0 : beta * c[i * step];
}

void xg_scale_host(const struct xg_problem *p)
{
  if (p->beta == 1) return;
  int by_row = p->c.cs == 1; /* walk along the dimension that is contiguous */
  int64_t lines = by_row ? p->m : p->n, count = by_row ? p->n : p->m;
  int64_t line = by_row ? p->c.rs : p->c.cs, step = by_row ? p->c.cs : p->c.rs;
  for (int64_t i = 0; i < lines; i++)
    if (p->type == XGEMM_F64)
      scale_line_f64((double *)p->c.data + i * line, count, step, p->beta);
    else
      scale_line_f32((float *)p->c.data + i * line, count, step, (float)p->beta);
}

/* ---- checking what a caller wrote ---- */

static uint64_t magnitude(int64_t x)
{
  return x < 0 ? -(uint64_t)x : (uint64_t)x;
}

/* Whether (count-1)*|stride| elements, for both dimensions together, fit in ptrdiff_t bytes. */
static int span_fits(int64_t rows, int64_t cols, int64_t rs, int64_t cs, size_t size)
{
  uint64_t limit = (uint64_t)INT64_MAX / size, down, across;
  if (__builtin_mul_overflow((uint64_t)(rows - 1), magnitude(rs), &down)) return 0;
  if (__builtin_mul_overflow((uint64_t)(cols - 1), magnitude(cs), &across)) return 0;
  return down < limit && across < limit - down;
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
  while (b) {
    uint64_t r = a % b;
    a = b, b = r;
  }
  return a;
}

/* Two elements (i,j) != (i',j') coincide when (i-i')*rs = (j'-j)*cs. The least such pair of
 * differences is |cs|/g and |rs|/g with g their greatest common divisor; it exists in the matrix
 * when both are within it. */
static int elements_coincide(int64_t m, int64_t n, int64_t rs, int64_t cs)
{
  uint64_t r = magnitude(rs), c = magnitude(cs);
  if (m > 1 && r == 0) return 1;
  if (n > 1 && c == 0) return 1;
  if (m <= 1 || n <= 1) return 0;
  uint64_t g = gcd(r, c);
  return c / g <= (uint64_t)(m - 1) && r / g <= (uint64_t)(n - 1);
}

static int reserved_is_clear(const xgemm_matrix *x)
{
  for (size_t i = 0; i < sizeof x->reserved / sizeof x->reserved[0]; i++)
    if (x->reserved[i]) return 0;
  return 1;
}

/* Names, types, strides: what can be said without knowing whether the operand is read. */
static xgemm_status check_form(char name, const xgemm_matrix *x, int64_t rows, int64_t cols,
                               xgemm_type type)
{
  if (x->type != XGEMM_F32 && x->type != XGEMM_F64)
    return xg_fail(XGEMM_INVALID_ARGUMENT, "%c.type is %d, not a known type", name, (int)x->type);
  if (x->type != type)
    return xg_fail(XGEMM_UNSUPPORTED, "%c.type differs from a.type; A, B and C must agree", name);
  if ((int)x->space < XGEMM_SPACE_AUTO || x->space > XGEMM_SPACE_MANAGED)
    return xg_fail(XGEMM_INVALID_ARGUMENT, "%c.space is %d, not a known space", name,
                   (int)x->space);
  if (!reserved_is_clear(x))
    return xg_fail(XGEMM_UNSUPPORTED, "%c.reserved is not zero: a newer caller's feature", name);
  if (rows > 0 && cols > 0 && !span_fits(rows, cols, x->row_stride, x->col_stride, xg_sizeof(type)))
    return xg_fail(XGEMM_INVALID_ARGUMENT,
                   "%c is %lld x %lld with strides %lld, %lld: its byte span overflows", name,
                   (long long)rows, (long long)cols, (long long)x->row_stride,
                   (long long)x->col_stride);
  return XGEMM_OK;
}

xgemm_status xg_check_layout(const char *name, const void *given, size_t size, size_t known)
{
  if (size == 0) return XGEMM_OK;
  if (size < known)
    return xg_fail(XGEMM_INVALID_ARGUMENT, "%s.size is %zu, the first layout has %zu", name, size,
                   known);
  for (size_t i = known; i < size; i++)
    if (((const unsigned char *)given)[i])
      return xg_fail(XGEMM_UNSUPPORTED, "%s.size is %zu and its unknown tail is not zero", name,
                     size);
  return XGEMM_OK;
}

/* Same memory, same strides: certainly an overlap. Other overlaps are the caller's business. */
static int same_matrix(const xgemm_matrix *x, const xgemm_matrix *c)
{
  return x->data == c->data && x->row_stride == c->row_stride && x->col_stride == c->col_stride;
}

static xgemm_status resolve_spaces(struct xg_problem *out, const xgemm_problem *in, int reads)
{
  const struct xg_backend *gpu = xg_backend_by_id(XGEMM_BACKEND_GPU);
  const xgemm_matrix *operands[3] = {&in->c, &in->a, &in->b};
  int host = 0, device = 0, card = -1;
  for (int i = 0; i < (reads ? 3 : 1); i++) {
    xgemm_space space = operands[i]->space;
    int where = -1;
    if (space != XGEMM_SPACE_HOST && gpu->classify && operands[i]->data) {
      xgemm_space found = gpu->classify(operands[i]->data, &where);
      if (space == XGEMM_SPACE_AUTO) space = found;
    } else if (space == XGEMM_SPACE_AUTO) {
      space = XGEMM_SPACE_HOST;
    }
    host += space == XGEMM_SPACE_HOST;
    device += space == XGEMM_SPACE_DEVICE;
    if (space == XGEMM_SPACE_DEVICE && where >= 0) {
      if (card >= 0 && card != where)
        return xg_fail(XGEMM_UNSUPPORTED, "operands are on cards %d and %d; one card is needed",
                       card, where);
      card = where;
    }
  }
  if (host && device)
    return xg_fail(XGEMM_UNSUPPORTED, "some operands are in host and some in device memory");
  out->space = device ? XGEMM_SPACE_DEVICE : XGEMM_SPACE_HOST;
  out->device = card;
  return XGEMM_OK;
}

static xgemm_status check_pointers(const xgemm_problem *in, int reads)
{
  if (!in->c.data) return xg_fail(XGEMM_INVALID_ARGUMENT, "c.data is NULL");
  if (!reads) return XGEMM_OK;
  if (!in->a.data) return xg_fail(XGEMM_INVALID_ARGUMENT, "a.data is NULL");
  if (!in->b.data) return xg_fail(XGEMM_INVALID_ARGUMENT, "b.data is NULL");
  if (same_matrix(&in->a, &in->c))
    return xg_fail(XGEMM_INVALID_ARGUMENT, "c is the same matrix as a; they must not overlap");
  if (same_matrix(&in->b, &in->c))
    return xg_fail(XGEMM_INVALID_ARGUMENT, "c is the same matrix as b; they must not overlap");
  return XGEMM_OK;
}

static xgemm_status check_sizes(const xgemm_problem *in)
{
  if (in->m < 0) return xg_fail(XGEMM_INVALID_ARGUMENT, "m is %lld, negative", (long long)in->m);
  if (in->n < 0) return xg_fail(XGEMM_INVALID_ARGUMENT, "n is %lld, negative", (long long)in->n);
  if (in->k < 0) return xg_fail(XGEMM_INVALID_ARGUMENT, "k is %lld, negative", (long long)in->k);
  return XGEMM_OK;
}

xgemm_status xg_problem_form(struct xg_problem *out, const xgemm_problem *in)
{
  if (!in) return xg_fail(XGEMM_INVALID_ARGUMENT, "problem is NULL");
  xgemm_status status = xg_check_layout("problem", in, in->size, sizeof *in);
  if (status == XGEMM_OK) status = check_sizes(in);
  if (status == XGEMM_OK) status = check_form('a', &in->a, in->m, in->k, in->a.type);
  if (status == XGEMM_OK) status = check_form('b', &in->b, in->k, in->n, in->a.type);
  if (status == XGEMM_OK) status = check_form('c', &in->c, in->m, in->n, in->a.type);
  if (status != XGEMM_OK) return status;
  if (in->m && in->n && elements_coincide(in->m, in->n, in->c.row_stride, in->c.col_stride))
    return xg_fail(XGEMM_INVALID_ARGUMENT,
                   "c's strides %lld, %lld make two of its %lld x %lld elements one",
                   (long long)in->c.row_stride, (long long)in->c.col_stride, (long long)in->m,
                   (long long)in->n);
  int single = in->a.type == XGEMM_F32;
  *out = (struct xg_problem){
      .type = in->a.type,
      .space = XGEMM_SPACE_HOST,
      .device = -1,
      .m = in->m,
      .n = in->n,
      .k = in->k,
      .alpha = single ? (double)(float)in->alpha : in->alpha,
      .beta = single ? (double)(float)in->beta : in->beta,
      .a = {in->a.data, in->a.row_stride, in->a.col_stride},
      .b = {in->b.data, in->b.row_stride, in->b.col_stride},
      .c = {in->c.data, in->c.row_stride, in->c.col_stride},
  };
  return XGEMM_OK;
}

xgemm_status xg_problem_place(struct xg_problem *out, const xgemm_problem *in, int need_pointers)
{
  if (xg_is_nothing(out)) return XGEMM_OK;
  int reads = !xg_is_scale_only(out);
  xgemm_status status = need_pointers ? check_pointers(in, reads) : XGEMM_OK;
  return status == XGEMM_OK ? resolve_spaces(out, in, reads) : status;
}

xgemm_status xg_problem_from_public(struct xg_problem *out, const xgemm_problem *in)
{
  xgemm_status status = xg_problem_form(out, in);
  return status == XGEMM_OK ? xg_problem_place(out, in, 1) : status;
}
