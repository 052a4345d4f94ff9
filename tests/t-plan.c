/* Plans: made, run with other pointers, described, refused for another shape, shared by threads. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm.h"
#include "product.h"
#include "../cpu/ukr.h"
#include "xgemm.h"

#include "../common/backend.h"
#include "../common/plan.h"

static xgemm_plan *create(const xgemm_problem *p, const xgemm_options *options)
{
  xgemm_plan *plan = NULL;
  xgemm_status status = xgemm_plan_create(&plan, p, options);
  if (status != XGEMM_OK) fprintf(stderr, "plan: %s\n", xgemm_last_reason());
  assert_int_equal(status, XGEMM_OK);
  assert_non_null(plan);
  return plan;
}

static void run_is_right(const xgemm_plan *plan, struct product *x)
{
  product_expect(x);
  xgemm_status status = xgemm_plan_run(plan, &x->p, NULL);
  if (status != XGEMM_OK) fprintf(stderr, "run: %s\n", xgemm_last_reason());
  assert_int_equal(status, XGEMM_OK);
  assert_true(product_is_right(x, 1));
}

static void one_plan_many_pointers_and_scalars(void **state)
{
  (void)state;
  static const double scalars[][2] = {{1, 0}, {1, 1}, {-2, 3}, {0, 2}, {0, 0}, {0, 1}, {0.5, -1}};
  static const int64_t sizes[][3] = {{4, 4, 4}, {61, 47, 53}, {300, 120, 260}};
  for (int type = XGEMM_F32; type <= XGEMM_F64; type++)
    for (int s = 0; s < 3; s++) {
      struct product first;
      product_make(&first, (xgemm_type)type, sizes[s][0], sizes[s][1], sizes[s][2], "RCr", 1);
      xgemm_plan *plan = create(&first.p, NULL);
      product_free(&first); /* pointers are no part of a plan */
      for (uint64_t i = 0; i < 7; i++) {
        struct product x;
        product_make(&x, (xgemm_type)type, sizes[s][0], sizes[s][1], sizes[s][2], "RCr", 10 + i);
        x.p.alpha = scalars[i][0], x.p.beta = scalars[i][1];
        run_is_right(plan, &x);
        product_free(&x);
      }
      xgemm_plan_destroy(plan);
    }
}

/* What the plan was made with (alpha = 0) must not narrow what it can run. */
static void a_plan_made_with_zero_scalars_serves_all(void **state)
{
  (void)state;
  struct product x;
  product_make(&x, XGEMM_F64, 70, 30, 40, "rrr", 2);
  x.p.alpha = 0, x.p.beta = 1;
  xgemm_plan *plan = create(&x.p, NULL);
  x.p.alpha = 3, x.p.beta = -1;
  run_is_right(plan, &x);
  xgemm_plan_destroy(plan);
  product_free(&x);
}

static void empty_plans_do_nothing_or_scale(void **state)
{
  (void)state;
  static const int64_t sizes[][3] = {{0, 5, 5}, {5, 0, 5}, {0, 0, 0}, {5, 4, 0}};
  for (int s = 0; s < 4; s++) {
    struct product x;
    product_make(&x, XGEMM_F32, sizes[s][0], sizes[s][1], sizes[s][2], "ccc", 2);
    x.p.beta = 2;
    xgemm_plan *plan = create(&x.p, NULL);
    run_is_right(plan, &x);
    xgemm_plan_destroy(plan);
    product_free(&x);
  }
}

static void null_pointers_at_creation(void **state)
{
  (void)state;
  struct product x;
  for (int space = XGEMM_SPACE_AUTO; space <= XGEMM_SPACE_HOST; space++) {
    product_make(&x, XGEMM_F32, 80, 60, 40, "rrr", 2);
    x.p.a.space = x.p.b.space = x.p.c.space = (xgemm_space)space;
    xgemm_problem blank = x.p;
    blank.a.data = blank.b.data = blank.c.data = NULL;
    xgemm_plan *plan = create(&blank, NULL);
    run_is_right(plan, &x);
    product_expect(&x);
    assert_int_equal(xgemm_plan_run(plan, &blank, NULL), XGEMM_INVALID_ARGUMENT);
    blank.c.data = x.p.c.data;
    assert_int_equal(xgemm_plan_run(plan, &blank, NULL), XGEMM_INVALID_ARGUMENT);
    assert_true(product_is_untouched(&x));
    xgemm_plan_destroy(plan);
    product_free(&x);
  }
}

static void must_refuse(const xgemm_plan *plan, struct product *x, const xgemm_problem *other)
{
  product_expect(x);
  assert_int_equal(xgemm_plan_run(plan, other, NULL), XGEMM_INVALID_ARGUMENT);
  assert_true(xgemm_last_reason()[0] != 0);
  assert_true(product_is_untouched(x));
}

