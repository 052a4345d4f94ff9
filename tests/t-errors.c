/* Bad input to xgemm(): the right status, a reason that names the culprit, nothing written. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm.h"
#include "product.h"
#include "xgemm.h"

#include "../common/backend.h"

/* Whether the reason speaks of this argument, as a word of its own. */
static int reason_names(const char *word)
{
  const char *text = xgemm_last_reason();
  size_t length = strlen(word);
  for (const char *p = strstr(text, word); p; p = strstr(p + 1, word)) {
    int before = p > text && (p[-1] == '_' || (p[-1] >= 'a' && p[-1] <= 'z'));
    int after = p[length] == '_' || (p[length] >= 'a' && p[length] <= 'z');
    if (!before && !after) return 1;
  }
  fprintf(stderr, "the reason \"%s\" does not name %s\n", text, word);
  return 0;
}

static void refuses(struct product *x, xgemm_status status, const char *word)
{
  product_must_fail(x, NULL, status);
  assert_true(reason_names(word));
}

static void fresh(struct product *x)
{
  product_make(x, XGEMM_F64, 9, 8, 7, "RCR", 4);
  x->p.beta = 1;
}

static void null_problem(void **state)
{
  (void)state;
  xgemm_options o = XGEMM_OPTIONS_INIT;
  assert_int_equal(xgemm(NULL, NULL), XGEMM_INVALID_ARGUMENT);
  assert_true(reason_names("problem"));
  assert_int_equal(xgemm(NULL, &o), XGEMM_INVALID_ARGUMENT);
}

static void negative_sizes(void **state)
{
  (void)state;
  static const int64_t bad[] = {-1, -2, INT32_MIN, INT64_MIN};
  for (int i = 0; i < 4; i++) {
    struct product x;
    fresh(&x);
    x.p.m = bad[i], refuses(&x, XGEMM_INVALID_ARGUMENT, "m");
    x.p.m = 9, x.p.n = bad[i], refuses(&x, XGEMM_INVALID_ARGUMENT, "n");
    x.p.n = 8, x.p.k = bad[i], refuses(&x, XGEMM_INVALID_ARGUMENT, "k");
    x.p.m = 0, refuses(&x, XGEMM_INVALID_ARGUMENT, "k"); /* also when there is nothing to do */
    product_free(&x);
  }
}

/* EDG-11. */
static void edg_11_null_pointers(void **state)
{
  (void)state;
  struct product x;
  fresh(&x);
  x.p.a.data = NULL, refuses(&x, XGEMM_INVALID_ARGUMENT, "a");
  x.p.a.data = x.a.at, x.p.b.data = NULL, refuses(&x, XGEMM_INVALID_ARGUMENT, "b");
  x.p.b.data = x.b.at, x.p.c.data = NULL, refuses(&x, XGEMM_INVALID_ARGUMENT, "c");
  x.p.c.data = x.c.at;
  product_must_be_right(&x, NULL);
  product_free(&x);
}

/* EDG-11. */
static void edg_11_null_pointers_that_are_not_used(void **state)
{
  (void)state;
  xgemm_problem p = XGEMM_PROBLEM_INIT;
  struct product x;
  p.n = 5, p.k = 6; /* m = 0 */
  assert_int_equal(xgemm(&p, NULL), XGEMM_OK);
  p.m = 4, p.n = 0;
  assert_int_equal(xgemm(&p, NULL), XGEMM_OK);
  p.c = xgemm_row_major(NULL, XGEMM_F32, 5);
  p.n = 5, p.alpha = 0, p.beta = 1;
  assert_int_equal(xgemm(&p, NULL), XGEMM_OK);
  p.alpha = 1, p.k = 0;
  assert_int_equal(xgemm(&p, NULL), XGEMM_OK);
  p.beta = 2; /* now C is needed */
  assert_int_equal(xgemm(&p, NULL), XGEMM_INVALID_ARGUMENT);

  fresh(&x); /* alpha = 0: A and B may be NULL */
  x.p.alpha = 0, x.p.beta = -3;
  product_expect(&x);
  x.p.a.data = x.p.b.data = NULL;
  assert_int_equal(xgemm(&x.p, NULL), XGEMM_OK);
  assert_true(product_is_right(&x, 1));
  product_free(&x);
}

/* ---- strides ---- */

static int brute_force_coincide(int m, int n, int rs, int cs)
{
  for (int e = 0; e < m * n; e++)
    for (int f = 0; f < e; f++)
      if (e / n * rs + e % n * cs == f / n * rs + f % n * cs) return 1;
  return 0;
}

