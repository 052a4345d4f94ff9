/* fork() before, during and after products: parent and child both finish with the right bits.
 * XGEMM_LIBRARY_FILE names the shared library, for a child that loads it only after the fork. */
#define _GNU_SOURCE 1 /* CPU masks */
#include <dlfcn.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "cm.h"
#include "no_threads.h"
#include "xgemm.h"
#include "xgemm_cblas.h"

/* The sanitizers' own locks do not survive a fork beside running threads. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif
#else
enum { SANITIZED = 0 };
#endif

typedef xgemm_status xgemm_function(const xgemm_problem *, const xgemm_options *);

/* A: i - j mod 7, B: i + 2j mod 5, small integers, so that the sum is exact in any order. */
static double sum_at(int n, int i, int j)
{
  double sum = 0;
  for (int p = 0; p < n; p++) sum += (double)((i + 7 * n - p) % 7) * ((p + 2 * j) % 5);
  return sum;
}

/* An n x n x n product by this many threads of the CPU engine: 1 if right (checked on a grid of
 * elements that meets every tile). */
static int right_by(xgemm_function *gemm, int n, int threads)
{
  size_t count = (size_t)n * (size_t)n;
  float *a = malloc(count * sizeof *a), *b = malloc(count * sizeof *b),
        *c = malloc(count * sizeof *c);
  int right = a && b && c;
  for (int i = 0; right && i < n; i++)
    for (int j = 0; j < n; j++) {
      a[i * n + j] = (float)((i + 7 * n - j) % 7);
      b[i * n + j] = (float)((i + 2 * j) % 5);
      c[i * n + j] = -1;
    }
  xgemm_problem p = XGEMM_PROBLEM_INIT;
  xgemm_options o = XGEMM_OPTIONS_INIT;
  p.m = p.n = p.k = n;
  p.a = xgemm_row_major(a, XGEMM_F32, n);
  p.b = xgemm_row_major(b, XGEMM_F32, n);
  p.c = xgemm_row_major(c, XGEMM_F32, n);
  o.backend = XGEMM_BACKEND_CPU;
  o.threads = threads;
  right = right && gemm(&p, &o) == XGEMM_OK;
  for (int i = 0; right && i < n; i += 3)
    for (int j = i % 2; j<n; j += n> 200 ? 23 : 5)
      if (!(c[i * n + j] == sum_at(n, i, j))) right = 0;
  free(a), free(b), free(c);
  return right;
}

static int right(int n, int threads)
{
  return right_by(xgemm, n, threads);
}

/* ---------------------------------------------------------------- bodies of children */

static int products(void *unused)
{
  (void)unused;
  if (!right(150, 0) || !right(150, 2) || !right(20, 0)) return 1;
  return right(301, 4) && right(301, 4) ? 0 : 2;
}

static int with_a_grandchild(void *unused)
{
  struct child c;
  if (products(unused)) return 1;
  child_fork(&c, products, NULL, 60);
  return c.exited == 0 && products(unused) == 0 ? 0 : 2;
}

static void *products_of_a_thread(void *wrong)
{
  if (products(NULL)) atomic_fetch_add((atomic_int *)wrong, 1);
  return NULL;
}

static int with_threads_of_its_own(void *unused)
{
  (void)unused;
  pthread_t t[3];
  atomic_int wrong = 0;
  for (int i = 0; i < 3; i++)
    if (pthread_create(&t[i], NULL, products_of_a_thread, &wrong) != 0) return 3;
  for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
  return atomic_load(&wrong);
}

