#include "operands.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "machine.h"
#include "peaks.h"

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

/* Number `i` of a stream of random bits that is the same in every run (splitmix64). */
static int64_t random_bits(uint64_t seed, size_t i)
{
  uint64_t z = seed + (i + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return (int64_t)(z ^ (z >> 31));
}

struct filling {
  void *buffer;
  size_t count;
  xgemm_type type;
  uint64_t seed;
  int tiny;
  int threads;
};

/* In (-1, 1), or a little below the smallest normal number. */
static void fill_part(void *context, int index)
{
  const struct filling *f = context;
  const double scale_d = f->tiny ? 0x1p-1022 : 1;
  const float scale_f = f->tiny ? 0x1p-126f : 1;
  const size_t threads = (size_t)f->threads, part = (size_t)index;
  const size_t first = f->count / threads * part;
  const size_t end = part + 1 == threads ? f->count : first + f->count / threads;
  if (f->type == XGEMM_F64)
    for (size_t i = first; i < end; i++)
      ((double *)f->buffer)[i] = (double)random_bits(f->seed, i) * 0x1p-63 * scale_d;
  else
    for (size_t i = first; i < end; i++)
      ((float *)f->buffer)[i] = (float)(random_bits(f->seed, i) >> 32) * 0x1p-31f * scale_f;
}

static void fill(void *buffer, size_t bytes, xgemm_type type, uint64_t seed, int tiny)
{
  enum { FEW = 1 << 20 };
  size_t count = bytes / (type == XGEMM_F64 ? sizeof(double) : sizeof(float));
  struct filling f = {buffer, count, type, seed, tiny, count < FEW ? 1 : xgb_cores()};
  xgb_share_out(f.threads, fill_part, &f);
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

/* To nearest, ties to even; |x| < 1. fp16 loses bits below 2^-24. */
static uint16_t to_half(float x)
{
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  uint32_t sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
  if (size < 113u << 23) {        /* below 2^-14: subnormal */
    float grid = fabsf(x) + 0.5f; /* whose last place is 2^-24 */
    memcpy(&bits, &grid, sizeof bits);
    return (uint16_t)(sign | (bits - 0x3f000000));
  }
  uint32_t rounded = size - (112u << 23) + 0xfff + (size >> 13 & 1);
  return (uint16_t)(sign | rounded >> 13);
}

static float from_half(uint16_t half)
{
  float sign = half & 0x8000 ? -1 : 1;
  int exponent = half >> 10 & 31, fraction = half & 1023;
  return exponent == 0 ? sign * ldexpf((float)fraction, -24)
                       : sign * ldexpf((float)(1024 + fraction), exponent - 25);
}

static uint16_t to_bfloat(float x)
{
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float from_bfloat(uint16_t narrow)
{
  uint32_t bits = (uint32_t)narrow << 16;
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static void *narrow(float *wide, size_t bytes, char type)
{
  size_t count = bytes / sizeof *wide;
  uint16_t *out = malloc(count * sizeof *out + 1);
  for (size_t i = 0; i < count && out; i++) {
    out[i] = type == 'h' ? to_half(wide[i]) : to_bfloat(wide[i]);
    wide[i] = type == 'h' ? from_half(out[i]) : from_bfloat(out[i]);
  }
  return out;
}

int xgb_operands_narrow(struct xgb_operands *o, char type)
{
  free(o->a_narrow), free(o->b_narrow);
  o->a_narrow = o->b_narrow = NULL;
  if (type != 'h' && type != 'b') return 0;
  o->a_narrow = narrow(o->a, o->a_bytes, type);
  o->b_narrow = narrow(o->b, o->b_bytes, type);
  o->filled[0] = o->filled[1] = 0; /* no longer what they were filled with */
  return o->a_narrow && o->b_narrow ? 0 : -1;
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
  if (c->beta != 0) return xgb_device_upload(o->c_device, o->c_start, o->c_bytes);
  return xgb_device_set(o->c_device, 0xFF, o->c_bytes);
}

/* `sets` copies of a host buffer, 256 bytes aligned; only the room for them if it is NULL. */
static char *replicate(const void *host, size_t bytes, long sets, size_t *step)
{
  *step = (bytes + 255) / 256 * 256;
  char *device = xgb_device_alloc(*step * (size_t)sets);
  if (!device || !host) return device;
  int bad = xgb_device_upload(device, host, bytes);
  for (long s = 1; s < sets && !bad; s++)
    bad = xgb_device_copy(device + *step * (size_t)s, device, bytes);
  if (!bad) return device;
  xgb_device_free(device);
  return NULL;
}

int xgb_operands_to_device(struct xgb_operands *o, const struct xgb_case *c, size_t rotate)
{
  enum { MOST_SETS = 400 };
  size_t each = o->a_bytes + o->b_bytes + o->c_bytes + 1;
  o->cold = rotate / each < MOST_SETS;
  o->sets = o->cold ? (long)(rotate / each) + 1 : MOST_SETS;
  const int halved = o->a_narrow != NULL;
  o->a_device = replicate(halved ? o->a_narrow : o->a, o->a_bytes >> halved, o->sets, &o->a_step);
  o->b_device = replicate(halved ? o->b_narrow : o->b, o->b_bytes >> halved, o->sets, &o->b_step);
  o->c_device = replicate(c->beta != 0 ? o->c_start : NULL, o->c_bytes, o->sets, &o->c_step);
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
  free(o->a_narrow), free(o->b_narrow);
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
