#include "verify.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tests/reference.h"
#include "machine.h"
#include "peaks.h"

enum { LINES = 4 }; /* rows and columns that are computed in full */

static const double full_flops = 0x1p23; /* up to here every element is compared */
static const double full_elements = 0x1p20;

/* Some lines of C: of C itself for rows, of its transpose for columns. */
struct lines {
  int count;
  int64_t index[LINES];
  double *value, *size; /* count x length */
};

struct xgb_oracle {
  xgemm_problem p, t;   /* t: the transposed problem */
  double *value, *size; /* of everything; NULL for a large product */
  struct lines rows, columns;
  double *signs;     /* n */
  double *product;   /* m: the right C * signs */
  double *tolerance; /* m */
};

static xgemm_problem transposed(const xgemm_problem *p)
{
  xgemm_problem t = *p;
  t.m = p->n, t.n = p->m;
  t.a = xgemm_transpose(p->b), t.b = xgemm_transpose(p->a), t.c = xgemm_transpose(p->c);
  return t;
}

static double element(const xgemm_matrix *x, int64_t i, int64_t j)
{
  return reference_get(x, i, j);
}

/* y_j = sum_i x_i M_ij and size_j = sum_i |x_i| |M_ij|, in double for f32. M goes by in the order
 * it lies in memory. */
static void multiply_f32(const xgemm_matrix *M, int64_t rows, int64_t cols, const double *x,
                         double *y, double *size)
{
  const float *data = M->data;
  memset(y, 0, (size_t)cols * sizeof *y);
  memset(size, 0, (size_t)cols * sizeof *size);
  if (M->row_stride == 1)
    for (int64_t j = 0; j < cols; j++) {
      const float *line = data + j * M->col_stride;
      double sum = 0, bulk = 0;
      for (int64_t i = 0; i < rows; i++) {
        sum += x[i] * line[i];
        bulk += fabs(x[i] * line[i]);
      }
      y[j] = sum, size[j] = bulk;
    }
  else
    for (int64_t i = 0; i < rows; i++)
      for (int64_t j = 0; j < cols; j++) {
        double product = x[i] * data[i * M->row_stride + j * M->col_stride];
        y[j] += product;
        size[j] += fabs(product);
      }
}

/* The same in long double for f64. */
static int multiply_f64(const xgemm_matrix *M, int64_t rows, int64_t cols, const double *x,
                        double *y, double *size)
{
  const double *data = M->data;
  long double *sum = calloc((size_t)cols + 1, sizeof *sum);
  if (!sum) return -1;
  memset(size, 0, (size_t)cols * sizeof *size);
  if (M->row_stride == 1)
    for (int64_t j = 0; j < cols; j++)
      for (int64_t i = 0; i < rows; i++) {
        long double product = (long double)x[i] * data[i + j * M->col_stride];
        sum[j] += product;
        size[j] += fabs((double)product);
      }
  else
    for (int64_t i = 0; i < rows; i++)
      for (int64_t j = 0; j < cols; j++) {
        long double product = (long double)x[i] * data[i * M->row_stride + j * M->col_stride];
        sum[j] += product;
        size[j] += fabs((double)product);
      }
  for (int64_t j = 0; j < cols; j++) y[j] = (double)sum[j];
  free(sum);
  return 0;
}

struct multiplying {
  const xgemm_matrix *M;
  int64_t rows, cols;
  const double *x;
  double *y, *size;
  int threads;
  atomic_int bad;
};

/* Columns of M are independent of each other. */
static void multiply_part(void *context, int index)
{
  struct multiplying *w = context;
  const int f64 = w->M->type == XGEMM_F64;
  int64_t first = w->cols * index / w->threads, end = w->cols * (index + 1) / w->threads;
  xgemm_matrix part = *w->M;
  part.data = (char *)part.data + first * part.col_stride * (f64 ? 8 : 4);
  if (!f64)
    multiply_f32(&part, w->rows, end - first, w->x, w->y + first, w->size + first);
  else if (multiply_f64(&part, w->rows, end - first, w->x, w->y + first, w->size + first))
    atomic_store(&w->bad, 1);
}

static int multiply(const xgemm_matrix *M, int64_t rows, int64_t cols, const double *x, double *y,
                    double *size)
{
  const double few = 1e6;
  struct multiplying w = {.M = M, .rows = rows, .cols = cols, .x = x, .y = y, .size = size};
  w.threads = (double)rows * (double)cols < few ? 1 : xgb_cores();
  xgb_share_out(w.threads, multiply_part, &w);
  return atomic_load(&w.bad) ? -1 : 0;
}