/* All small C against the definition, rs = 2, cs = 3 among them: fine for 3 x 2, not for 4 x 3. */
static void strides_that_make_two_elements_one(void **state)
{
  (void)state;
  int refused = 0, taken = 0;
  assert_false(brute_force_coincide(3, 2, 2, 3));
  assert_true(brute_force_coincide(4, 3, 2, 3));
  for (int m = 1; m <= 5; m++)
    for (int n = 1; n <= 5; n++)
      for (int rs = -7; rs <= 7; rs++)
        for (int cs = -7; cs <= 7; cs++) {
          double a[5] = {1, 2, 3, 4, 5}, b[5] = {6, 7, 8, 9, 10}, room[2 * 64 + 1];
          for (int i = 0; i < 129; i++) room[i] = -77;
          xgemm_problem p = XGEMM_PROBLEM_INIT;
          p.m = m, p.n = n, p.k = 1;
          p.a = xgemm_col_major(a, XGEMM_F64, 5);
          p.b = xgemm_row_major(b, XGEMM_F64, 5);
          p.c = xgemm_row_major(room + 64, XGEMM_F64, rs);
          p.c.col_stride = cs;
          xgemm_status status = xgemm(&p, NULL);
          if (brute_force_coincide(m, n, rs, cs)) {
            assert_int_equal(status, XGEMM_INVALID_ARGUMENT);
            for (int i = 0; i < 129; i++) assert_true(room[i] == -77);
            refused++;
          } else {
            assert_int_equal(status, XGEMM_OK);
            int written = 0;
            for (int i = 0; i < 129; i++) written += room[i] != -77;
            assert_int_equal(written, m * n);
            for (int e = 0; e < m * n; e++)
              assert_true(room[64 + e / n * rs + e % n * cs] == a[e / n] * b[e % n]);
            taken++;
          }
        }
  assert_true(refused > 1000 && taken > 1000);
}

static void large_strides_that_coincide(void **state)
{
  (void)state;
  static const struct {
    int64_t m, n, rs, cs;
  } bad[] = {
      {1000, 1001, 1000, 1},        /* a row is one element too long */
      {1001, 1000, 1, 1000},        /* a column is */
      {100000, 7, 6, 70000 * 6},    /* meets only at (70000,0) and (0,1) */
      {65537, 65537, 65536, 65536}, /* equal strides */
      {1 << 20, 1 << 20, 1 << 20, 1 << 10},
      {5, 4, INT64_C(3) << 40, INT64_C(4) << 40}, /* beyond 32 bits: (4,0) is (0,3) */
  };
  static double canary[4] = {1, 2, 3, 4};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    xgemm_problem p = XGEMM_PROBLEM_INIT;
    p.m = bad[i].m, p.n = bad[i].n, p.k = 1;
    p.a = p.b = xgemm_row_major(canary, XGEMM_F64, 0);
    p.a.col_stride = p.b.col_stride = 0;
    p.c = xgemm_row_major(canary + 2, XGEMM_F64, bad[i].rs);
    p.c.col_stride = bad[i].cs;
    assert_int_equal(xgemm(&p, NULL), XGEMM_INVALID_ARGUMENT);
    assert_true(reason_names("c"));
    assert_true(canary[0] == 1 && canary[1] == 2 && canary[2] == 3 && canary[3] == 4);
  }
}

/* One element of C has no neighbour to collide with, whatever its strides. */
static void strides_of_a_single_element_are_free(void **state)
{
  (void)state;
  struct product x;
  product_make(&x, XGEMM_F32, 1, 1, 5, "rrr", 4);
  x.p.c.row_stride = x.p.c.col_stride = 0;
  product_must_be_right(&x, NULL);
  product_free(&x);
}

/* ---- sizes whose bytes overflow ---- */

static void sizes_that_overflow(void **state)
{
  (void)state;
  const int64_t big = (int64_t)1 << 40, most = INT64_MAX;
  static const char names[] = "cabcabcbac";
  const struct {
    int64_t m, n, k, rs_a, rs_b, rs_c;
  } bad[] = {
      {big, big, 1, 1, big, big},   {big, 1, big, big, 1, 1},
      {1, big, big, big, big, big}, {3, 1, 1, 1, 1, most},
      {3, 1, 1, most, 1, 1},        {1, 1, 3, 1, most, 1},
      {3, 1, 1, 1, 1, INT64_MIN},   {1, 1, 3, 3, INT64_MIN, 1},
      {3, 1, 1, INT64_MIN, 1, 1},   {most, 1, 1, 1, 1, (int64_t)1 << 60},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    struct product x;
    char word[2] = {names[i], 0};
    fresh(&x);
    x.p.m = bad[i].m, x.p.n = bad[i].n, x.p.k = bad[i].k;
    x.p.a.row_stride = bad[i].rs_a, x.p.a.col_stride = 1;
    x.p.b.row_stride = bad[i].rs_b, x.p.b.col_stride = 1;
    x.p.c.row_stride = bad[i].rs_c, x.p.c.col_stride = 1;
    product_must_fail(&x, NULL, XGEMM_INVALID_ARGUMENT);
    if (i < 9) assert_true(reason_names(word));
    product_free(&x);
  }
}

/* ---- overlap ---- */

static void c_that_is_an_operand(void **state)
{
  (void)state;
  struct product x;
  product_make(&x, XGEMM_F32, 8, 8, 8, "rrr", 4);
  x.p.a.data = x.p.c.data, refuses(&x, XGEMM_INVALID_ARGUMENT, "c");
  x.p.a.data = x.a.at, x.p.b.data = x.p.c.data, refuses(&x, XGEMM_INVALID_ARGUMENT, "c");
  x.p.alpha = 0, x.p.beta = 2; /* B is not read: no harm */
  product_must_be_right(&x, NULL);
  x.p.b.data = x.p.a.data, x.p.alpha = 1; /* A and B may be one */
  product_must_be_right(&x, NULL);
  product_free(&x);
}

