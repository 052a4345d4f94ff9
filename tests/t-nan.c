/* NaN, infinity, zero scalars, exception flags, denormals, rounding and control registers. */
#define _GNU_SOURCE /* feenableexcept */

#include <fenv.h>
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "cm.h"
#include "product.h"
#include "xgemm.h"

static const char *const transposes[] = {"ccr", "crr", "rcc", "rrc"};
static const xgemm_backend engines[] = {XGEMM_BACKEND_AUTO, XGEMM_BACKEND_CPU, XGEMM_BACKEND_REF};
enum { ENGINES = 3 };

/* Every combination that matters here: type, engine, and one thread or several. */
struct setting {
  xgemm_type type;
  xgemm_options options;
};

static int next_setting(struct setting *s, int *at)
{
  if (*at == 2 * ENGINES * 2) return 0;
  s->type = *at % 2 ? XGEMM_F64 : XGEMM_F32;
  memset(&s->options, 0, sizeof s->options);
  s->options.backend = engines[*at / 2 % ENGINES];
  s->options.threads = *at / (2 * ENGINES) ? 3 : 1;
  ++*at;
  return 1;
}

static void must_run(const struct product *x, const xgemm_options *options)
{
  xgemm_status status = xgemm(&x->p, options);
  if (status != XGEMM_OK) fprintf(stderr, "%s\n", xgemm_last_reason());
  assert_int_equal(status, XGEMM_OK);
}

static double at(const struct product *x, int64_t i, int64_t j)
{
  return reference_get(&x->p.c, i, j);
}

static void fill_with_rubbish(struct product *x)
{
  const double rubbish[3] = {NAN, INFINITY, -INFINITY};
  for (int64_t i = 0; i < x->p.m; i++)
    for (int64_t j = 0; j < x->p.n; j++) reference_set(&x->p.c, i, j, rubbish[(i + j) % 3]);
}

/* COR-01. */
static void cor_01_beta_zero_never_reads_c(void **state)
{
  (void)state;
  static const int64_t sizes[][3] = {{37, 37, 37}, {97, 53, 41}, {5, 3, 2}, {200, 130, 70}};
  struct setting s;
  for (int it = 0; next_setting(&s, &it);)
    for (int size = 0; size < 4; size++)
      for (int t = 0; t < 4; t++) {
        struct product x;
        product_make(&x, s.type, sizes[size][0], sizes[size][1], sizes[size][2], transposes[t], 7);
        product_fill(&x, 7, 0);
        reference_fill_with(&x.p.c, x.p.m, x.p.n, 0);
        product_expect(&x);
        must_run(&x, &s.options);
        assert_true(product_is_right(&x, 0));
        void *clean = product_bits(&x);
        fill_with_rubbish(&x);
        must_run(&x, &s.options);
        void *dirty = product_bits(&x);
        assert_memory_equal(clean, dirty, product_bytes(&x));
        free(clean), free(dirty);
        product_free(&x);
      }
}

static int is_positive_zero(double value)
{
  return value == 0 && !signbit(value);
}

/* EDG-01, COR-22: alpha = beta = 0 with NaN everywhere; A and B cannot even be touched. */
static void edg_01_zero_scalars_write_zeros(void **state)
{
  (void)state;
  static const int64_t sizes[][3] = {{5, 5, 5}, {2, 2, 2}, {2, 1, 2}, {64, 64, 64}, {129, 67, 31}};
  struct setting s;
  for (int it = 0; next_setting(&s, &it);)
    for (int size = 0; size < 5; size++) {
      struct product x;
      struct hostile forbidden;
      product_make(&x, s.type, sizes[size][0], sizes[size][1], sizes[size][2], "rrR", 7);
      assert_int_equal(hostile_open(&forbidden, 4096), 0);
      x.p.alpha = x.p.beta = 0;
      fill_with_rubbish(&x);
      product_expect(&x);
      x.p.a.data = x.p.b.data = hostile_place(&forbidden, 0, 8, HOSTILE_END);
      must_run(&x, &s.options);
      for (int64_t i = 0; i < x.p.m; i++)
        for (int64_t j = 0; j < x.p.n; j++) assert_true(is_positive_zero(at(&x, i, j)));
      assert_true(product_is_right(&x, 1)); /* and nothing beside C's elements */
      fill_with_rubbish(&x);
      x.p.a.data = x.p.b.data = NULL;
      must_run(&x, &s.options);
      assert_true(product_is_right(&x, 1));
      hostile_close(&forbidden);
      product_free(&x);
    }
}