static double *new_vector(int64_t length)
{
  return calloc((size_t)length + 1, sizeof(double));
}

static int take_line(const xgemm_problem *p, int64_t i, double *value, double *size)
{
  double *x = new_vector(p->k);
  int bad = !x;
  for (int64_t q = 0; q < p->k && !bad; q++) x[q] = element(&p->a, i, q);
  if (!bad) bad = multiply(&p->b, p->k, p->n, x, value, size);
  for (int64_t j = 0; j < p->n && !bad; j++) {
    double start = p->beta != 0 ? p->beta * element(&p->c, i, j) : 0;
    value[j] = p->alpha * value[j] + start;
    size[j] = fabs(p->alpha) * size[j] + fabs(start);
  }
  free(x);
  return bad ? -1 : 0;
}

static int take_lines(struct lines *lines, const xgemm_problem *p, struct reference_rng *rng)
{
  lines->count = p->m < LINES ? (int)p->m : LINES;
  lines->value = new_vector(lines->count * p->n);
  lines->size = new_vector(lines->count * p->n);
  if (!lines->value || !lines->size) return -1;
  for (int r = 0; r < lines->count; r++) {
    lines->index[r] = lines->count == p->m ? r
                      : r == 0             ? 0
                      : r == 1             ? p->m - 1
                                           : reference_integer(rng, 0, p->m - 1);
    if (take_line(p, lines->index[r], lines->value + r * p->n, lines->size + r * p->n)) return -1;
  }
  return 0;
}

/* alpha A (B s) + beta C s, and what C s may differ from it. */
static int take_product(struct xgb_oracle *o, struct reference_rng *rng)
{
  const xgemm_problem *p = &o->p;
  xgemm_matrix at = xgemm_transpose(p->a), bt = xgemm_transpose(p->b), ct = xgemm_transpose(p->c);
  int64_t m = p->m, n = p->n, k = p->k;
  double *bs = new_vector(k), *bulk = new_vector(k), *ones = new_vector(m), *unused = new_vector(m);
  double *start = new_vector(m);
  o->signs = new_vector(n);
  o->product = new_vector(m);
  o->tolerance = new_vector(m);
  int bad = !bs || !bulk || !ones || !unused || !start || !o->signs || !o->product || !o->tolerance;
  for (int64_t j = 0; j < n && !bad; j++) o->signs[j] = reference_next(rng) & 1 ? 1 : -1;
  bad = bad || multiply(&bt, n, k, o->signs, bs, bulk) ||
        multiply(&at, k, m, bs, o->product, unused) || multiply(&at, k, m, bulk, unused, ones);
  if (!bad && p->beta != 0) bad = multiply(&ct, n, m, o->signs, start, o->tolerance);
  double u = p->c.type == XGEMM_F64 ? DBL_EPSILON / 2 : FLT_EPSILON / 2;
  for (int64_t i = 0; i < m && !bad; i++) {
    double total = fabs(p->alpha) * ones[i] + fabs(p->beta) * o->tolerance[i];
    o->product[i] = p->alpha * o->product[i] + p->beta * start[i];
    o->tolerance[i] = 4 * u * sqrt((double)k + 4) * total / sqrt((double)n);
  }
  free(bs), free(bulk), free(ones), free(unused), free(start);
  return bad ? -1 : 0;
}

struct xgb_oracle *xgb_oracle_new(const xgemm_problem *p)
{
  struct xgb_oracle *o = calloc(1, sizeof *o);
  struct reference_rng rng = {20};
  if (!o) return NULL;
  o->p = *p;
  if (p->c.type == XGEMM_F32) o->p.alpha = (float)p->alpha, o->p.beta = (float)p->beta;
  o->t = transposed(&o->p);
  double elements = (double)p->m * (double)p->n;
  int bad;
  if (elements * (double)(p->k + 1) <= full_flops && elements <= full_elements) {
    o->value = new_vector(p->m * p->n);
    o->size = new_vector(p->m * p->n);
    bad = !o->value || !o->size;
    if (!bad) reference_gemm(&o->p, o->value, o->size);
  } else {
    bad = take_lines(&o->rows, &o->p, &rng) || take_lines(&o->columns, &o->t, &rng) ||
          take_product(o, &rng);
  }
  if (bad) {
    xgb_oracle_free(o);
    return NULL;
  }
  return o;
}

