/* The product inside a blocked LU factorisation: A, B and C are interleaved sub-blocks of one
 * array, C = C - A*B, in the way LAPACK's getrf calls dgemm. Judged by the residual of a solved
 * system. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm.h"
#include "reference.h"
#include "xgemm_cblas.h"

/* Column-major, leading dimension ld. */
struct system {
  int n, ld, block;
  int products; /* calls of dgemm_ */
  double *lu, *first;
  int *pivot;
};

static double *at(double *a, int ld, int i, int j)
{
  return a + i + (ptrdiff_t)j * ld;
}

static void swap_rows(struct system *s, int one, int other)
{
  for (int j = 0; one != other && j < s->n; j++) {
    double *x = at(s->lu, s->ld, one, j), *y = at(s->lu, s->ld, other, j), t = *x;
    *x = *y, *y = t;
  }
}

/* Columns j0 .. j1-1 by plain elimination with partial pivoting; whole rows are swapped. */
static void factor_panel(struct system *s, int j0, int j1)
{
  for (int j = j0; j < j1; j++) {
    int best = j;
    for (int i = j + 1; i < s->n; i++)
      if (fabs(*at(s->lu, s->ld, i, j)) > fabs(*at(s->lu, s->ld, best, j))) best = i;
    s->pivot[j] = best;
    swap_rows(s, j, best);
    for (int i = j + 1; i < s->n; i++) *at(s->lu, s->ld, i, j) /= *at(s->lu, s->ld, j, j);
    for (int c = j + 1; c < j1; c++)
      for (int i = j + 1; i < s->n; i++)
        *at(s->lu, s->ld, i, c) -= *at(s->lu, s->ld, i, j) * *at(s->lu, s->ld, j, c);
  }
}

/* The rows of U right of the panel: unit lower triangular solve. */
static void solve_panel_row(struct system *s, int j0, int j1)
{
  for (int c = j1; c < s->n; c++)
    for (int j = j0; j < j1; j++)
      for (int i = j + 1; i < j1; i++)
        *at(s->lu, s->ld, i, c) -= *at(s->lu, s->ld, i, j) * *at(s->lu, s->ld, j, c);
}

static void factor(struct system *s)
{
  const double minus = -1, one = 1;
  for (int j0 = 0; j0 < s->n; j0 += s->block) {
    int j1 = j0 + s->block < s->n ? j0 + s->block : s->n, rest = s->n - j1, depth = j1 - j0;
    factor_panel(s, j0, j1);
    solve_panel_row(s, j0, j1);
    dgemm_("N", "N", &rest, &rest, &depth, &minus, at(s->lu, s->ld, j1, j0), &s->ld,
           at(s->lu, s->ld, j0, j1), &s->ld, &one, at(s->lu, s->ld, j1, j1), &s->ld);
    s->products++;
  }
}

/* x = A^-1 b by the factors, b in x on entry. */
static void solve(const struct system *s, double *x)
{
  for (int j = 0; j < s->n; j++) {
    double t = x[j];
    x[j] = x[s->pivot[j]], x[s->pivot[j]] = t;
  }
  for (int j = 0; j < s->n; j++)
    for (int i = j + 1; i < s->n; i++) x[i] -= *at(s->lu, s->ld, i, j) * x[j];
  for (int j = s->n - 1; j >= 0; j--) {
    x[j] /= *at(s->lu, s->ld, j, j);
    for (int i = 0; i < j; i++) x[i] -= *at(s->lu, s->ld, i, j) * x[j];
  }
}

/* HPL's measure: |Ax-b| / (eps (|A||x| + |b|) n), which a sound solver keeps below 16. */
static double residual(const struct system *s, const double *x, const double *b)
{
  double worst = 0, norm_a = 0, norm_x = 0, norm_b = 0;
  for (int i = 0; i < s->n; i++) {
    long double sum = -b[i];
    double row = 0;
    for (int j = 0; j < s->n; j++) {
      sum += (long double)*at(s->first, s->ld, i, j) * x[j];
      row += fabs(*at(s->first, s->ld, i, j));
    }
    worst = fmax(worst, fabs((double)sum));
    norm_a = fmax(norm_a, row);
    norm_x = fmax(norm_x, fabs(x[i]));
    norm_b = fmax(norm_b, fabs(b[i]));
    if (!(fabs((double)sum) < INFINITY)) return INFINITY;
  }
  return worst / (2.220446049250313e-16 * (norm_a * norm_x + norm_b) * s->n);
}

