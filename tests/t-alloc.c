/* Memory that cannot be had: every product is still right, to the bit, and nothing leaks. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "cm.h"
#include "product.h"
#include "xgemm.h"
#include "xgemm_cblas.h"

#include "../common/alloc.h"

#if defined(__SANITIZE_ADDRESS__)
enum { SANITIZED = 1 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif
#else
enum { SANITIZED = 0 };
#endif

enum { FAILURES = 50 };

static const int64_t shapes[][3] = {{3, 4, 5},      {65, 70, 300},  {200, 7, 900}, {300, 290, 310},
                                    {400, 700, 17}, {50, 40, 4500}, {9, 400, 1100}};
enum { SHAPES = 7 };

/* 1 if an allocation has failed since xg_alloc_fail_at(n, 0); it is disarmed either way. */
static int has_failed(void)
{
  int pending = 0;
  for (int i = 0; i < 2 * FAILURES && !pending; i++) {
    void *probe = xg_alloc(64);
    if (!probe) pending = 1;
    xg_free(probe);
  }
  xg_alloc_fail_at(0, 0);
  return !pending;
}

static void same_bits_when(struct product *x, const void *bits, const xgemm_options *o, long n,
                           int repeat)
{
  xgemm_release_memory();
  product_rewind(x);
  xg_alloc_fail_at(n, repeat);
  xgemm_status status = xgemm(&x->p, o);
  xg_alloc_fail_at(0, 0);
  if (status != XGEMM_OK) fprintf(stderr, "allocation %ld: %s\n", n, xgemm_last_reason());
  assert_int_equal(status, XGEMM_OK); /* host products need no memory, they are only slower */
  assert_true(product_is_right(x, 0));
  void *now = product_bits(x);
  if (memcmp(now, bits, product_bytes(x)) != 0)
    fprintf(stderr, "allocation %ld%s of %lld x %lld x %lld: other bits\n", n,
            repeat ? " and all after" : "", (long long)x->p.m, (long long)x->p.n,
            (long long)x->p.k);
  assert_memory_equal(now, bits, product_bytes(x));
  free(now);
}

/* MEM-12. */
static void mem_12_the_nth_allocation_fails(void **state)
{
  (void)state;
  static const char *const layouts[] = {"rrr", "ccr", "ggg"};
  for (int type = XGEMM_F32; type <= XGEMM_F64; type++)
    for (int shape = 0; shape < SHAPES; shape++)
      for (int threads = 1; threads <= 2; threads++)
        for (int layout = 0; layout < 3; layout++) {
          xgemm_options o = XGEMM_OPTIONS_INIT;
          struct product x;
          o.backend = XGEMM_BACKEND_CPU, o.threads = threads;
          product_make(&x, (xgemm_type)type, shapes[shape][0], shapes[shape][1], shapes[shape][2],
                       layouts[layout], 5);
          product_fill(&x, 5, 0);
          x.p.alpha = 0.7, x.p.beta = -1.3;
          product_expect(&x);
          assert_int_equal(xgemm(&x.p, &o), XGEMM_OK);
          assert_true(product_is_right(&x, 0));
          void *bits = product_bits(&x);
          for (long n = 1; n <= 4; n++) same_bits_when(&x, bits, &o, n, 0);
          for (long n = 1; n <= 4; n++) same_bits_when(&x, bits, &o, n, 1);
          free(bits);
          product_free(&x);
        }
}

/* The long row of failures on one product; stops when the product asks for no more. */
/* MEM-12. */
static void mem_12_up_to_the_fiftieth(void **state)
{
  (void)state;
  xgemm_options o = XGEMM_OPTIONS_INIT;
  struct product x;
  int failed = 0;
  o.backend = XGEMM_BACKEND_CPU, o.threads = 2;
  product_make(&x, XGEMM_F64, 300, 200, 400, "crC", 5);
  product_fill(&x, 5, 0);
  product_expect(&x);
  assert_int_equal(xgemm(&x.p, &o), XGEMM_OK);
  void *bits = product_bits(&x);
  for (long n = 1; n <= FAILURES; n++) {
    same_bits_when(&x, bits, &o, n, 1);
    xgemm_release_memory();
    product_rewind(&x);
    xg_alloc_fail_at(n, 0);
    assert_int_equal(xgemm(&x.p, &o), XGEMM_OK);
    failed += has_failed();
    void *now = product_bits(&x);
    assert_memory_equal(now, bits, product_bytes(&x));
    free(now);
  }
  assert_true(failed >= 1); /* else nothing was tested */
  free(bits);
  product_free(&x);
}

