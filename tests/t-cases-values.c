/* Complaints that users of other libraries filed in public, as inputs; tests/cases.tsv lists them.
 * Here: strides, operands that are one buffer, scalars. */
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "xgemm_cblas.h"

#include "../common/backend.h"

/* COR-09: neither stride is 1, sizes about the blocks. */
static void cor_09_no_unit_stride(void **state)
{
  (void)state;
  for (int m = 200; m <= 300; m += 25)
    for (int backend = XGEMM_BACKEND_AUTO; backend <= XGEMM_BACKEND_CPU; backend++) {
      xgemm_options o = XGEMM_OPTIONS_INIT;
      struct product x;
      product_make(&x, XGEMM_F64, m, m, 8, "ggg", 1);
      o.backend = (xgemm_backend)backend;
      product_must_be_right(&x, &o);
      product_free(&x);
    }
}

/* COR-09: both strides negative, or zero. */
static void cor_09_negative_strides(void **state)
{
  (void)state;
  static const char *const layouts[] = {"nnn", "rnc", "nrg", "gcn", "n0n"};
  static const int64_t sizes[][3] = {{1, 1, 1}, {5, 6, 7}, {31, 33, 29}, {130, 90, 270}};
  for (int type = XGEMM_F32; type <= XGEMM_F64; type++)
    for (int l = 0; l < 5; l++)
      for (int s = 0; s < 4; s++)
        for (int threads = 1; threads <= 2; threads++) {
          xgemm_options o = cpu(threads);
          struct product x;
          product_make(&x, (xgemm_type)type, sizes[s][0], sizes[s][1], sizes[s][2], layouts[l], 1);
          x.p.alpha = -1, x.p.beta = 2;
          product_must_be_right(&x, &o);
          product_free(&x);
        }
}

/* COR-16: A'A is symmetric and not negative. */
static void cor_16_gram_matrix_in_row_major(void **state)
{
  (void)state;
  static const int sizes[][2] = {{50, 50}, {55, 165}}; /* n, k */
  for (int s = 0; s < 2; s++) {
    int n = sizes[s][0], k = sizes[s][1];
    struct product x;
    product_make(&x, XGEMM_F64, n, n, k, "crr", 3); /* A: k x n, stored by rows, transposed */
    product_fill(&x, 3, 0);
    memcpy(x.p.b.data, x.p.a.data, (size_t)(n * k) * sizeof(double));
    product_expect(&x);
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, n, n, k, 1, x.p.a.data, n, x.p.a.data, n,
                0, x.p.c.data, n);
    assert_true(product_is_right(&x, 0));
    /* x'Cx = |Ax|^2 cannot be negative by more than rounding. */
    struct reference_rng rng = {5};
    for (int trial = 0; trial < 20; trial++) {
      double form = 0, v[64];
      for (int i = 0; i < n; i++) v[i] = reference_uniform(&rng);
      for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) form += v[i] * reference_get(&x.p.c, i, j) * v[j];
      assert_true(form >= -1e-10);
    }
    product_free(&x);
  }
}

static void same_buffer_as_copied(int m, int k, xgemm_type type)
{
  struct product x;
  product_make(&x, type, m, m, k, "rcr", 4);
  product_fill(&x, 4, 0);
  memcpy(x.p.b.data, x.p.a.data, (size_t)(m * k) * (type == XGEMM_F64 ? 8 : 4));
  product_expect(&x);
  must_run(&x.p, NULL);
  assert_true(product_is_right(&x, 0));
  void *copied = product_bits(&x);
  x.p.b.data = x.p.a.data;
  reference_fill_with(&x.p.c, m, m, -1);
  must_run(&x.p, NULL);
  void *aliased = product_bits(&x);
  assert_memory_equal(copied, aliased, product_bytes(&x));
  for (int i = 0; i < m; i++)
    for (int j = 0; j < i; j++)
      assert_true(reference_get(&x.p.c, i, j) == reference_get(&x.p.c, j, i));
  free(copied), free(aliased);
  product_free(&x);
}

/* COR-21: A and B are one buffer. */
static void cor_21_a_times_its_transpose(void **state)
{
  (void)state;
  static const int sizes[][2] = {{4, 5}, {64, 33}, {33, 64}, {150, 300}};
  for (int s = 0; s < 4; s++)
    for (int type = XGEMM_F32; type <= XGEMM_F64; type++)
      same_buffer_as_copied(sizes[s][0], sizes[s][1], (xgemm_type)type);
}

/* COR-17: every kernel on the shape that broke one elsewhere. */
static void cor_17_every_kernel_on_a_tall_product(void **state)
{
  (void)state;
  for (int i = 0; i < xg_backend_cpu.kernel_count(); i++) {
    struct xg_kernel_info info = xg_backend_cpu.kernel_info(i);
    xgemm_options o = cpu(1);
    struct product x;
    if (info.reason) continue;
    o.kernel = info.name;
    product_make(&x, info.type, 55, 55, 165, "crr", 3);
    product_must_be_right(&x, &o);
    product_free(&x);
  }
}

/* API-12: sizes up to 32, alpha and beta of five values each. */
static void api_12_small_with_all_scalars(void **state)
{
  (void)state;
  static const double scalars[] = {-1, 0.5, 2, 0, 1};
  for (int type = XGEMM_F32; type <= XGEMM_F64; type++)
    for (int size = 1; size <= 32; size++)
      for (int s = 0; s < 25; s++) {
        struct product x;
        product_make(&x, (xgemm_type)type, size, 1 + (size * 7) % 32, 1 + (size * 5) % 32,
                     s % 2 ? "rrr" : "ccc", 3);
        x.p.alpha = scalars[s / 5], x.p.beta = scalars[s % 5];
        product_must_be_right(&x, NULL);
        product_free(&x);
      }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cor_09_no_unit_stride),
      cmocka_unit_test(cor_09_negative_strides),
      cmocka_unit_test(cor_16_gram_matrix_in_row_major),
      cmocka_unit_test(cor_21_a_times_its_transpose),
      cmocka_unit_test(cor_17_every_kernel_on_a_tall_product),
      cmocka_unit_test(api_12_small_with_all_scalars),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
