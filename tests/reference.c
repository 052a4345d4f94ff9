#include "reference.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---------------------------------------------------------------- data from a seed */

uint64_t reference_next(struct reference_rng *rng)
{
  /* splitmix64: every seed is a good one, and the stream is the same on every machine. */
  uint64_t z = (rng->state += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

double reference_uniform(struct reference_rng *rng)
{
  return (double)(reference_next(rng) >> 40) * (1.0 / 8388608.0) - 1.0;
}

int64_t reference_integer(struct reference_rng *rng, int64_t low, int64_t high)
{
  return low + (int64_t)(reference_next(rng) % (uint64_t)(high - low + 1));
}

double reference_get(const xgemm_matrix *x, int64_t i, int64_t j)
{
  int64_t offset = i * x->row_stride + j * x->col_stride;
  return x->type == XGEMM_F64 ? ((const double *)x->data)[offset]
                              : ((const float *)x->data)[offset];
}

void reference_set(const xgemm_matrix *x, int64_t i, int64_t j, double value)
{
  int64_t offset = i * x->row_stride + j * x->col_stride;
  if (x->type == XGEMM_F64)
    ((double *)x->data)[offset] = value;
  else
    ((float *)x->data)[offset] = (float)value;
}

void reference_fill(const xgemm_matrix *x, int64_t rows, int64_t cols, struct reference_rng *rng,
                    int64_t limit)
{
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < cols; j++) {
      double value =
          limit > 0 ? (double)reference_integer(rng, -limit, limit) : reference_uniform(rng);
      if (limit <= 0 && x->type == XGEMM_F64)
        value +=
            (double)(reference_next(rng) >> 35) * 0x1p-52; /* low bits, so that f64 rounds too */
      reference_set(x, i, j, value);
    }
}

void reference_fill_with(const xgemm_matrix *x, int64_t rows, int64_t cols, double value)
{
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < cols; j++) reference_set(x, i, j, value);
}

int64_t reference_exact_limit(xgemm_type type, int64_t k)
{
  double room = type == XGEMM_F64 ? 0x1p53 : 0x1p24;
  int64_t limit = 16;
  while (limit > 0 && 4.0 * (double)k * (double)(limit * limit) + 4.0 * (double)limit > room)
    limit--;
  return limit;
}

/* ---------------------------------------------------------------- the product */

static double *take(int64_t count)
{
  double *p = malloc((size_t)(count > 0 ? count : 1) * sizeof *p);
  if (!p) {
    perror("reference");
    exit(99);
  }
  return p;
}

static void dot(int64_t k, const double *a, const double *b, long double *sum, double *size)
{
  long double s = 0;
  double t = 0;
  for (int64_t p = 0; p < k; p++) {
    s += (long double)a[p] * b[p];
    t += fabs(a[p] * b[p]);
  }
  *sum = s;
  *size = t;
}

/* Rows rows[0..count-1] of the product (all of them if rows is NULL). A is copied first, B's
 * columns come a few at a time, so that large matrices are walked in the order they are stored. */
static void gemm_rows(const xgemm_problem *p, const int64_t *rows, int64_t count, double *value,
                      double *size)
{
  enum { COLUMNS = 16 };
  int64_t n = p->n, k = p->k;
  /* The scalars are rounded once to the type of the product. */
  double alpha = p->c.type == XGEMM_F64 ? p->alpha : (float)p->alpha;
  double beta = p->c.type == XGEMM_F64 ? p->beta : (float)p->beta;
  if (count <= 0 || n <= 0) return;
  if (alpha == 0) k = 0;

  double *a = take(count * k), *b = take(COLUMNS * k);
  for (int64_t r = 0; r < count; r++)
    for (int64_t q = 0; q < k; q++) a[r * k + q] = reference_get(&p->a, rows ? rows[r] : r, q);
  for (int64_t j = 0; j < n; j++) {
    if (j % COLUMNS == 0)
      for (int64_t q = 0; q < k; q++)
        for (int64_t l = 0; l < COLUMNS && j + l < n; l++)
          b[l * k + q] = reference_get(&p->b, q, j + l);
    for (int64_t r = 0; r < count; r++) {
      long double sum = 0;
      double bulk = 0;
      dot(k, a + r * k, b + j % COLUMNS * k, &sum, &bulk);
      /* k = 0: an infinite alpha must not make a NaN of the empty sum. */
      long double result = k > 0 ? alpha * sum : 0;
      double total = k > 0 ? fabs(alpha) * bulk : 0;
      if (beta != 0) {
        double c = reference_get(&p->c, rows ? rows[r] : r, j);
        result += (long double)beta * c;
        total += fabs(beta * c);
      }
      value[r * n + j] = (double)result;
      if (size) size[r * n + j] = total;
    }
  }
  free(a);
  free(b);
}

void reference_gemm(const xgemm_problem *p, double *value, double *size)
{
  gemm_rows(p, NULL, p->m, value, size);
}