/* MEM-12. */
static void mem_12_blas_names_are_right(void **state)
{
  (void)state;
  struct product x;
  product_make(&x, XGEMM_F32, 256, 256, 256, "rrr", 5);
  product_expect(&x);
  for (long n = 1; n <= 4; n++) {
    xgemm_release_memory();
    reference_fill_with(&x.p.c, 256, 256, -1);
    xg_alloc_fail_at(n, 1);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 256, 256, 256, 1, x.p.a.data, 256,
                x.p.b.data, 256, 0, x.p.c.data, 256);
    xg_alloc_fail_at(0, 0);
    assert_true(product_is_right(&x, 1));
  }
  product_free(&x);
}

static void plans_under_failure(void **state)
{
  (void)state;
  struct product x;
  product_make(&x, XGEMM_F64, 150, 150, 150, "rrr", 5);
  for (long n = 1; n <= 5; n++) {
    xgemm_plan *plan = NULL;
    product_expect(&x);
    xgemm_release_memory();
    xg_alloc_fail_at(n, 1);
    xgemm_status status = xgemm_plan_create(&plan, &x.p, NULL);
    if (status == XGEMM_OK)
      status = xgemm_plan_run(plan, &x.p, NULL);
    else
      assert_null(plan);
    xg_alloc_fail_at(0, 0);
    assert_true(status == XGEMM_OK || status == XGEMM_OUT_OF_MEMORY);
    if (status == XGEMM_OK)
      assert_true(product_is_right(&x, 1));
    else
      assert_true(product_is_untouched(&x));
    xgemm_plan_destroy(plan);
    product_rewind(&x);
  }
  product_free(&x);
}

/* ---- limits of the system, in processes of their own ---- */

/* Warm: the library has run, threads and buffers are there; cold: its start needs memory too. */
static int product_in_no_space(int threads, int warm)
{
  struct product x;
  struct rlimit limit;
  xgemm_options o = XGEMM_OPTIONS_INIT;
  o.backend = XGEMM_BACKEND_CPU, o.threads = threads;
  product_make(&x, XGEMM_F64, 512, 512, 512, "rrr", 5);
  product_expect(&x);
  if (warm && (xgemm(&x.p, &o) != XGEMM_OK || xgemm_release_memory() != XGEMM_OK)) return 92;
  reference_fill_with(&x.p.c, 512, 512, -1);
  long size = child_proc_status("VmSize:");
  limit.rlim_cur = limit.rlim_max = (rlim_t)size * 1024 + 65536;
  if (setrlimit(RLIMIT_AS, &limit)) return 90;
  void *volatile large = malloc(64 << 20); /* volatile: the call must not be optimised away */
  if (large) return 91;                    /* the limit must bite */
  if (xgemm(&x.p, &o) != XGEMM_OK) return 1;
  return product_is_right(&x, 1) ? 0 : 2;
}

/* MEM-12. */
static void mem_12_address_space_is_full(void **state)
{
  (void)state;
  static const char *const threads[] = {"1", "2", "4"};
  if (SANITIZED) skip();
  for (int i = 0; i < 6; i++) {
    struct child c;
    child_exec(&c, i % 2 ? "no-space-warm" : "no-space", threads[i / 2], NULL, 60);
    if (c.exited != 0)
      fprintf(stderr, "%s, threads=%s: exited %d signal %d\n%s", i % 2 ? "warm" : "cold",
              threads[i / 2], c.exited, c.signal, c.err);
    assert_int_equal(c.exited, 0);
    assert_string_equal(c.err, "");
    assert_string_equal(c.out, "");
  }
}

/* ---- threads with little stack: 128 kB is what musl gives by default ---- */

struct on_small_stack {
  struct product *x;
  xgemm_options options;
  xgemm_status status;
};

static void *product_on_small_stack(void *argument)
{
  struct on_small_stack *s = argument;
  s->status = xgemm(&s->x->p, &s->options);
  return NULL;
}

static void small_stacks_are_enough(void **state)
{
  (void)state;
  if (SANITIZED) skip();
  for (int type = XGEMM_F32; type <= XGEMM_F64; type++)
    for (int shape = 0; shape < SHAPES; shape++)
      for (int starved = 0; starved < 2; starved++) {
        struct product x;
        struct on_small_stack s = {.x = &x};
        pthread_attr_t attributes;
        pthread_t thread;
        product_make(&x, (xgemm_type)type, shapes[shape][0], shapes[shape][1], shapes[shape][2],
                     "rrr", 5);
        product_expect(&x);
        s.options.backend = XGEMM_BACKEND_CPU, s.options.threads = 1;
        xgemm_release_memory();
        pthread_attr_init(&attributes);
        assert_int_equal(pthread_attr_setstacksize(&attributes, 128 << 10), 0);
        if (starved) xg_alloc_fail_at(1, 1);
        assert_int_equal(pthread_create(&thread, &attributes, product_on_small_stack, &s), 0);
        pthread_join(thread, NULL);
        xg_alloc_fail_at(0, 0);
        pthread_attr_destroy(&attributes);
        assert_int_equal(s.status, XGEMM_OK);
        assert_true(product_is_right(&x, 1));
        product_free(&x);
      }
}