static void another_shape_is_refused(void **state)
{
  (void)state;
  struct product x;
  product_make(&x, XGEMM_F32, 12, 10, 8, "RRR", 2);
  xgemm_plan *plan = create(&x.p, NULL);
  xgemm_problem q = x.p;
  q.m--, must_refuse(plan, &x, &q);
  q = x.p, q.n--, must_refuse(plan, &x, &q);
  q = x.p, q.k--, must_refuse(plan, &x, &q);
  q = x.p, q.a.row_stride--, must_refuse(plan, &x, &q);
  q = x.p, q.b.row_stride--, must_refuse(plan, &x, &q);
  q = x.p, q.c.row_stride--, must_refuse(plan, &x, &q);
  q = x.p, q.c.row_stride = 1, q.c.col_stride = 12, must_refuse(plan, &x, &q);
  q = x.p, q.a.type = q.b.type = q.c.type = XGEMM_F64, q.m = 2, must_refuse(plan, &x, &q);
  q = x.p, q.m = -1, must_refuse(plan, &x, &q);
  run_is_right(plan, &x); /* refusals leave the plan as it was */
  xgemm_plan_destroy(plan);
  product_free(&x);
}

static void null_arguments_are_refused(void **state)
{
  (void)state;
  struct product x;
  xgemm_plan *plan = (xgemm_plan *)&x;
  product_make(&x, XGEMM_F32, 5, 5, 5, "rrr", 2);
  assert_int_equal(xgemm_plan_create(NULL, &x.p, NULL), XGEMM_INVALID_ARGUMENT);
  assert_int_equal(xgemm_plan_create(&plan, NULL, NULL), XGEMM_INVALID_ARGUMENT);
  assert_null(plan);
  assert_int_equal(xgemm_plan_run(NULL, &x.p, NULL), XGEMM_INVALID_ARGUMENT);
  plan = create(&x.p, NULL);
  assert_int_equal(xgemm_plan_run(plan, NULL, NULL), XGEMM_INVALID_ARGUMENT);
  xgemm_plan_destroy(plan);
  xgemm_plan_destroy(NULL);
  product_free(&x);
}

static void failed_creation_gives_null(void **state)
{
  (void)state;
  struct product x;
  xgemm_plan *plan = (xgemm_plan *)&x;
  xgemm_options o = XGEMM_OPTIONS_INIT;
  product_make(&x, XGEMM_F32, 5, 5, 5, "rrr", 2);
  xgemm_problem q = x.p;
  q.k = -3;
  assert_int_equal(xgemm_plan_create(&plan, &q, NULL), XGEMM_INVALID_ARGUMENT);
  assert_null(plan);
  plan = (xgemm_plan *)&x;
  o.kernel = "no_such_kernel";
  assert_int_equal(xgemm_plan_create(&plan, &x.p, &o), XGEMM_UNKNOWN_NAME);
  assert_null(plan);
  product_free(&x);
}

static void options_of_a_run(void **state)
{
  (void)state;
  struct product x;
  xgemm_options o = XGEMM_OPTIONS_INIT, other = XGEMM_OPTIONS_INIT;
  product_make(&x, XGEMM_F64, 40, 50, 60, "rrr", 2);
  o.backend = XGEMM_BACKEND_CPU, o.threads = 1;
  xgemm_plan *plan = create(&x.p, &o);
  product_expect(&x);
  assert_int_equal(xgemm_plan_run(plan, &x.p, &o), XGEMM_OK); /* as at creation */
  assert_true(product_is_right(&x, 1));
  run_is_right(plan, &x); /* none */
  product_expect(&x);
  other.backend = XGEMM_BACKEND_REF;
  assert_int_equal(xgemm_plan_run(plan, &x.p, &other), XGEMM_INVALID_ARGUMENT);
  other = o, other.threads = 2;
  assert_int_equal(xgemm_plan_run(plan, &x.p, &other), XGEMM_INVALID_ARGUMENT);
  other = o, other.kernel = "no_such_kernel";
  assert_true(xgemm_plan_run(plan, &x.p, &other) < 0);
  assert_true(product_is_untouched(&x));
  xgemm_plan_destroy(plan);
  product_free(&x);
}

