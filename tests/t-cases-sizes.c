/* Complaints that users of other libraries filed in public, as inputs; tests/cases.tsv lists them.
 * Here: sizes and leading dimensions. */
#include <stdlib.h>
#include <sys/mman.h>

#include "cases.h"
#include "xgemm_cblas.h"

#include "../common/backend.h"

/* EDG-15: m or n of 2^23 + 1. */
static void edg_15_one_long_side(void **state)
{
  (void)state;
  const int64_t size = (1 << 23) + 1;
  double *ones = malloc((size_t)size * 4 * sizeof *ones), *c = calloc((size_t)size, sizeof *c);
  assert_true(ones && c);
  for (int64_t i = 0; i < 4 * size; i++) ones[i] = 1;
  for (int variant = 0; variant < 6; variant++) {
    int tall = variant % 2;
    xgemm_options o = cpu(variant / 2 * 2); /* default, 2, 4 threads */
    xgemm_problem p = XGEMM_PROBLEM_INIT;
    p.m = tall ? size : 1, p.n = tall ? 1 : size, p.k = 4, p.beta = 1;
    p.a = xgemm_col_major(ones, XGEMM_F64, p.m);
    p.b = xgemm_col_major(ones, XGEMM_F64, 4);
    p.c = xgemm_col_major(c, XGEMM_F64, p.m);
    for (int64_t i = 0; i < size; i++) c[i] = 0;
    must_run(&p, &o);
    int64_t wrong = 0;
    for (int64_t i = 0; i < size; i++) wrong += !(c[i] == 4);
    assert_true(wrong == 0);
  }
  free(ones), free(c);
}

/* A or C spans more than 2^31 elements, though little of it is touched: 4 rows of each column. */
enum { LONG_LD = 65537, LONG_COUNT = 32769 };

static void wide_a(double *wide, const double *ones, const xgemm_options *o)
{
  xgemm_problem p = XGEMM_PROBLEM_INIT;
  double c[16] = {0};
  p.m = p.n = 4, p.k = LONG_COUNT;
  p.a = xgemm_col_major(wide, XGEMM_F64, LONG_LD);
  p.b = xgemm_col_major(ones, XGEMM_F64, LONG_COUNT);
  p.c = xgemm_col_major(c, XGEMM_F64, 4);
  must_run(&p, o);
  for (int i = 0; i < 16; i++) assert_true(c[i] == LONG_COUNT);
}

static void wide_c(double *wide, const double *ones, const xgemm_options *o)
{
  xgemm_problem p = XGEMM_PROBLEM_INIT;
  int64_t wrong = 0;
  p.m = p.k = 4, p.n = LONG_COUNT, p.beta = 1;
  p.a = p.b = xgemm_col_major(ones, XGEMM_F64, 4);
  p.c = xgemm_col_major(wide, XGEMM_F64, LONG_LD);
  must_run(&p, o);
  for (int64_t j = 0; j < LONG_COUNT; j++)
    for (int i = 0; i < 4; i++) {
      wrong += !(wide[j * LONG_LD + i] == 5);
      wide[j * LONG_LD + i] = 1;
    }
  assert_true(wrong == 0);
  assert_true(wide[(int64_t)(LONG_COUNT - 1) * LONG_LD + 4] == 0);
}

static void wide_by_the_fortran_name(double *wide, const double *ones)
{
  const int ld = LONG_LD, count = LONG_COUNT, four = 4;
  const double one = 1, zero = 0;
  double c[16];
  int64_t wrong = 0;
  dgemm_("N", "N", &four, &four, &count, &one, wide, &ld, ones, &count, &zero, c, &four);
  for (int i = 0; i < 16; i++) assert_true(c[i] == LONG_COUNT);
  dgemm_("N", "N", &four, &count, &four, &one, ones, &four, ones, &four, &zero, wide, &ld);
  for (int64_t j = 0; j < LONG_COUNT; j++)
    for (int i = 0; i < 4; i++) wrong += !(wide[j * LONG_LD + i] == 4);
  assert_true(wrong == 0);
}

/* API-07: every kernel, and the Fortran name. */
static void api_07_leading_dimension_beyond_2_31(void **state)
{
  (void)state;
  const size_t bytes = (size_t)LONG_LD * LONG_COUNT * sizeof(double);
  double *ones = malloc((size_t)LONG_COUNT * 4 * sizeof *ones);
  double *wide =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  assert_non_null(ones);
  if (wide == MAP_FAILED) skip();
  madvise(wide, bytes, MADV_NOHUGEPAGE); /* 4 kB for each column, not 2 MB */
  for (int i = 0; i < 4 * LONG_COUNT; i++) ones[i] = 1;
  for (int64_t j = 0; j < LONG_COUNT; j++)
    for (int i = 0; i < 4; i++) wide[j * LONG_LD + i] = 1;
  for (int i = 0; i < xg_backend_cpu.kernel_count(); i++) {
    struct xg_kernel_info info = xg_backend_cpu.kernel_info(i);
    xgemm_options o = cpu(1);
    if (info.reason || info.type != XGEMM_F64) continue;
    o.kernel = info.name;
    wide_a(wide, ones, &o);
    wide_c(wide, ones, &o);
  }
  wide_by_the_fortran_name(wide, ones);
  munmap(wide, bytes);
  free(ones);
}

/* MEM-07: one size far beyond the others; checkgemm --big has the squares. */
static void mem_07_one_size_much_larger(void **state)
{
  (void)state;
  static const int64_t sizes[][3] = {{8, 8, 300000},  {300000, 8, 8},  {8, 300000, 8},
                                     {1, 1, 1000000}, {3000, 3, 2000}, {2, 2000, 3000}};
  for (int s = 0; s < 6; s++)
    for (int threads = 1; threads <= 3; threads += 2) {
      xgemm_options o = cpu(threads);
      struct product x;
      product_make(&x, XGEMM_F64, sizes[s][0], sizes[s][1], sizes[s][2], s % 2 ? "ccc" : "rrr", 3);
      x.p.beta = threads - 3; /* -2 and 0 */
      product_must_be_right(&x, &o);
      product_free(&x);
    }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(edg_15_one_long_side),
      cmocka_unit_test(api_07_leading_dimension_beyond_2_31),
      cmocka_unit_test(mem_07_one_size_much_larger),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