/* COR-06 and its like: what is left is C = beta*C, exact, with C's own NaN kept. */
static void cor_06_scaling_only(void **state)
{
  (void)state;
  static const double betas[] = {2, -1, 0.5, -3};
  struct setting s;
  for (int it = 0; next_setting(&s, &it);)
    for (int k = 0; k <= 40; k += 40)
      for (int b = 0; b < 4; b++) {
        struct product x;
        product_make(&x, s.type, 50, 41, k, "rrC", 7);
        x.p.alpha = k ? 0 : 3, x.p.beta = betas[b];
        reference_set(&x.p.c, 3, 4, NAN);
        reference_set(&x.p.c, 5, 6, INFINITY);
        product_expect(&x);
        x.p.a.data = x.p.b.data = NULL;
        must_run(&x, &s.options);
        assert_true(product_is_right(&x, 1));
        assert_true(isnan(at(&x, 3, 4)) && isinf(at(&x, 5, 6)));
        product_free(&x);
      }
}

static void beta_one_without_product_touches_nothing(void **state)
{
  (void)state;
  struct setting s;
  for (int it = 0; next_setting(&s, &it);)
    for (int k = 0; k <= 5; k += 5) {
      struct product x;
      product_make(&x, s.type, 6, 7, k, "rrC", 7);
      x.p.alpha = k ? 0 : 1, x.p.beta = 1;
      fill_with_rubbish(&x);
      product_expect(&x);
      x.p.a.data = x.p.b.data = NULL;
      hostile_readonly(&x.c.mem); /* a write would fault */
      must_run(&x, &s.options);
      assert_true(product_is_untouched(&x));
      product_free(&x);
    }
}

/* One NaN or infinity in A or B reaches exactly the row or column it must, through every size
 * class.
 */
static void nan_and_infinity_spread_as_they_must(void **state)
{
  (void)state;
  static const int64_t sizes[][3] = {{4, 3, 2}, {19, 17, 23}, {80, 70, 90}};
  static const double poison[] = {NAN, INFINITY, -INFINITY};
  struct setting s;
  for (int it = 0; next_setting(&s, &it);)
    for (int size = 0; size < 3; size++)
      for (int p = 0; p < 3; p++)
        for (int where = 0; where < 3; where++) {
          struct product x;
          product_make(&x, s.type, sizes[size][0], sizes[size][1], sizes[size][2], "RCR", 7);
          x.p.beta = 1;
          reference_fill_with(&x.p.b, x.p.k, x.p.n, 1);
          reference_fill_with(&x.p.a, x.p.m, x.p.k, 1);
          if (where == 0) reference_set(&x.p.a, x.p.m - 1, x.p.k / 2, poison[p]);
          if (where == 1) reference_set(&x.p.b, x.p.k - 1, x.p.n - 1, poison[p]);
          if (where == 2) reference_set(&x.p.c, x.p.m - 1, 0, poison[p]);
          product_must_be_right(&x, &s.options);
          product_free(&x);
        }
}

static void zero_times_infinity_is_nan(void **state)
{
  (void)state;
  struct setting s;
  for (int it = 0; next_setting(&s, &it);)
    for (int side = 0; side < 2; side++) {
      struct product x;
      product_make(&x, s.type, 33, 35, 37, "rrr", 7);
      reference_fill_with(&x.p.a, x.p.m, x.p.k, 0);
      if (side == 0)
        reference_set(&x.p.b, 36, 34, INFINITY);
      else
        reference_set(&x.p.b, 0, 34, NAN);
      product_must_be_right(&x, &s.options); /* a column of NaN, zeros elsewhere */
      for (int64_t i = 0; i < x.p.m; i++) assert_true(isnan(at(&x, i, 34)) && at(&x, i, 0) == 0);
      product_free(&x);
    }
}