static int loads_the_library(void *unused)
{
  (void)unused;
  void *library = dlopen(getenv("XGEMM_LIBRARY_FILE"), RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return 1;
  xgemm_function *gemm;
  void *symbol = dlsym(library, "xgemm");
  memcpy(&gemm, &symbol, sizeof gemm);
  return right_by(gemm, 301, 4) && right_by(gemm, 301, 0) ? 0 : 2;
}

static int exits(void *unused)
{
  (void)unused;
  return 0;
}

/* ---------------------------------------------------------------- in processes that have done
 * nothing yet */

static int forked_well(int (*body)(void *))
{
  struct child c;
  child_fork(&c, body, NULL, 60);
  if (c.exited == 0) return 1;
  fprintf(stderr, "child: exit %d, signal %d, %s\n", c.exited, c.signal, c.err);
  return 0;
}

static void start_a_pool(void)
{
  atomic_int n = 0;
#pragma omp parallel num_threads(4)
  atomic_fetch_add(&n, 1);
}

static int in_own_process(const char *what)
{
  if (!strcmp(what, "before-any")) return !(forked_well(products) && products(NULL) == 0);
  if (!strcmp(what, "openmp-first")) {
    start_a_pool(); /* the program's own use of OpenMP, before ours */
    return !(forked_well(with_a_grandchild) && products(NULL) == 0);
  }
  if (!strcmp(what, "loaded-later")) {
    start_a_pool();
    return !forked_well(loads_the_library);
  }
  if (!strcmp(what, "no-threads")) {
    if (!refuse_threads()) return 77;
    return !(right(500, 4) && right(500, 0) && right(150, 2));
  }
  if (!strcmp(what, "few-threads")) {
    if (!allow_processes(2)) return 77;
    return !(right(500, 4) && right(500, 0) && right(150, 2));
  }
  return 96;
}

static void own_process(const char *what)
{
  static struct child c;
  const char *library = getenv("XGEMM_LIBRARY_FILE");
  static char setting[4096];
  const char *set[] = {NULL, NULL};
  if (library) {
    snprintf(setting, sizeof setting, "XGEMM_LIBRARY_FILE=%s", library);
    set[0] = setting;
  }
  child_exec(&c, what, NULL, set, 120);
  if (c.exited == 77) skip();
  if (c.exited != 0)
    fail_msg("%s: exit %d signal %d, stderr \"%s\"", what, c.exited, c.signal, c.err);
  assert_string_equal(c.err, "");
}

static void fork_before_any_product(void **state)
{
  (void)state;
  own_process("before-any");
}

static void fork_after_the_programs_own_openmp(void **state)
{
  (void)state;
  own_process("openmp-first");
}

static void library_loaded_after_the_fork(void **state)
{
  (void)state;
  if (!getenv("XGEMM_LIBRARY_FILE")) skip();
  own_process("loaded-later");
}

/* THR-17. */
static void no_thread_can_be_created(void **state)
{
  (void)state;
  own_process("no-threads");
}

/* THR-17. */
static void few_threads_can_be_created(void **state)
{
  (void)state;
  own_process("few-threads");
}

/* ---------------------------------------------------------------- after and during */

static void fork_after_a_product(void **state)
{
  (void)state;
  assert_true(right(301, 4));
  assert_true(forked_well(with_a_grandchild));
  assert_true(forked_well(with_threads_of_its_own));
  assert_int_equal(products(NULL), 0);
}

/* THR-01, the first report of this kind: ones, 7 x 8 x 300, pool active. */
static int ones(void *unused)
{
  (void)unused;
  enum { M = 7, N = 8, K = 300 };
  static double a[M * K], b[K * N], c[M * N];
  for (int i = 0; i < M * K; i++) a[i] = 1;
  for (int i = 0; i < K * N; i++) b[i] = 1;
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, M, N, K, 1, a, K, b, N, 0, c, N);
  for (int i = 0; i < M * N; i++)
    if (!(c[i] == K)) return 1;
  return 0;
}

static void ones_in_the_child(void **state)
{
  (void)state;
  assert_int_equal(ones(NULL), 0);
  assert_true(forked_well(ones));
  assert_int_equal(ones(NULL), 0);
}

/* THR-03. */
static void fork_then_grow_in_the_parent(void **state)
{
  (void)state;
  int most = omp_get_max_threads();
  const int threads[] = {most / 2 > 0 ? most / 2 : 1, most, 2 * most};
  for (int i = 0; i < 3; i++) {
    assert_true(forked_well(exits));
    assert_true(right(100, threads[i]));
    assert_true(right(301, threads[i]));
  }
}

