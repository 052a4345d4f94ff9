/* xgemm() and its structs: pinned numbers and offsets, size fields, options, defaults, reasons. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm.h"
#include "product.h"
#include "xgemm.h"

#include "../common/backend.h"

static void statuses_have_pinned_numbers(void **state)
{
  (void)state;
  assert_int_equal(XGEMM_OK, 0);
  assert_int_equal(XGEMM_INVALID_ARGUMENT, -1);
  assert_int_equal(XGEMM_UNSUPPORTED, -2);
  assert_int_equal(XGEMM_UNKNOWN_NAME, -3);
  assert_int_equal(XGEMM_OUT_OF_MEMORY, -10);
  assert_int_equal(XGEMM_NO_DEVICE, -20);
  assert_int_equal(XGEMM_DEVICE_ERROR, -21);
}

static void enums_have_pinned_numbers(void **state)
{
  (void)state;
  assert_int_equal(XGEMM_F32, 0);
  assert_int_equal(XGEMM_F64, 1);
  assert_int_equal(XGEMM_SPACE_AUTO, 0);
  assert_int_equal(XGEMM_SPACE_HOST, 1);
  assert_int_equal(XGEMM_SPACE_DEVICE, 2);
  assert_int_equal(XGEMM_SPACE_MANAGED, 3);
  assert_int_equal(XGEMM_BACKEND_AUTO, 0);
  assert_int_equal(XGEMM_BACKEND_CPU, 1);
  assert_int_equal(XGEMM_BACKEND_GPU, 2);
  assert_int_equal(XGEMM_BACKEND_REF, 3);
}

/* The first released layout on LP64, for good. */
static void structs_have_pinned_offsets(void **state)
{
  (void)state;
  if (sizeof(void *) != 8) skip();
  assert_int_equal(offsetof(xgemm_matrix, data), 0);
  assert_int_equal(offsetof(xgemm_matrix, type), 8);
  assert_int_equal(offsetof(xgemm_matrix, space), 12);
  assert_int_equal(offsetof(xgemm_matrix, row_stride), 16);
  assert_int_equal(offsetof(xgemm_matrix, col_stride), 24);
  assert_int_equal(offsetof(xgemm_matrix, reserved), 32);
  assert_int_equal(sizeof(xgemm_matrix), 64);

  assert_int_equal(offsetof(xgemm_problem, size), 0);
  assert_int_equal(offsetof(xgemm_problem, m), 8);
  assert_int_equal(offsetof(xgemm_problem, n), 16);
  assert_int_equal(offsetof(xgemm_problem, k), 24);
  assert_int_equal(offsetof(xgemm_problem, alpha), 32);
  assert_int_equal(offsetof(xgemm_problem, beta), 40);
  assert_int_equal(offsetof(xgemm_problem, a), 48);
  assert_int_equal(offsetof(xgemm_problem, b), 112);
  assert_int_equal(offsetof(xgemm_problem, c), 176);
  assert_int_equal(sizeof(xgemm_problem), 240);

  assert_int_equal(offsetof(xgemm_options, size), 0);
  assert_int_equal(offsetof(xgemm_options, backend), 8);
  assert_int_equal(offsetof(xgemm_options, threads), 12);
  assert_int_equal(offsetof(xgemm_options, device), 16);
  assert_int_equal(offsetof(xgemm_options, stream), 24);
  assert_int_equal(offsetof(xgemm_options, deterministic), 32);
  assert_int_equal(offsetof(xgemm_options, kernel), 40);
  assert_int_equal(sizeof(xgemm_options), 48);
}

static void strerror_names_every_status(void **state)
{
  (void)state;
  assert_string_equal(xgemm_strerror(XGEMM_OK), "XGEMM_OK");
  assert_string_equal(xgemm_strerror(XGEMM_INVALID_ARGUMENT), "XGEMM_INVALID_ARGUMENT");
  assert_string_equal(xgemm_strerror(XGEMM_UNSUPPORTED), "XGEMM_UNSUPPORTED");
  assert_string_equal(xgemm_strerror(XGEMM_UNKNOWN_NAME), "XGEMM_UNKNOWN_NAME");
  assert_string_equal(xgemm_strerror(XGEMM_OUT_OF_MEMORY), "XGEMM_OUT_OF_MEMORY");
  assert_string_equal(xgemm_strerror(XGEMM_NO_DEVICE), "XGEMM_NO_DEVICE");
  assert_string_equal(xgemm_strerror(XGEMM_DEVICE_ERROR), "XGEMM_DEVICE_ERROR");
  assert_non_null(xgemm_strerror((xgemm_status)-5));
  assert_non_null(xgemm_strerror((xgemm_status)12345));
}