void xgb_oracle_free(struct xgb_oracle *o)
{
  if (!o) return;
  free(o->value), free(o->size);
  free(o->rows.value), free(o->rows.size);
  free(o->columns.value), free(o->columns.size);
  free(o->signs), free(o->product), free(o->tolerance);
  free(o);
}

/* ---------------------------------------------------------------- comparing */

/* Squares of the errors in units of the last place of what was added up. */
struct squares {
  double sum;
  int64_t count;
};

static void add_square(struct squares *s, const xgemm_problem *p, double error, double size)
{
  double u = p->c.type == XGEMM_F64 ? DBL_EPSILON / 2 : FLT_EPSILON / 2;
  if (!(size > 0)) return;
  s->sum += error / (u * size) * (error / (u * size));
  s->count++;
}

static int check_lines(const struct lines *lines, const xgemm_problem *p, int turned, double *worst,
                       struct squares *squares, char *why, size_t room)
{
  for (int r = 0; r < lines->count; r++)
    for (int64_t j = 0; j < p->n; j++) {
      double got = element(&p->c, lines->index[r], j), right = lines->value[r * p->n + j];
      double bound = reference_bound(p, lines->size[r * p->n + j]), error = fabs(got - right);
      if (!(error <= bound)) {
        snprintf(why, room, "C[%lld,%lld] is %.9g and should be %.9g (bound %.2g)",
                 (long long)(turned ? j : lines->index[r]),
                 (long long)(turned ? lines->index[r] : j), got, right, bound);
        return -1;
      }
      if (error / bound > *worst) *worst = error / bound;
      add_square(squares, p, error, lines->size[r * p->n + j]);
    }
  return 0;
}

static int check_product(const struct xgb_oracle *o, const xgemm_problem *p, double *worst,
                         char *why, size_t room)
{
  xgemm_matrix ct = xgemm_transpose(p->c);
  double *got = new_vector(p->m), *unused = new_vector(p->m);
  int bad = !got || !unused || multiply(&ct, p->n, p->m, o->signs, got, unused);
  if (bad) snprintf(why, room, "out of memory while it was checked");
  for (int64_t i = 0; i < p->m && !bad; i++) {
    double error = fabs(got[i] - o->product[i]);
    bad = !(error <= o->tolerance[i]);
    if (bad)
      snprintf(why, room,
               "row %lld of C times a vector of signs is %.9g and should be %.9g (bound "
               "%.2g)",
               (long long)i, got[i], o->product[i], o->tolerance[i]);
    else if (o->tolerance[i] > 0 && error / o->tolerance[i] > *worst)
      *worst = error / o->tolerance[i];
  }
  free(got), free(unused);
  return bad ? -1 : 0;
}

static int check_all(const struct xgb_oracle *o, const xgemm_problem *p, double *worst,
                     struct squares *squares, char *why, size_t room)
{
  struct reference_miss miss;
  int64_t wrong = reference_check(p, o->value, o->size, 0, &miss, worst);
  for (int64_t i = 0; i < p->m && !wrong; i++)
    for (int64_t j = 0; j < p->n; j++)
      add_square(squares, p, fabs(element(&p->c, i, j) - o->value[i * p->n + j]),
                 o->size[i * p->n + j]);
  if (wrong)
    snprintf(why, room,
             "%lld of %lld elements wrong; C[%lld,%lld] is %.9g and should be %.9g "
             "(bound %.2g)",
             (long long)wrong, (long long)(p->m * p->n), (long long)miss.i, (long long)miss.j,
             miss.got, miss.expected, miss.bound);
  return wrong ? -1 : 0;
}

int xgb_oracle_check(const struct xgb_oracle *o, const void *c, struct xgb_errors *errors,
                     char *why, size_t room)
{
  xgemm_problem p = o->p, t = o->t;
  struct squares squares = {0, 0};
  double *worst = &errors->worst;
  p.c.data = t.c.data = (void *)c;
  *errors = (struct xgb_errors){0, 0};
  int bad = o->value ? check_all(o, &p, worst, &squares, why, room)
                     : check_lines(&o->rows, &p, 0, worst, &squares, why, room) ||
                           check_lines(&o->columns, &t, 1, worst, &squares, why, room) ||
                           check_product(o, &p, worst, why, room);
  if (squares.count > 0) errors->rms = sqrt(squares.sum / (double)squares.count);
  return bad ? -1 : 0;
}