static void describe_tells_and_truncates(void **state)
{
  (void)state;
  struct product x;
  char line[1024], whole[8192], small[16];
  product_make(&x, XGEMM_F32, 100, 90, 80, "rcr", 2);
  xgemm_plan *plan = create(&x.p, NULL);
  int length = xgemm_plan_describe(plan, 0, line, sizeof line);
  assert_int_equal(length, (int)strlen(line));
  assert_null(strchr(line, '\n'));
  assert_true(strncmp(line, "cpu ", 4) == 0 ||
              (!xg_backend_gpu.available(1) && strncmp(line, "gpu ", 4) == 0));
  length = xgemm_plan_describe(plan, 1, whole, sizeof whole);
  assert_int_equal(length, (int)strlen(whole));
  for (int i = 0; xg_backends[i]; i++) assert_non_null(strstr(whole, xg_backends[i]->name));

  for (size_t size = 0; size < sizeof small; size++) {
    memset(small, '#', sizeof small);
    assert_int_equal(xgemm_plan_describe(plan, 1, small, size), length);
    if (size > 1) assert_memory_equal(small, whole, size - 1);
    if (size > 0) assert_int_equal(small[size - 1], 0);
    for (size_t i = size; i < sizeof small; i++) assert_int_equal(small[i], '#');
  }
  assert_int_equal(xgemm_plan_describe(plan, 1, NULL, 0), length);
  xgemm_plan_destroy(plan);
  product_free(&x);
}

static void a_forced_backend_is_described(void **state)
{
  (void)state;
  struct product x;
  char line[1024];
  xgemm_options o = XGEMM_OPTIONS_INIT;
  product_make(&x, XGEMM_F32, 10, 10, 10, "rcr", 2);
  o.backend = XGEMM_BACKEND_REF;
  xgemm_plan *plan = create(&x.p, &o);
  xgemm_plan_describe(plan, 0, line, sizeof line);
  assert_non_null(strstr(line, "ref"));
  run_is_right(plan, &x);
  xgemm_plan_destroy(plan);
  product_free(&x);
}

/* ---- one plan, many threads ---- */

enum { THREADS = 8, ROUNDS = 20 };

struct worker {
  const xgemm_plan *plan;
  struct product x;
  void *bits;
  int failures;
};

static void *run_rounds(void *argument)
{
  struct worker *w = argument;
  for (int i = 0; i < ROUNDS; i++) {
    product_rewind(&w->x);
    if (xgemm_plan_run(w->plan, &w->x.p, NULL) != XGEMM_OK) w->failures++;
    void *now = product_bits(&w->x);
    if (memcmp(now, w->bits, product_bytes(&w->x)) != 0) w->failures++;
    free(now);
  }
  return NULL;
}

static void a_plan_is_shared_by_threads(void **state)
{
  (void)state;
  static struct worker workers[THREADS];
  pthread_t threads[THREADS];
  xgemm_plan *plan = NULL;
  for (int i = 0; i < THREADS; i++) {
    struct worker *w = &workers[i];
    product_make(&w->x, XGEMM_F32, 150, 140, 130, "rcr", 100 + (uint64_t)i);
    product_fill(&w->x, 100 + (uint64_t)i, 0);
    w->x.p.beta = 1;
    if (!plan) plan = create(&w->x.p, NULL);
    product_expect(&w->x);
    assert_int_equal(xgemm_plan_run(plan, &w->x.p, NULL), XGEMM_OK);
    assert_true(product_is_right(&w->x, 0));
    w->bits = product_bits(&w->x);
    w->plan = plan;
  }
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, run_rounds, &workers[i]), 0);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < THREADS; i++) {
    assert_int_equal(workers[i].failures, 0);
    free(workers[i].bits);
    product_free(&workers[i].x);
  }
  xgemm_plan_destroy(plan);
}

/* ---- one product, however it is asked for: default call, options, plan ---- */

static void *bits_of_way(struct product *x, int way)
{
  static const xgemm_options two = {.backend = XGEMM_BACKEND_CPU, .threads = 2};
  product_rewind(x);
  if (way == 2) {
    xgemm_plan *plan = create(&x->p, NULL);
    assert_int_equal(xgemm_plan_run(plan, &x->p, NULL), XGEMM_OK);
    xgemm_plan_destroy(plan);
  } else {
    assert_int_equal(xgemm(&x->p, way ? &two : NULL), XGEMM_OK);
  }
  return product_bits(x);
}

static void every_way_gives_the_same_bits(void **state)
{
  (void)state;
  static const int64_t sides[] = {1, 2, 3, 7, 16, 40, 64, 255, 256, 257, 300, 511, 512, 513};
  enum { SIDES = sizeof sides / sizeof sides[0] };
  static const char *const layouts[] = {"rrr", "ccc", "crr", "rcc"};
  for (int i = 0; i < SIDES * SIDES * SIDES; i++) {
    int64_t m = sides[i % SIDES], n = sides[i / SIDES % SIDES], k = sides[i / SIDES / SIDES];
    if (m * n * k > 1 << 18 || k < 7) continue;
    for (int l = 0; l < 4; l++) {
      struct product x;
      product_make(&x, l & 1 ? XGEMM_F64 : XGEMM_F32, m, n, k, layouts[l], (uint64_t)i);
      product_fill(&x, (uint64_t)i, 0);
      product_expect(&x);
      void *bits[3];
      for (int way = 0; way < 3; way++) bits[way] = bits_of_way(&x, way);
      assert_memory_equal(bits[0], bits[1], product_bytes(&x));
      assert_memory_equal(bits[0], bits[2], product_bytes(&x));
      for (int way = 0; way < 3; way++) free(bits[way]);
      product_free(&x);
    }
  }
}