/* ---- leaks ---- */

static int gemm_right(int size, int threads)
{
  struct product x;
  xgemm_options o = XGEMM_OPTIONS_INIT;
  o.backend = XGEMM_BACKEND_CPU, o.threads = threads;
  product_make(&x, XGEMM_F32, size, size, size, "rrr", 5);
  reference_fill_with(&x.p.a, size, size, 1);
  reference_fill_with(&x.p.b, size, size, 1);
  int good = xgemm(&x.p, &o) == XGEMM_OK;
  for (int i = 0; i < size; i += 7) good &= reference_get(&x.p.c, i, size - 1 - i) == size;
  product_free(&x);
  return good;
}

/* MEM-09. */
static void mem_09_forks_do_not_leak(void **state)
{
  (void)state;
  long before = 0, size = 0;
  if (SANITIZED) skip();
  for (int round = 0; round < 200; round++) {
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
      alarm(30);
      _exit(gemm_right(150, 2) ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_true(gemm_right(150, 2));
    if (round == 20) before = child_proc_status("VmRSS:"), size = child_proc_status("VmSize:");
  }
  assert_true(before > 0 && size > 0);
  assert_true(child_proc_status("VmSize:") - size < 1024);
  assert_true(child_proc_status("VmRSS:") - before < 1024);
}

static void *one_gemm(void *argument)
{
  (void)argument;
  static float a[64 * 64], b[64 * 64]; /* zeros */
  float c[64 * 64];
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 64, 64, 64, 1, a, 64, b, 64, 0, c, 64);
  return (void *)(intptr_t)(c[0] == 0 && c[4095] == 0);
}

static void *one_large_gemm(void *argument)
{
  (void)argument;
  return (void *)(intptr_t)gemm_right(130, 1);
}

static void many_threads(int count, int at_once, void *(*f)(void *))
{
  pthread_t threads[64];
  for (int i = 0; i < count; i += at_once) {
    for (int t = 0; t < at_once; t++)
      assert_int_equal(pthread_create(&threads[t], NULL, f, NULL), 0);
    for (int t = 0; t < at_once; t++) {
      void *good;
      pthread_join(threads[t], &good);
      assert_non_null(good);
    }
  }
}

/* MEM-10. */
static void mem_10_short_threads_do_not_leak(void **state)
{
  (void)state;
  if (SANITIZED) skip();
  many_threads(640, 64, one_gemm);
  many_threads(320, 32, one_large_gemm);
  many_threads(1000, 1, one_gemm);
  long before = child_proc_status("VmRSS:");
  many_threads(9000, 1, one_gemm);
  many_threads(3200, 64, one_gemm);
  many_threads(640, 32, one_large_gemm);
  long after = child_proc_status("VmRSS:");
  if (!(after - before < 2048)) fprintf(stderr, "RSS grew from %ld to %ld kB\n", before, after);
  assert_true(after - before < 2048);
}

static void plans_do_not_leak(void **state)
{
  (void)state;
  struct product x;
  long before = 0;
  if (SANITIZED) skip(); /* the leak checker sees for itself */
  product_make(&x, XGEMM_F32, 100, 100, 100, "rrr", 5);
  for (int i = 0; i < 20000; i++) {
    xgemm_plan *plan;
    assert_int_equal(xgemm_plan_create(&plan, &x.p, NULL), XGEMM_OK);
    if (i % 100 == 0) assert_int_equal(xgemm_plan_run(plan, &x.p, NULL), XGEMM_OK);
    xgemm_plan_destroy(plan);
    if (i == 1000) before = child_proc_status("VmRSS:");
  }
  assert_true(child_proc_status("VmRSS:") - before < 512);
  product_free(&x);
}

int main(int count, char **args)
{
  if (count > 2)
    return product_in_no_space((int)strtol(args[2], NULL, 10), strcmp(args[1], "no-space") != 0);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(mem_12_the_nth_allocation_fails),
      cmocka_unit_test(mem_12_up_to_the_fiftieth),
      cmocka_unit_test(mem_12_blas_names_are_right),
      cmocka_unit_test(plans_under_failure),
      cmocka_unit_test(mem_12_address_space_is_full),
      cmocka_unit_test(small_stacks_are_enough),
      cmocka_unit_test(mem_09_forks_do_not_leak),
      cmocka_unit_test(mem_10_short_threads_do_not_leak),
      cmocka_unit_test(plans_do_not_leak),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