double reference_bound(const xgemm_problem *p, double size)
{
  int wide = p->c.type == XGEMM_F64;
  double u = wide ? DBL_EPSILON / 2 : FLT_EPSILON / 2;
  double smallest = wide ? 0x1p-1074 : 0x1p-149;
  double steps = (double)p->k + 4;
  /* Each product may lose half the smallest number, and alpha may magnify the loss. */
  return steps * u * size + steps * smallest * (1 + fabs(p->alpha) + fabs(p->beta));
}

static int wrong(double got, double expected, double bound, double *error)
{
  *error = fabs(got - expected);
  if (isnan(expected)) return !isnan(got);
  if (got == expected) return 0; /* the same infinity too */
  return !(*error <= bound);
}

static int64_t check_rows(const xgemm_problem *p, const int64_t *rows, int64_t count,
                          const double *value, const double *size, int exact,
                          struct reference_miss *miss, double *worst)
{
  int64_t bad = 0;
  double most = 0;
  for (int64_t r = 0; r < count; r++)
    for (int64_t j = 0; j < p->n; j++) {
      int64_t i = rows ? rows[r] : r;
      double expected = value[r * p->n + j], got = reference_get(&p->c, i, j), error;
      double bound = exact ? 0 : reference_bound(p, size[r * p->n + j]);
      if (wrong(got, expected, bound, &error)) {
        if (bad++ == 0 && miss) *miss = (struct reference_miss){i, j, got, expected, error, bound};
      } else if (bound > 0 && error / bound > most) {
        most = error / bound;
      }
    }
  if (worst) *worst = most;
  return bad;
}

int64_t reference_check(const xgemm_problem *p, const double *value, const double *size, int exact,
                        struct reference_miss *miss, double *worst)
{
  return check_rows(p, NULL, p->m, value, size, exact, miss, worst);
}

/* ---------------------------------------------------------------- some rows of a large product */

struct reference_sample {
  int64_t count;
  int64_t *rows;
  double *value, *size; /* count x n */
};

struct reference_sample *reference_sample_take(const xgemm_problem *p, int64_t count,
                                               struct reference_rng *rng)
{
  struct reference_sample *s = calloc(1, sizeof *s);
  if (!s) return NULL;
  s->count = count < p->m ? count : p->m;
  s->rows = calloc((size_t)s->count + 1, sizeof *s->rows);
  s->value = calloc((size_t)(s->count * p->n) + 1, sizeof *s->value);
  s->size = calloc((size_t)(s->count * p->n) + 1, sizeof *s->size);
  if (!s->rows || !s->value || !s->size) {
    reference_sample_free(s);
    return NULL;
  }
  for (int64_t r = 0; r < s->count; r++) {
    if (s->count == p->m)
      s->rows[r] = r;
    else if (r == 0)
      s->rows[r] = 0;
    else if (r == 1)
      s->rows[r] = p->m - 1;
    else
      s->rows[r] = reference_integer(rng, 0, p->m - 1);
  }
  gemm_rows(p, s->rows, s->count, s->value, s->size);
  return s;
}

int64_t reference_sample_check(const struct reference_sample *s, const xgemm_problem *p,
                               struct reference_miss *miss, double *worst)
{
  return check_rows(p, s->rows, s->count, s->value, s->size, 0, miss, worst);
}

void reference_sample_free(struct reference_sample *s)
{
  if (!s) return;
  free(s->rows);
  free(s->value);
  free(s->size);
  free(s);
}

/* ---------------------------------------------------------------- order */

/* In the type's precision. */
static double multiply_add(xgemm_type type, double a, double b, double sum, int fused)
{
  if (type == XGEMM_F64) {
    volatile double product = a * b;
    return fused ? fma(a, b, sum) : sum + product;
  }
  volatile float product = (float)a * (float)b;
  return fused ? fmaf((float)a, (float)b, (float)sum) : (float)sum + product;
}

static double add(xgemm_type type, double a, double b)
{
  return type == XGEMM_F64 ? a + b : (float)a + (float)b;
}

double reference_in_order(const xgemm_problem *p, int64_t run, int lanes, int64_t i, int64_t j,
                          double c, int fused)
{
  enum { MOST_LANES = 16 };
  const xgemm_type t = p->c.type;
  double total = 0;
  for (int64_t q = 0; q < p->k;) {
    const int64_t first = q, last = q + run < p->k ? q + run : p->k;
    double sum[MOST_LANES] = {0};
    for (; q < last; q++) {
      double *lane = &sum[(q - first) % lanes];
      *lane = multiply_add(t, reference_get(&p->a, i, q), reference_get(&p->b, q, j), *lane, fused);
    }
    for (int half = lanes / 2; half > 0; half /= 2)
      for (int v = 0; v < half; v++) sum[v] = add(t, sum[v], sum[v + half]);
    total = first == 0 ? sum[0] : add(t, total, sum[0]);
  }
  const double old = p->beta == 0 ? 0 : multiply_add(t, p->beta, c, 0, 0);
  return multiply_add(t, p->alpha, total, old, fused && p->beta != 0);
}