/* ---- sizes that no memory holds: planning needs no data ---- */

static void plan_is_sane(xgemm_type type, int64_t m, int64_t n, int64_t k)
{
  xgemm_problem p = XGEMM_PROBLEM_INIT;
  struct xg_problem internal;
  struct xg_request request;
  struct xg_decision d;
  char text[4096];
  p.m = m, p.n = n, p.k = k;
  p.a = xgemm_row_major(NULL, type, k);
  p.b = xgemm_row_major(NULL, type, n);
  p.c = xgemm_row_major(NULL, type, n);
  xgemm_plan *plan = create(&p, NULL);
  assert_true(xgemm_plan_describe(plan, 1, text, sizeof text) > 0);
  xgemm_plan_destroy(plan);

  p.a.data = p.b.data = text, p.c.data = text + 8; /* never touched */
  assert_int_equal(xg_problem_from_public(&internal, &p), XGEMM_OK);
  assert_int_equal(xg_request_from_public(&request, NULL), XGEMM_OK);
  assert_int_equal(xg_decide(&internal, &request, &d), XGEMM_OK);
  for (int i = 0; i < d.count; i++) {
    const struct xg_choice *c = &d.candidates[i].choice;
    if (!d.candidates[i].can) continue;
    assert_true(c->threads >= 1 && c->threads < 1 << 20);
    assert_true(c->seconds > 0 && c->seconds < 1e300);
    assert_true(c->split_k >= 1);
    assert_true(c->workspace < (size_t)1 << 50);
    if (c->backend == &xg_backend_cpu) {
      assert_true(c->mc > 0 && c->nc > 0 && c->kc > 0);
      /* only panel kernels have blocks; the others take a thin or small product whole */
      const struct xg_ukr *u = c->unit;
      if (u->kind == XG_UKR_PANEL) assert_true(c->mc < 1 << 24 && c->kc < 1 << 24);
    }
  }
}

/* API-08, API-09. */
static void api_08_api_09_huge_sizes(void **state)
{
  (void)state;
  plan_is_sane(XGEMM_F32, 1 << 20, 1 << 20, 1 << 20);
  plan_is_sane(XGEMM_F64, 1 << 20, 1 << 20, 1 << 20);
  plan_is_sane(XGEMM_F32, INT32_MAX, 1000, 1000);
  plan_is_sane(XGEMM_F32, 1000, INT32_MAX, 1000);
  plan_is_sane(XGEMM_F64, 1000, 1000, INT32_MAX);
  plan_is_sane(XGEMM_F32, INT32_MAX, INT32_MAX / 4, 1);
  plan_is_sane(XGEMM_F64, (int64_t)1 << 40, 3, 5);
  plan_is_sane(XGEMM_F32, 16384, 16384, 16384);
  plan_is_sane(XGEMM_F32, 1, 1, 1 << 30);
}

/* API-08. */
static void api_08_impossible_sizes(void **state)
{
  (void)state;
  xgemm_problem p = XGEMM_PROBLEM_INIT;
  xgemm_plan *plan;
  p.m = p.n = p.k = (int64_t)1 << 40;
  p.a = p.b = p.c = xgemm_row_major(NULL, XGEMM_F32, (int64_t)1 << 40);
  assert_int_equal(xgemm_plan_create(&plan, &p, NULL), XGEMM_INVALID_ARGUMENT);
  assert_null(plan);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_plan_many_pointers_and_scalars),
      cmocka_unit_test(a_plan_made_with_zero_scalars_serves_all),
      cmocka_unit_test(empty_plans_do_nothing_or_scale),
      cmocka_unit_test(null_pointers_at_creation),
      cmocka_unit_test(another_shape_is_refused),
      cmocka_unit_test(null_arguments_are_refused),
      cmocka_unit_test(failed_creation_gives_null),
      cmocka_unit_test(options_of_a_run),
      cmocka_unit_test(describe_tells_and_truncates),
      cmocka_unit_test(a_forced_backend_is_described),
      cmocka_unit_test(a_plan_is_shared_by_threads),
      cmocka_unit_test(every_way_gives_the_same_bits),
      cmocka_unit_test(api_08_api_09_huge_sizes),
      cmocka_unit_test(api_08_impossible_sizes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