static void scalars_that_are_not_numbers(void **state)
{
  (void)state;
  struct setting s;
  for (int it = 0; next_setting(&s, &it);)
    for (int which = 0; which < 3; which++) {
      struct product x;
      product_make(&x, s.type, 21, 18, 9, "rrr", 7);
      x.p.alpha = which == 0 ? NAN : which == 2 ? INFINITY : 1;
      x.p.beta = which == 1 ? NAN : 1;
      if (which == 2) reference_fill_with(&x.p.a, x.p.m, x.p.k, 0); /* inf * 0 */
      must_run(&x, &s.options);
      for (int64_t i = 0; i < x.p.m; i++)
        for (int64_t j = 0; j < x.p.n; j++) assert_true(isnan(at(&x, i, j)));
      product_free(&x);
    }
}

/* COR-11: NaN left in a workspace must not reach the next product, whatever its remainder. */
static void cor_11_nothing_is_left_behind(void **state)
{
  (void)state;
  struct setting s;
  for (int it = 0; next_setting(&s, &it);)
    for (int d = 0; d < 18; d++) {
      struct product poison, x;
      product_make(&poison, s.type, 64, 64, 64, "rcr", 7);
      reference_fill_with(&poison.p.a, 64, 64, NAN);
      reference_fill_with(&poison.p.b, 64, 64, NAN);
      product_make(&x, s.type, 59 - d, 50 - d, 59, "rcr", 8);
      product_fill(&x, 8, 0);
      product_expect(&x);
      must_run(&x, &s.options);
      assert_true(product_is_right(&x, 0));
      void *before = product_bits(&x);
      must_run(&poison, &s.options);
      product_rewind(&x);
      must_run(&x, &s.options);
      void *after = product_bits(&x);
      assert_memory_equal(before, after, product_bytes(&x));
      free(before), free(after);
      product_free(&x), product_free(&poison);
    }
}

/* COR-12: the elements between and beside are NaN (product_make sees to it) and must stay. */
static void cor_12_padding_is_never_used(void **state)
{
  (void)state;
  static const char *const padded[] = {"RRR", "CCC", "RCR", "CRC", "RCC", "CRR"};
  for (int m = 1; m <= 20; m++)
    for (int n = 1; n <= 20; n += 1 + n % 3)
      for (int k = 1; k <= 20; k += 1 + k % 4) {
        struct product x;
        product_make(&x, XGEMM_F32, m, n, k, padded[(m + n + k) % 6], 7);
        x.p.beta = (m + k) % 2;
        product_must_be_right(&x, NULL);
        product_free(&x);
      }
}

/* ---- exception flags ---- */

/* NUM-05. */
static void num_05_only_inexact_may_be_raised(void **state)
{
  (void)state;
  struct setting s;
  for (int it = 0; next_setting(&s, &it);)
    for (int m = 1; m <= 64; m += 7)
      for (int n = 1; n <= 64; n += 9)
        for (int k = 1; k <= 64; k += 21) {
          struct product x;
          product_make(&x, s.type, m, n, k, (m + n) % 2 ? "rrr" : "ccc", 7);
          feclearexcept(FE_ALL_EXCEPT);
          must_run(&x, &s.options);
          int raised = fetestexcept(FE_ALL_EXCEPT & ~FE_INEXACT);
          if (raised) fprintf(stderr, "m=%d n=%d k=%d raised %#x\n", m, n, k, (unsigned)raised);
          assert_int_equal(raised, 0);
          product_free(&x);
        }
}