static void version_is_the_headers(void **state)
{
  (void)state;
  assert_int_equal(xgemm_version(), XGEMM_VERSION);
  assert_int_equal(XGEMM_VERSION,
                   10000 * XGEMM_VERSION_MAJOR + 100 * XGEMM_VERSION_MINOR + XGEMM_VERSION_PATCH);
}

static void init_macros_set_what_they_say(void **state)
{
  (void)state;
  xgemm_problem p = XGEMM_PROBLEM_INIT;
  xgemm_options o = XGEMM_OPTIONS_INIT;
  xgemm_matrix x = XGEMM_MATRIX_INIT;
  xgemm_options zero;
  memset(&zero, 0, sizeof zero);
  assert_int_equal(p.size, sizeof p);
  assert_true(p.alpha == 1 && p.beta == 0);
  assert_true(p.m == 0 && p.n == 0 && p.k == 0);
  assert_int_equal(o.size, sizeof o);
  assert_true(o.backend == zero.backend && o.threads == 0 && o.device == 0 && !o.stream);
  assert_true(o.deterministic == 0 && !o.kernel);
  assert_true(!x.data && x.type == XGEMM_F32 && x.space == XGEMM_SPACE_AUTO);
  for (int i = 0; i < 4; i++) assert_true(x.reserved[i] == 0 && p.c.reserved[i] == 0);
}

static void matrix_helpers_are_strides(void **state)
{
  (void)state;
  double d = 0;
  xgemm_matrix r = xgemm_row_major(&d, XGEMM_F64, 7), c = xgemm_col_major(&d, XGEMM_F32, 5);
  assert_true(r.data == &d && r.type == XGEMM_F64 && r.space == XGEMM_SPACE_AUTO);
  assert_true(r.row_stride == 7 && r.col_stride == 1);
  assert_true(c.type == XGEMM_F32 && c.row_stride == 1 && c.col_stride == 5);
  xgemm_matrix t = xgemm_transpose(r);
  assert_true(t.data == &d && t.type == XGEMM_F64 && t.row_stride == 1 && t.col_stride == 7);
  for (int i = 0; i < 4; i++) assert_true(r.reserved[i] == 0 && c.reserved[i] == 0);
}

static void the_headers_example_works(void **state)
{
  (void)state;
  const float a[] = {1, 2, 3, 4, 5, 6}, b[] = {7, 8, 9, 10, 11, 12};
  float c[4] = {-1, -1, -1, -1};
  xgemm_problem p = XGEMM_PROBLEM_INIT;
  p.m = 2, p.n = 2, p.k = 3;
  p.a = xgemm_row_major(a, XGEMM_F32, 3);
  p.b = xgemm_row_major(b, XGEMM_F32, 2);
  p.c = xgemm_row_major(c, XGEMM_F32, 2);
  assert_int_equal(xgemm(&p, NULL), XGEMM_OK);
  assert_true(c[0] == 58 && c[1] == 64 && c[2] == 139 && c[3] == 154);
}

static void every_layout_pair_is_right(void **state)
{
  (void)state;
  static const char letters[] = "rcRCgn0";
  for (int type = XGEMM_F32; type <= XGEMM_F64; type++)
    for (int a = 0; letters[a]; a++)
      for (int b = 0; letters[b]; b++)
        for (int c = 0; letters[c] != '0'; c++) {
          char layout[4] = {letters[a], letters[b], letters[c], 0};
          struct product x;
          product_make(&x, (xgemm_type)type, 19, 13, 11, layout, 1);
          x.p.alpha = -2, x.p.beta = 3;
          product_must_be_right(&x, NULL);
          product_free(&x);
        }
}

/* Sizes around every register tile, through each engine. */
static void engines_and_threads_are_right(void **state)
{
  (void)state;
  static const int64_t sizes[][3] = {{1, 1, 1},    {7, 5, 3},      {33, 17, 64},
                                     {97, 53, 41}, {130, 67, 300}, {256, 200, 31}};
  static const xgemm_backend backends[] = {XGEMM_BACKEND_AUTO, XGEMM_BACKEND_CPU,
                                           XGEMM_BACKEND_REF};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
    for (int type = XGEMM_F32; type <= XGEMM_F64; type++)
      for (int e = 0; e < 3; e++)
        for (int threads = 0; threads <= 3; threads++) {
          xgemm_options o = XGEMM_OPTIONS_INIT;
          struct product x;
          product_make(&x, (xgemm_type)type, sizes[s][0], sizes[s][1], sizes[s][2], "RCR", s);
          x.p.beta = s % 2 ? 1 : 0;
          o.backend = backends[e], o.threads = threads;
          product_must_be_right(&x, &o);
          product_free(&x);
        }
}