static double *room(size_t count)
{
  double *p = malloc(count * sizeof *p);
  assert_non_null(p);
  return p;
}

static void factor_and_solve(int n, int block, int padding)
{
  struct reference_rng rng = {(uint64_t)(n * 1000 + block)};
  struct system s = {.n = n, .ld = n + padding, .block = block};
  size_t count = (size_t)s.ld * (size_t)n;
  double *b = room((size_t)n), *x = room((size_t)n);
  s.lu = room(count), s.first = room(count);
  s.pivot = calloc((size_t)n, sizeof *s.pivot);
  assert_non_null(s.pivot);
  for (size_t i = 0; i < count; i++) s.lu[i] = NAN; /* the rows of padding stay so */
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++) *at(s.lu, s.ld, i, j) = reference_uniform(&rng);
  for (int i = 0; i < n; i++) x[i] = b[i] = reference_uniform(&rng);
  memcpy(s.first, s.lu, count * sizeof *s.lu);
  factor(&s);
  solve(&s, x);
  double r = residual(&s, x, b);
  if (!(r < 16)) fprintf(stderr, "n=%d block=%d: residual %g\n", n, block, r);
  assert_true(r < 16);
  assert_int_equal(s.products, (n + block - 1) / block);
  for (int j = 0; j < n; j++)
    for (int i = n; i < s.ld; i++) assert_true(isnan(*at(s.lu, s.ld, i, j)));
  free(s.lu), free(s.first), free(s.pivot), free(b), free(x);
}

static void lu_solves_systems(void **state)
{
  (void)state;
  static const int sizes[] = {1, 7, 33, 100, 257};
  static const int blocks[] = {1, 5, 16, 64};
  for (int i = 0; i < 5; i++)
    for (int j = 0; j < 4; j++) factor_and_solve(sizes[i], blocks[j], 3);
}

static void lu_of_a_larger_system(void **state)
{
  (void)state;
  factor_and_solve(600, 96, 0);
  factor_and_solve(641, 128, 7);
}

/* Every row of C between rows of A, every column between columns of B: no two of them overlap. */
static void interleaved_rows_and_columns(void **state)
{
  (void)state;
  enum { SIZE = 48, LD = 2 * SIZE };
  static double m[LD * LD], other[SIZE * SIZE];
  for (int which = 0; which < 2; which++) {
    struct reference_rng rng = {9};
    xgemm_problem p = XGEMM_PROBLEM_INIT;
    double value[SIZE * SIZE];
    p.m = p.n = p.k = SIZE;
    p.alpha = -1, p.beta = 1;
    p.a = xgemm_row_major(m, XGEMM_F64, 2 * LD); /* even rows, left half */
    p.b = xgemm_row_major(other, XGEMM_F64, SIZE);
    p.c = xgemm_row_major(m + LD, XGEMM_F64, 2 * LD); /* odd rows, left half */
    if (which) {
      p.a.row_stride = LD, p.a.col_stride = 2;                   /* even columns */
      p.c.data = m + 1, p.c.row_stride = LD, p.c.col_stride = 2; /* odd columns */
    }
    for (int i = 0; i < LD * LD; i++) m[i] = 1e300;
    reference_fill(&p.a, SIZE, SIZE, &rng, 9);
    reference_fill(&p.b, SIZE, SIZE, &rng, 9);
    reference_fill(&p.c, SIZE, SIZE, &rng, 9);
    double before[SIZE * SIZE];
    for (int i = 0; i < SIZE; i++)
      for (int j = 0; j < SIZE; j++) before[i * SIZE + j] = reference_get(&p.a, i, j);
    reference_gemm(&p, value, NULL);
    assert_int_equal(xgemm(&p, NULL), XGEMM_OK);
    assert_int_equal(reference_check(&p, value, NULL, 1, NULL, NULL), 0);
    int others = 0;
    for (int i = 0; i < LD * LD; i++) others += m[i] == 1e300;
    assert_int_equal(others, LD * LD - 2 * SIZE * SIZE);
    for (int i = 0; i < SIZE; i++)
      for (int j = 0; j < SIZE; j++) assert_true(before[i * SIZE + j] == reference_get(&p.a, i, j));
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lu_solves_systems),
      cmocka_unit_test(lu_of_a_larger_system),
      cmocka_unit_test(interleaved_rows_and_columns),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