/* NUM-07. */
static void num_07_zeros_raise_nothing(void **state)
{
  (void)state;
  struct setting s;
  for (int it = 0; next_setting(&s, &it);) {
    struct product x;
    product_make(&x, s.type, 33, 33, 33, "rcr", 7);
    reference_fill_with(&x.p.a, 33, 33, 0);
    x.p.b.data = x.p.a.data;
    feclearexcept(FE_ALL_EXCEPT);
    must_run(&x, &s.options);
    assert_int_equal(fetestexcept(FE_ALL_EXCEPT & ~FE_INEXACT), 0);
    for (int i = 0; i < 33; i++)
      for (int j = 0; j < 33; j++) assert_true(at(&x, i, j) == 0);
    product_free(&x);
  }
}

/* A caller that traps on invalid operations must survive a clean product. */
static void trapping_callers_survive(void **state)
{
  (void)state;
  struct setting s;
  for (int it = 0; next_setting(&s, &it);) {
    struct product x;
    product_make(&x, s.type, 45, 39, 51, "rcR", 7);
    product_expect(&x);
    fenv_t quiet;
    fegetenv(&quiet);
    feclearexcept(FE_ALL_EXCEPT);
    feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
    xgemm_status status = xgemm(&x.p, &s.options);
    fesetenv(&quiet);
    assert_int_equal(status, XGEMM_OK);
    assert_true(product_is_right(&x, 1));
    product_free(&x);
  }
}

/* ---- control state ---- */

/* NUM-08. */
static void num_08_rounding_mode_is_the_callers(void **state)
{
  (void)state;
  static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST};
  struct setting s;
  for (int it = 0; next_setting(&s, &it);)
    for (int mode = 0; mode < 4; mode++) {
      struct product x;
      product_make(&x, s.type, 90, 80, 70, "rcr", 7);
      product_expect(&x);
      fesetround(modes[mode]);
      xgemm_status status = xgemm(&x.p, &s.options);
      int after = fegetround();
      fesetround(FE_TONEAREST);
      assert_int_equal(status, XGEMM_OK);
      assert_int_equal(after, modes[mode]);
      assert_true(product_is_right(&x, 1)); /* exact integers know no rounding */
      product_free(&x);
    }
}

#if defined(__x86_64__)
/* NUM-08. */
static void num_08_mxcsr_is_left_alone(void **state)
{
  (void)state;
  static const unsigned words[] = {0x1f80, 0x9fc0, 0x7f80, 0x3f80, 0x1d80};
  struct setting s;
  for (int it = 0; next_setting(&s, &it);)
    for (int w = 0; w < 5; w++) {
      struct product x;
      unsigned short x87_before, x87_after;
      product_make(&x, s.type, 90, 80, 70, "rcr", 7);
      unsigned old = _mm_getcsr();
      __asm__ volatile("fnstcw %0" : "=m"(x87_before));
      _mm_setcsr(words[w]);
      xgemm_status status = xgemm(&x.p, &s.options);
      unsigned now = _mm_getcsr();
      _mm_setcsr(old);
      __asm__ volatile("fnstcw %0" : "=m"(x87_after));
      assert_int_equal(status, XGEMM_OK);
      assert_int_equal(now & 0xffc0, words[w] & 0xffc0);
      assert_int_equal(x87_before, x87_after);
      product_free(&x);
    }
}

/* FTZ set by the caller holds in every thread or in none: one answer for all thread counts. */
static void num_04_flush_to_zero_is_uniform(void **state)
{
  (void)state;
  static const int threads[] = {1, 2, 3, 8};
  struct product x;
  unsigned old = _mm_getcsr();
  product_make(&x, XGEMM_F64, 256, 256, 2, "rrr", 7);
  reference_fill_with(&x.p.a, 256, 2, 1e-200);
  reference_fill_with(&x.p.b, 2, 256, 1e-110);
  for (int t = 0; t < 4; t++) {
    xgemm_options o = XGEMM_OPTIONS_INIT;
    o.threads = threads[t];
    _mm_setcsr(old | 0x8040);
    xgemm_status status = xgemm(&x.p, &o);
    double first = at(&x, 0, 0);
    _mm_setcsr(old);
    assert_int_equal(status, XGEMM_OK);
    assert_true(first == 0); /* the caller's mode counts */
    for (int i = 0; i < 256; i++)
      for (int j = 0; j < 256; j++) assert_true(at(&x, i, j) == first);
  }
  product_free(&x);
}
#endif