static void gpu_by_force_is_right_or_says_why_not(void **state)
{
  (void)state;
  xgemm_options o = XGEMM_OPTIONS_INIT;
  struct product x;
  o.backend = XGEMM_BACKEND_GPU;
  product_make(&x, XGEMM_F32, 40, 30, 20, "rrr", 5);
  if (xg_backend_gpu.available(1))
    product_must_fail(&x, &o, XGEMM_NO_DEVICE);
  else
    product_must_be_right(&x, &o);
  product_free(&x);
}

/* Each kernel of the CPU by name: the right result where it can run, a refusal where it cannot. */
static void every_cpu_kernel_can_be_forced(void **state)
{
  (void)state;
  int ran = 0;
  for (int i = 0; i < xg_backend_cpu.kernel_count(); i++) {
    struct xg_kernel_info info = xg_backend_cpu.kernel_info(i);
    xgemm_options o = XGEMM_OPTIONS_INIT;
    struct product x;
    o.kernel = info.name;
    product_make(&x, info.type, 29, 31, 23, "rcR", 7);
    x.p.beta = 2;
    if (info.reason) {
      product_must_fail(&x, &o, XGEMM_UNSUPPORTED);
    } else {
      char text[512];
      xgemm_plan *plan;
      product_must_be_right(&x, &o);
      assert_int_equal(xgemm_plan_create(&plan, &x.p, &o), XGEMM_OK);
      xgemm_plan_describe(plan, 0, text, sizeof text);
      assert_non_null(strstr(text, info.name));
      xgemm_plan_destroy(plan);
      ran++;
    }
    product_free(&x);
    product_make(&x, info.type == XGEMM_F32 ? XGEMM_F64 : XGEMM_F32, 9, 9, 9, "rrr", 8);
    product_must_fail(&x, &o, XGEMM_UNSUPPORTED);
    product_free(&x);
  }
  assert_true(ran >= 2);
}

/* ---- size fields: how the structs may grow ---- */

struct bigger_problem {
  xgemm_problem p;
  unsigned char tail[24];
};

struct bigger_options {
  xgemm_options o;
  unsigned char tail[24];
};

static void problem_of_another_size(size_t size, int last_byte, xgemm_status expected)
{
  struct bigger_problem big;
  struct product x;
  memset(&big, 0, sizeof big);
  product_make(&x, XGEMM_F64, 6, 5, 4, "rrr", 3);
  product_expect(&x);
  big.p = x.p;
  big.p.size = size;
  big.tail[sizeof big.tail - 1] = (unsigned char)last_byte;
  assert_int_equal(xgemm(&big.p, NULL), expected);
  if (expected == XGEMM_OK)
    assert_true(product_is_right(&x, 1));
  else
    assert_true(product_is_untouched(&x) && xgemm_last_reason()[0]);
  product_free(&x);
}

static void problem_size_rules(void **state)
{
  (void)state;
  problem_of_another_size(0, 0, XGEMM_OK);
  problem_of_another_size(0, 1, XGEMM_OK); /* 0: the first layout, what follows is not ours */
  problem_of_another_size(sizeof(xgemm_problem), 1, XGEMM_OK);
  problem_of_another_size(sizeof(struct bigger_problem), 0, XGEMM_OK);
  problem_of_another_size(sizeof(struct bigger_problem), 1, XGEMM_UNSUPPORTED);
  problem_of_another_size(sizeof(struct bigger_problem) - 1, 1, XGEMM_OK);
  problem_of_another_size(sizeof(xgemm_problem) - 1, 0, XGEMM_INVALID_ARGUMENT);
  problem_of_another_size(1, 0, XGEMM_INVALID_ARGUMENT);
}

static void options_of_another_size(size_t size, int last_byte, xgemm_status expected)
{
  struct bigger_options big;
  struct product x;
  memset(&big, 0, sizeof big);
  big.o.size = size;
  big.tail[sizeof big.tail - 1] = (unsigned char)last_byte;
  product_make(&x, XGEMM_F64, 6, 5, 4, "rrr", 3);
  if (expected == XGEMM_OK)
    product_must_be_right(&x, &big.o);
  else
    product_must_fail(&x, &big.o, expected);
  product_free(&x);
}