/* ---- names and numbers that mean nothing ---- */

static void unknown_types_and_spaces(void **state)
{
  (void)state;
  struct product x;
  fresh(&x);
  x.p.a.type = x.p.b.type = x.p.c.type = (xgemm_type)99;
  refuses(&x, XGEMM_INVALID_ARGUMENT, "type");
  x.p.a.type = x.p.b.type = x.p.c.type = XGEMM_F64;
  x.p.b.type = (xgemm_type)-7, refuses(&x, XGEMM_INVALID_ARGUMENT, "type");
  x.p.b.type = XGEMM_F32, refuses(&x, XGEMM_UNSUPPORTED, "b");
  x.p.b.type = XGEMM_F64, x.p.c.type = XGEMM_F32, refuses(&x, XGEMM_UNSUPPORTED, "c");
  x.p.c.type = XGEMM_F64, x.p.c.space = (xgemm_space)9,
  refuses(&x, XGEMM_INVALID_ARGUMENT, "space");
  x.p.c.space = (xgemm_space)-1, refuses(&x, XGEMM_INVALID_ARGUMENT, "space");
  product_free(&x);
}

static void unknown_names(void **state)
{
  (void)state;
  static const char *const names[] = {"nothing", "", "SGEMM", "sgemm_avx512_14x32 ", "%s%s%n"};
  for (int i = 0; i < 5; i++) {
    struct product x;
    xgemm_options o = XGEMM_OPTIONS_INIT;
    fresh(&x);
    o.kernel = names[i];
    product_must_fail(&x, &o, XGEMM_UNKNOWN_NAME);
    product_free(&x);
  }
}

/* ---- a forced engine that cannot: an error, no other engine steps in ---- */

static void forced_engines_that_cannot(void **state)
{
  (void)state;
  struct product x;
  xgemm_options o = XGEMM_OPTIONS_INIT;
  fresh(&x);
  if (xg_backend_gpu.available(1)) {
    o.backend = XGEMM_BACKEND_GPU;
    product_must_fail(&x, &o, XGEMM_NO_DEVICE);
    assert_true(strlen(xgemm_last_reason()) > 15);
  }
  x.p.a.space = x.p.b.space = x.p.c.space = XGEMM_SPACE_DEVICE;
  o.backend = XGEMM_BACKEND_CPU, product_must_fail(&x, &o, XGEMM_UNSUPPORTED);
  o.backend = XGEMM_BACKEND_REF, product_must_fail(&x, &o, XGEMM_UNSUPPORTED);
  product_free(&x);
}

static void device_operands_without_a_device(void **state)
{
  (void)state;
  struct product x;
  if (!xg_backend_gpu.available(1)) skip();
  fresh(&x);
  x.p.a.space = x.p.b.space = x.p.c.space = XGEMM_SPACE_DEVICE;
  product_expect(&x);
  xgemm_status status = xgemm(&x.p, NULL);
  assert_true(status == XGEMM_NO_DEVICE || status == XGEMM_UNSUPPORTED);
  assert_true(xgemm_last_reason()[0] != 0);
  assert_true(product_is_untouched(&x));
  x.p.a.space = XGEMM_SPACE_HOST; /* one here, two there */
  assert_true(xgemm(&x.p, NULL) < 0);
  assert_true(product_is_untouched(&x));
  product_free(&x);
}

static void a_kernel_of_another_engine(void **state)
{
  (void)state;
  struct product x;
  xgemm_options o = XGEMM_OPTIONS_INIT;
  assert_true(xg_backend_cpu.kernel_count() > 0);
  fresh(&x);
  for (int i = 0; i < xg_backend_cpu.kernel_count(); i++)
    if (xg_backend_cpu.kernel_info(i).type == XGEMM_F64)
      o.kernel = xg_backend_cpu.kernel_info(i).name;
  assert_non_null(o.kernel);
  o.backend = XGEMM_BACKEND_REF;
  product_expect(&x);
  assert_true(xgemm(&x.p, &o) < 0);
  assert_true(product_is_untouched(&x));
  product_free(&x);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(null_problem),
      cmocka_unit_test(negative_sizes),
      cmocka_unit_test(edg_11_null_pointers),
      cmocka_unit_test(edg_11_null_pointers_that_are_not_used),
      cmocka_unit_test(strides_that_make_two_elements_one),
      cmocka_unit_test(large_strides_that_coincide),
      cmocka_unit_test(strides_of_a_single_element_are_free),
      cmocka_unit_test(sizes_that_overflow),
      cmocka_unit_test(c_that_is_an_operand),
      cmocka_unit_test(unknown_types_and_spaces),
      cmocka_unit_test(unknown_names),
      cmocka_unit_test(forced_engines_that_cannot),
      cmocka_unit_test(device_operands_without_a_device),
      cmocka_unit_test(a_kernel_of_another_engine),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