/* NUM-04. */
static void num_04_gradual_underflow(void **state)
{
  (void)state;
  static const int threads[] = {1, 2, 8};
  volatile double tiny = 1e-310;
  assert_true(tiny * 1.0 == 1e-310);
  for (int t = 0; t < 3; t++) {
    struct product x;
    xgemm_options o = XGEMM_OPTIONS_INIT;
    o.threads = threads[t];
    product_make(&x, XGEMM_F64, 256, 256, 2, "rrr", 7);
    reference_fill_with(&x.p.a, 256, 2, 1e-200);
    reference_fill_with(&x.p.b, 2, 256, 1e-110);
    product_expect(&x);
    must_run(&x, &o);
    assert_true(product_is_right(&x, 0));
    for (int i = 0; i < 256; i++)
      for (int j = 0; j < 256; j++) {
        assert_true(at(&x, i, j) == at(&x, 0, 0));
        assert_true(fabs(at(&x, i, j) - 2e-310) <= 2 * 4.95e-324);
      }
    product_free(&x);

    product_make(&x, XGEMM_F32, 40, 40, 3, "rrr", 7);
    reference_fill_with(&x.p.a, 40, 3, 1e-30);
    reference_fill_with(&x.p.b, 3, 40, 1e-10);
    product_expect(&x);
    must_run(&x, &o);
    assert_true(product_is_right(&x, 0) && at(&x, 39, 39) > 0);
    product_free(&x);
  }
  assert_true(tiny * 1.0 == 1e-310);
}

/* Overflow is the arithmetic's, not a step's: sums within range stay finite, others are infinite.
 */
static void overflow_gives_infinity_where_it_is_due(void **state)
{
  (void)state;
  struct setting s;
  for (int it = 0; next_setting(&s, &it);) {
    double big = s.type == XGEMM_F64 ? 1e200 : 1e25;
    struct product x;
    product_make(&x, s.type, 9, 8, 3, "rrr", 7);
    reference_fill_with(&x.p.a, 9, 3, big);
    reference_fill_with(&x.p.b, 3, 8, 1);
    reference_set(&x.p.b, 1, 7, big);
    must_run(&x, &s.options);
    for (int i = 0; i < 9; i++) assert_true(isinf(at(&x, i, 7)) && isfinite(at(&x, i, 0)));
    product_free(&x);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(cor_01_beta_zero_never_reads_c),
    cmocka_unit_test(edg_01_zero_scalars_write_zeros),
    cmocka_unit_test(cor_06_scaling_only),
    cmocka_unit_test(beta_one_without_product_touches_nothing),
    cmocka_unit_test(nan_and_infinity_spread_as_they_must),
    cmocka_unit_test(zero_times_infinity_is_nan),
    cmocka_unit_test(scalars_that_are_not_numbers),
    cmocka_unit_test(cor_11_nothing_is_left_behind),
    cmocka_unit_test(cor_12_padding_is_never_used),
    cmocka_unit_test(num_05_only_inexact_may_be_raised),
    cmocka_unit_test(num_07_zeros_raise_nothing),
    cmocka_unit_test(trapping_callers_survive),
    cmocka_unit_test(num_08_rounding_mode_is_the_callers),
#if defined(__x86_64__)
    cmocka_unit_test(num_08_mxcsr_is_left_alone),
    cmocka_unit_test(num_04_flush_to_zero_is_uniform),
#endif
    cmocka_unit_test(num_04_gradual_underflow),
    cmocka_unit_test(overflow_gives_infinity_where_it_is_due),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