static void options_size_rules(void **state)
{
  (void)state;
  options_of_another_size(0, 1, XGEMM_OK);
  options_of_another_size(sizeof(xgemm_options), 1, XGEMM_OK);
  options_of_another_size(sizeof(struct bigger_options), 0, XGEMM_OK);
  options_of_another_size(sizeof(struct bigger_options), 1, XGEMM_UNSUPPORTED);
  options_of_another_size(sizeof(xgemm_options) - 1, 0, XGEMM_INVALID_ARGUMENT);
}

static void reserved_must_be_zero(void **state)
{
  (void)state;
  for (int operand = 0; operand < 3; operand++)
    for (int word = 0; word < 4; word++) {
      struct product x;
      product_make(&x, XGEMM_F32, 4, 4, 4, "rrr", 3);
      xgemm_matrix *matrices[3] = {&x.p.a, &x.p.b, &x.p.c};
      matrices[operand]->reserved[word] = 1;
      product_must_fail(&x, NULL, XGEMM_UNSUPPORTED);
      product_free(&x);
    }
}

/* ---- options and defaults ---- */

static void bad_options_are_refused(void **state)
{
  (void)state;
  struct product x;
  xgemm_options o = XGEMM_OPTIONS_INIT;
  product_make(&x, XGEMM_F32, 5, 6, 7, "rcr", 3);
  o.backend = (xgemm_backend)17;
  product_must_fail(&x, &o, XGEMM_INVALID_ARGUMENT);
  o.backend = (xgemm_backend)-1;
  product_must_fail(&x, &o, XGEMM_INVALID_ARGUMENT);
  o.backend = XGEMM_BACKEND_AUTO, o.threads = -1;
  product_must_fail(&x, &o, XGEMM_INVALID_ARGUMENT);
  o.threads = 0, o.device = -1;
  product_must_fail(&x, &o, XGEMM_INVALID_ARGUMENT);
  o.device = 0, o.kernel = "sgemm_of_another_planet";
  product_must_fail(&x, &o, XGEMM_UNKNOWN_NAME);
  assert_non_null(strstr(xgemm_last_reason(), "sgemm_of_another_planet"));
  o.kernel = NULL, o.deterministic = 1;
  product_must_be_right(&x, &o);
  o.deterministic = 0, o.threads = 100000; /* never more than useful, never more than there are */
  product_must_be_right(&x, &o);
  product_free(&x);
}

static void describe_default_plan(char *text, size_t size)
{
  struct product x;
  xgemm_plan *plan;
  product_make(&x, XGEMM_F32, 50, 50, 50, "rrr", 3);
  assert_int_equal(xgemm_plan_create(&plan, &x.p, NULL), XGEMM_OK);
  assert_true(xgemm_plan_describe(plan, 0, text, size) > 0);
  xgemm_plan_destroy(plan);
  product_free(&x);
}

static void defaults_hold_until_taken_back(void **state)
{
  (void)state;
  char before[512], with_ref[512], after[512];
  xgemm_options o = XGEMM_OPTIONS_INIT, own = XGEMM_OPTIONS_INIT;
  struct product x;
  describe_default_plan(before, sizeof before);
  assert_null(strstr(before, "ref"));
  o.backend = XGEMM_BACKEND_REF;
  assert_int_equal(xgemm_set_defaults(&o), XGEMM_OK);
  describe_default_plan(with_ref, sizeof with_ref);
  assert_non_null(strstr(with_ref, "ref"));
  product_make(&x, XGEMM_F64, 20, 20, 20, "rrr", 3);
  product_must_be_right(&x, NULL);
  own.backend = XGEMM_BACKEND_CPU; /* a field that is not zero wins */
  xgemm_plan *plan;
  assert_int_equal(xgemm_plan_create(&plan, &x.p, &own), XGEMM_OK);
  xgemm_plan_describe(plan, 0, after, sizeof after);
  assert_non_null(strstr(after, "cpu"));
  xgemm_plan_destroy(plan);
  product_free(&x);
  assert_int_equal(xgemm_set_defaults(NULL), XGEMM_OK);
  describe_default_plan(after, sizeof after);
  assert_string_equal(before, after);
}