static void *fork_a_lot(void *wrong)
{
  for (int i = 0; i < 25; i++) {
    int status;
    pid_t pid = fork();
    if (pid == 0) {
      alarm(60);
      _exit(right(60, 2) && right(100, 2) ? 0 : 1);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
        WEXITSTATUS(status) != 0)
      atomic_fetch_add((atomic_int *)wrong, 1);
  }
  return NULL;
}

/* THR-02. */
static void threads_fork_during_products(void **state)
{
  (void)state;
  if (SANITIZED) skip();
  enum { THREADS = 4 };
  pthread_t t[THREADS];
  atomic_int wrong = 0;
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&t[i], NULL, fork_a_lot, &wrong), 0);
  for (int i = 0; i < 10; i++) assert_true(right(500, 3));
  for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
  assert_int_equal(atomic_load(&wrong), 0);
}

static atomic_int stop;

static void *keep_going(void *wrong)
{
  while (!atomic_load(&stop))
    if (!right(301, 2)) atomic_fetch_add((atomic_int *)wrong, 1);
  return NULL;
}

static void fork_while_others_are_in_products(void **state)
{
  (void)state;
  if (SANITIZED) skip();
  pthread_t t[3];
  atomic_int wrong = 0;
  assert_true(right(301, 2));
  for (int i = 0; i < 3; i++) assert_int_equal(pthread_create(&t[i], NULL, keep_going, &wrong), 0);
  for (int i = 0; i < 10; i++) assert_true(forked_well(products));
  atomic_store(&stop, 1);
  for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
  assert_int_equal(atomic_load(&wrong), 0);
  assert_true(right(301, 0));
}

/* ---------------------------------------------------------------- masks and bits */

static int mask_is(void *expected)
{
  cpu_set_t now;
  if (!right(301, 4)) return 1;
  if (sched_getaffinity(0, sizeof now, &now) != 0) return 2;
  return CPU_EQUAL(&now, (cpu_set_t *)expected) ? 0 : 3;
}

/* THR-19, in a forked child too. */
static void no_affinity_mask_changes(void **state)
{
  (void)state;
  cpu_set_t before;
  struct child c;
  assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
  assert_int_equal(mask_is(&before), 0);
  child_fork(&c, mask_is, &before, 60);
  assert_int_equal(c.exited, 0);
}

static void *small_products(void *wrong)
{
  for (int i = 0; i < 40; i++)
    if (!right(1 + (i * 37) % 300, i % 3)) atomic_fetch_add((atomic_int *)wrong, 1);
  return NULL;
}

/* THR-05, against the static library. */
static void twenty_callers_at_once(void **state)
{
  (void)state;
  enum { CALLERS = 20 };
  pthread_t t[CALLERS];
  atomic_int wrong = 0;
  for (int i = 0; i < CALLERS; i++)
    assert_int_equal(pthread_create(&t[i], NULL, small_products, &wrong), 0);
  for (int i = 0; i < CALLERS; i++) pthread_join(t[i], NULL);
  assert_int_equal(atomic_load(&wrong), 0);
}

int main(int argc, char **argv)
{
  if (argc > 1) {
    int code = in_own_process(argv[1]);
    fflush(stdout);
    _exit(code); /* a leak checker would need a thread of its own */
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fork_before_any_product),
      cmocka_unit_test(fork_after_the_programs_own_openmp),
      cmocka_unit_test(library_loaded_after_the_fork),
      cmocka_unit_test(no_thread_can_be_created),
      cmocka_unit_test(few_threads_can_be_created),
      cmocka_unit_test(fork_after_a_product),
      cmocka_unit_test(ones_in_the_child),
      cmocka_unit_test(fork_then_grow_in_the_parent),
      cmocka_unit_test(threads_fork_during_products),
      cmocka_unit_test(fork_while_others_are_in_products),
      cmocka_unit_test(no_affinity_mask_changes),
      cmocka_unit_test(twenty_callers_at_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
