/* Complaints that users of other libraries filed in public, as inputs; tests/cases.tsv lists them.
 * Here: many callers, and signals. */
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "cases.h"

static volatile sig_atomic_t ticks;

static void on_tick(int number)
{
  (void)number;
  /* Vector registers and the red zone are used here as any handler may. */
  volatile double scratch[64];
  for (int i = 0; i < 64; i++) scratch[i] = i * 1.5;
  ticks += scratch[63] == 94.5;
}

/* COR-18: a signal every millisecond. */
static void cor_18_a_timer_interrupts(void **state)
{
  (void)state;
  struct sigaction action, old;
  struct itimerval every_ms = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
  struct reference_rng rng = {77};
  memset(&action, 0, sizeof action);
  action.sa_handler = on_tick;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, &old);
  setitimer(ITIMER_REAL, &every_ms, NULL);
  for (int draw = 0; draw < 150; draw++) {
    struct product x;
    int64_t m = reference_integer(&rng, 1, 300), n = reference_integer(&rng, 1, 300);
    product_make(&x, draw % 2 ? XGEMM_F64 : XGEMM_F32, m, n, reference_integer(&rng, 1, 300), "rcr",
                 (uint64_t)draw);
    product_must_be_right(&x, NULL);
    product_free(&x);
  }
  setitimer(ITIMER_REAL, &never, NULL);
  sigaction(SIGALRM, &old, NULL);
  assert_true(ticks > 0);
}

struct caller {
  struct product x;
  xgemm_options options;
  void *bits;
  int rounds, failures;
};

static void *call_repeatedly(void *argument)
{
  struct caller *c = argument;
  for (int i = 0; i < c->rounds; i++) {
    reference_fill_with(&c->x.p.c, c->x.p.m, c->x.p.n, NAN);
    if (xgemm(&c->x.p, &c->options) != XGEMM_OK) c->failures++;
    void *now = product_bits(&c->x);
    c->failures += memcmp(now, c->bits, product_bytes(&c->x)) != 0;
    free(now);
  }
  return NULL;
}

static void caller_prepare(struct caller *c, xgemm_type type, int64_t m, int64_t n, int64_t k,
                           int threads, int rounds)
{
  product_make(&c->x, type, m, n, k, "rcr", (uint64_t)(m + n + k));
  product_fill(&c->x, (uint64_t)(m * n), 0);
  c->options = cpu(threads);
  product_expect(&c->x);
  must_run(&c->x.p, &c->options);
  assert_true(product_is_right(&c->x, 0));
  c->bits = product_bits(&c->x);
  c->rounds = rounds;
  c->failures = 0;
}

static void run_callers(struct caller *callers, int count)
{
  pthread_t threads[32];
  for (int i = 0; i < count; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, call_repeatedly, &callers[i]), 0);
  for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < count; i++) {
    assert_int_equal(callers[i].failures, 0);
    free(callers[i].bits);
    product_free(&callers[i].x);
  }
}

/* COR-13: both with more threads than cores. */
static void cor_13_a_large_product_beside_small_ones(void **state)
{
  (void)state;
  static struct caller callers[2];
  caller_prepare(&callers[0], XGEMM_F64, 500, 400, 300, 8, 12);
  caller_prepare(&callers[1], XGEMM_F64, 64, 64, 128, 8, 50);
  run_callers(callers, 2);
}

/* THR-05, through the shared library; t-fork has the static one. */
static void thr_05_twenty_callers(void **state)
{
  (void)state;
  for (int threads = 0; threads <= 1; threads++) {
    static struct caller callers[20];
    struct reference_rng rng = {5};
    for (int i = 0; i < 20; i++)
      caller_prepare(&callers[i], i % 2 ? XGEMM_F64 : XGEMM_F32, reference_integer(&rng, 1, 300),
                     reference_integer(&rng, 1, 300), reference_integer(&rng, 1, 300), threads, 12);
    run_callers(callers, 20);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cor_18_a_timer_interrupts),
      cmocka_unit_test(cor_13_a_large_product_beside_small_ones),
      cmocka_unit_test(thr_05_twenty_callers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