static void default_kernel_name_is_copied(void **state)
{
  (void)state;
  struct xg_kernel_info info = {0};
  char name[64], text[512];
  xgemm_options o = XGEMM_OPTIONS_INIT;
  for (int i = 0; i < xg_backend_cpu.kernel_count(); i++) {
    info = xg_backend_cpu.kernel_info(i);
    if (!info.reason && info.type == XGEMM_F32) break;
  }
  assert_null(info.reason);
  snprintf(name, sizeof name, "%s", info.name);
  o.kernel = name;
  assert_int_equal(xgemm_set_defaults(&o), XGEMM_OK);
  memset(name, 'x', sizeof name - 1);
  describe_default_plan(text, sizeof text);
  assert_non_null(strstr(text, info.name));
  assert_int_equal(xgemm_set_defaults(NULL), XGEMM_OK);
}

static void bad_defaults_change_nothing(void **state)
{
  (void)state;
  char before[512], after[512], long_name[100];
  int something;
  xgemm_options o = XGEMM_OPTIONS_INIT;
  describe_default_plan(before, sizeof before);
  o.stream = &something;
  assert_int_equal(xgemm_set_defaults(&o), XGEMM_INVALID_ARGUMENT);
  o.stream = NULL, o.backend = (xgemm_backend)9;
  assert_int_equal(xgemm_set_defaults(&o), XGEMM_INVALID_ARGUMENT);
  o.backend = XGEMM_BACKEND_REF, o.threads = -4;
  assert_int_equal(xgemm_set_defaults(&o), XGEMM_INVALID_ARGUMENT);
  memset(long_name, 'k', sizeof long_name);
  long_name[sizeof long_name - 1] = 0;
  o.threads = 0, o.kernel = long_name;
  assert_true(xgemm_set_defaults(&o) < 0);
  o.kernel = "no_such_kernel";
  assert_int_equal(xgemm_set_defaults(&o), XGEMM_UNKNOWN_NAME);
  describe_default_plan(after, sizeof after);
  assert_string_equal(before, after);
}

static void *fail_elsewhere(void *argument)
{
  char *first = argument;
  snprintf(first, 256, "%s", xgemm_last_reason());
  return (void *)(intptr_t)xgemm(NULL, NULL);
}

static void reason_belongs_to_its_thread(void **state)
{
  (void)state;
  char mine[256], theirs[256] = "never run";
  xgemm_problem p = XGEMM_PROBLEM_INIT;
  pthread_t thread;
  void *status;
  p.n = -12;
  assert_int_equal(xgemm(&p, NULL), XGEMM_INVALID_ARGUMENT);
  snprintf(mine, sizeof mine, "%s", xgemm_last_reason());
  assert_non_null(strstr(mine, "n"));
  assert_non_null(strstr(mine, "-12"));
  assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, theirs), 0);
  pthread_join(thread, &status);
  assert_int_equal((intptr_t)status, XGEMM_INVALID_ARGUMENT);
  assert_string_equal(theirs, ""); /* nothing had failed there yet */
  assert_string_equal(xgemm_last_reason(), mine);
}

static void memory_can_be_released_between_products(void **state)
{
  (void)state;
  for (int round = 0; round < 3; round++) {
    struct product x;
    product_make(&x, XGEMM_F32, 200, 150, 100, "rrr", 3);
    product_must_be_right(&x, NULL);
    product_free(&x);
    assert_int_equal(xgemm_release_memory(), XGEMM_OK);
    assert_int_equal(xgemm_release_memory(), XGEMM_OK);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(statuses_have_pinned_numbers),
      cmocka_unit_test(enums_have_pinned_numbers),
      cmocka_unit_test(structs_have_pinned_offsets),
      cmocka_unit_test(strerror_names_every_status),
      cmocka_unit_test(version_is_the_headers),
      cmocka_unit_test(init_macros_set_what_they_say),
      cmocka_unit_test(matrix_helpers_are_strides),
      cmocka_unit_test(the_headers_example_works),
      cmocka_unit_test(every_layout_pair_is_right),
      cmocka_unit_test(engines_and_threads_are_right),
      cmocka_unit_test(gpu_by_force_is_right_or_says_why_not),
      cmocka_unit_test(every_cpu_kernel_can_be_forced),
      cmocka_unit_test(problem_size_rules),
      cmocka_unit_test(options_size_rules),
      cmocka_unit_test(reserved_must_be_zero),
      cmocka_unit_test(bad_options_are_refused),
      cmocka_unit_test(defaults_hold_until_taken_back),
      cmocka_unit_test(default_kernel_name_is_copied),
      cmocka_unit_test(bad_defaults_change_nothing),
      cmocka_unit_test(reason_belongs_to_its_thread),
      cmocka_unit_test(memory_can_be_released_between_products),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
