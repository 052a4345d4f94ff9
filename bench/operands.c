#include "operands.h"

#include <stdlib.h>
#include <string.h>

#include "device.h"

static int64_t most(int64_t a, int64_t b)
{
  return a > b ? a : b;
}

/* Rows and columns of op(X) as stored: the contiguous direction first. */
static int64_t least_ld(int row_major, char trans, int64_t rows, int64_t cols)
{
  int rows_contiguous = row_major == (trans == 'T');
  return most(1, rows_contiguous ? rows : cols);
}

static int64_t lines(int row_major, char trans, int64_t rows, int64_t cols)
{
  int rows_contiguous = row_major == (trans == 'T');
  return rows_contiguous ? cols : rows;
}

void xgb_case_storage(struct xgb_case *c, int64_t pad)
{
  c->lda = least_ld(c->row_major, c->transa, c->m, c->k) + pad;
  c->ldb = least_ld(c->row_major, c->transb, c->k, c->n) + pad;
  c->ldc = least_ld(c->row_major, 'N', c->m, c->n) + pad;
}

static int make_room(void **buffer, size_t *room, size_t bytes, enum xgb_pages pages, int *fresh)
{
  *fresh = 0;
  if (*buffer && *room >= bytes) return 0;
  xgb_pages_free(*buffer, *room, pages);
  *room = 0;
  *buffer = xgb_pages_alloc(bytes > 0 ? bytes : 1, pages);
  if (!*buffer) return -1;
  *room = bytes;
  *fresh = 1;
  return 0;
}

/* Random bits of a stream that is the same in every run (splitmix64). */
static uint64_t next(uint64_t *state)
{
  uint64_t z = (*state += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

/* In (-1, 1), or a little below the smallest normal number. */
static void fill(void *buffer, size_t bytes, xgemm_type type, uint64_t seed, int tiny)
{
  const double d = tiny ? 0x1p-1022 : 1;
  const float f = tiny ? 0x1p-126f : 1;
  if (type == XGEMM_F64)
    for (size_t i = 0; i < bytes / sizeof(double); i++)
      ((double *)buffer)[i] = (double)(int64_t)next(&seed) * 0x1p-63 * d;
  else
    for (size_t i = 0; i < bytes / sizeof(float); i++)
      ((float *)buffer)[i] = (float)((int64_t)next(&seed) >> 32) * 0x1p-31f * f;
}

int xgb_operands_prepare(struct xgb_operands *o, const struct xgb_case *c)
{
  size_t es = c->type == XGEMM_F64 ? sizeof(double) : sizeof(float);
  o->a_bytes = es * (size_t)(c->lda * lines(c->row_major, c->transa, c->m, c->k));
  o->b_bytes = es * (size_t)(c->ldb * lines(c->row_major, c->transb, c->k, c->n));
  o->c_bytes = es * (size_t)(c->ldc * lines(c->row_major, 'N', c->m, c->n));
  struct {
    void **buffer;
    size_t bytes;
  } wanted[4] = {{&o->a, o->a_bytes},
                 {&o->b, o->b_bytes},
                 {&o->c, o->c_bytes},
                 {&o->c_start, c->beta != 0 ? o->c_bytes : 0}};
  for (int i = 0; i < 4; i++) {
    int fresh;
    if (make_room(wanted[i].buffer, &o->room[i], wanted[i].bytes, o->pages, &fresh)) return -1;
    if (i == 2) continue;
    /* What is random already stays: filling is slower than many a product. */
    const int tiny = i == 0 && c->tiny_a, kind = 1 + (int)c->type + (tiny ? 100 : 0);
    if (fresh || o->filled_type[i] != kind || o->filled[i] < wanted[i].bytes) {
      fill(*wanted[i].buffer, wanted[i].bytes, c->type, (uint64_t)i + 1, tiny);
      o->filled[i] = wanted[i].bytes;
      o->filled_type[i] = kind;
    }
  }
  return 0;
}

void xgb_operands_reset(struct xgb_operands *o, const struct xgb_case *c)
{
  if (c->beta != 0)
    memcpy(o->c, o->c_start, o->c_bytes);
  else
    memset(o->c, 0xFF, o->c_bytes); /* all bits set is a NaN in both types */
}

int xgb_operands_reset_device(struct xgb_operands *o, const struct xgb_case *c)
{
  xgb_operands_reset(o, c);
  return xgb_device_upload(o->c_device, o->c, o->c_bytes);
}

/* `sets` copies of a host buffer, 256 bytes aligned. */
static char *replicate(const void *host, size_t bytes, long sets, size_t *step)
{
  *step = (bytes + 255) / 256 * 256;
  char *device = xgb_device_alloc(*step * (size_t)sets);
  if (!device || xgb_device_upload(device, host, bytes)) return device;
  for (long s = 1; s < sets; s++)
    if (xgb_device_copy(device + *step * (size_t)s, device, bytes)) return device;
  return device;
}

int xgb_operands_to_device(struct xgb_operands *o, size_t rotate)
{
  enum { MOST_SETS = 1024 };
  size_t each = o->a_bytes + o->b_bytes + o->c_bytes + 1;
  o->sets = rotate / each < MOST_SETS ? (long)(rotate / each) + 1 : MOST_SETS;
  o->a_device = replicate(o->a, o->a_bytes, o->sets, &o->a_step);
  o->b_device = replicate(o->b, o->b_bytes, o->sets, &o->b_step);
  o->c_device = replicate(o->c, o->c_bytes, o->sets, &o->c_step);
  return o->a_device && o->b_device && o->c_device ? 0 : -1;
}

void xgb_operands_free_device(struct xgb_operands *o)
{
  xgb_device_free(o->a_device);
  xgb_device_free(o->b_device);
  xgb_device_free(o->c_device);
  o->a_device = o->b_device = o->c_device = NULL;
}

void xgb_operands_free(struct xgb_operands *o)
{
  xgb_operands_free_device(o);
  void *const buffers[4] = {o->a, o->b, o->c, o->c_start};
  for (int i = 0; i < 4; i++) xgb_pages_free(buffers[i], o->room[i], o->pages);
  memset(o, 0, sizeof *o);
}

xgemm_problem xgb_problem(const struct xgb_case *c, const void *a, const void *b, void *out,
                          xgemm_space space)
{
  xgemm_matrix (*store)(const void *, xgemm_type, int64_t) =
      c->row_major ? xgemm_row_major : xgemm_col_major;
  xgemm_problem p = XGEMM_PROBLEM_INIT;
  p.m = c->m, p.n = c->n, p.k = c->k;
  p.alpha = c->alpha, p.beta = c->beta;
  p.a = store(a, c->type, c->lda);
  p.b = store(b, c->type, c->ldb);
  p.c = store(out, c->type, c->ldc);
  if (c->transa == 'T') p.a = xgemm_transpose(p.a);
  if (c->transb == 'T') p.b = xgemm_transpose(p.b);
  p.a.space = p.b.space = p.c.space = space;
  return p;
}
