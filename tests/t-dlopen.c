/* The shared library as a plug-in loads it: what loading costs and changes, threads that come and
 * go, a process that ends in the middle of a product. XGEMM_LIBRARY_FILE names the library. */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "child.h"
#include "cm.h"

#include "xgemm_cblas.h"

typedef void dgemm_function(CBLAS_LAYOUT, CBLAS_TRANSPOSE, CBLAS_TRANSPOSE, int, int, int, double,
                            const double *, int, const double *, int, double, double *, int);

static const char *library;

static void *load(dgemm_function **dgemm)
{
  void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    fprintf(stderr, "%s\n", dlerror());
    return NULL;
  }
  void *symbol = dlsym(handle, "cblas_dgemm");
  memcpy(dgemm, &symbol, sizeof symbol);
  return symbol ? handle : NULL;
}

static int product_of_ones(dgemm_function *dgemm, int n)
{
  double *x = malloc(3 * (size_t)n * (size_t)n * sizeof *x), *c = x + 2 * n * n;
  int good = x != NULL;
  for (int i = 0; good && i < 2 * n * n; i++) x[i] = 1;
  if (good) dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, n, n, 1, x, n, x + n * n, n, 0, c, n);
  for (int i = 0; good && i < n * n; i++)
    if (!(c[i] == n)) good = 0;
  free(x);
  return good;
}

/* ---- bodies, each in a process that has not loaded anything yet ---- */

static int load_is_light(void *argument)
{
  (void)argument;
  dgemm_function *dgemm;
  const struct rlimit limit = {512 << 20, 512 << 20};
  if (setrlimit(RLIMIT_AS, &limit) != 0) return 4;
  long before = child_proc_status("VmSize:");
  if (!load(&dgemm)) return 1;
  long loaded = child_proc_status("VmSize:");
  if (!product_of_ones(dgemm, 10)) return 2;
  long used = child_proc_status("VmSize:");
  printf("load %ld kB, first product %ld kB\n", loaded - before, used - loaded);
  if (!product_of_ones(dgemm, 300)) return 5;
  return loaded - before < 16384 && used - before < 16384 ? 0 : 3;
}

static int control_words_survive(void *argument)
{
  (void)argument;
  dgemm_function *dgemm;
  int before = fegetround(), good = 1;
  volatile double tiny = 1e-310;
#if defined(__x86_64__)
  unsigned mxcsr = _mm_getcsr() & 0xffc0;
#endif
  if (!load(&dgemm)) return 1;
  for (int i = 0; i < 2; i++) {
#if defined(__x86_64__)
    if ((_mm_getcsr() & 0xffc0) != mxcsr) return 2;
#endif
    if (fegetround() != before || tiny * 1.0 != 1e-310) return 3;
    good &= product_of_ones(dgemm, 300);
  }
  return good ? 0 : 4;
}

static int affinity_survives(void *argument)
{
  (void)argument;
  dgemm_function *dgemm;
  cpu_set_t before, after;
  sched_getaffinity(0, sizeof before, &before);
  if (!load(&dgemm)) return 1;
  sched_getaffinity(0, sizeof after, &after);
  if (!CPU_EQUAL(&before, &after)) return 2;
  if (!product_of_ones(dgemm, 300)) return 3;
  sched_getaffinity(0, sizeof after, &after);
  return CPU_EQUAL(&before, &after) ? 0 : 4;
}

static void *load_compute_unload(void *argument)
{
  (void)argument;
  dgemm_function *dgemm;
  void *handle = load(&dgemm);
  if (!handle) return NULL;
  int good = product_of_ones(dgemm, 120);
  dlclose(handle);
  return (void *)(intptr_t)good;
}

static int threads_load_and_unload(void *argument)
{
  (void)argument;
  for (int i = 0; i < 100; i++) {
    pthread_t thread;
    void *good;
    if (pthread_create(&thread, NULL, load_compute_unload, NULL)) return 1;
    pthread_join(thread, &good);
    if (!good) return 2;
  }
  return 0;
}

static void *compute_for_ever(void *argument)
{
  dgemm_function *dgemm;
  memcpy(&dgemm, argument, sizeof dgemm);
  for (;;) product_of_ones(dgemm, 200);
  return NULL;
}

static int exit_during_a_product(void *argument)
{
  (void)argument;
  static dgemm_function *dgemm;
  pthread_t thread;
  if (!load(&dgemm)) return 1;
  if (pthread_create(&thread, NULL, compute_for_ever, &dgemm)) return 2;
  pthread_detach(thread);
  nanosleep(&(struct timespec){0, 20000000}, NULL);
  exit(0); /* with destructors, unlike _exit */
}

static int names_are_there(void *argument)
{
  (void)argument;
  static const char *const names[] = {"sgemm_",
                                      "dgemm_",
                                      "sgemm_64_",
                                      "dgemm_64_",
                                      "cblas_sgemm",
                                      "cblas_dgemm",
                                      "cblas_sgemm_64",
                                      "cblas_dgemm_64",
                                      "cblas_sgemm64_",
                                      "cblas_dgemm64_",
                                      "RowMajorStrg",
                                      "CBLAS_CallFromC",
                                      "xgemm",
                                      "xgemm_plan_create",
                                      "xgemm_plan_run",
                                      "xgemm_plan_describe",
                                      "xgemm_plan_destroy",
                                      "xgemm_plan_workspace",
                                      "xgemm_set_defaults",
                                      "xgemm_release_memory",
                                      "xgemm_strerror",
                                      "xgemm_last_reason",
                                      "xgemm_version",
                                      "xgemm_row_major",
                                      "xgemm_col_major",
                                      "xgemm_transpose"};
  dgemm_function *dgemm;
  void *handle = load(&dgemm);
  if (!handle) return 1;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!dlsym(handle, names[i])) {
      fprintf(stderr, "no %s\n", names[i]);
      return 2;
    }
  void *own = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
  return own == handle ? 0 : 3;
}

/* ---- tests ---- */

static void in_a_process(int (*body)(void *), int times)
{
  for (int i = 0; i < times; i++) {
    struct child c;
    child_fork(&c, body, NULL, 60);
    if (c.exited != 0)
      fprintf(stderr, "exited %d signal %d\n%s%s", c.exited, c.signal, c.out, c.err);
    assert_int_equal(c.exited, 0);
    assert_string_equal(c.err, "");
  }
}

static void every_public_name_is_exported(void **state)
{
  (void)state;
  in_a_process(names_are_there, 1);
}

/* MEM-13. */
static void mem_13_loading_is_light(void **state)
{
  (void)state;
  if (getenv("sanitizers") && strcmp(getenv("sanitizers"), "yes") == 0) skip();
  in_a_process(load_is_light, 1);
}

/* NUM-08. */
static void num_08_loading_leaves_control_words(void **state)
{
  (void)state;
  in_a_process(control_words_survive, 1);
}

/* THR-19. */
static void thr_19_affinity_is_left_alone(void **state)
{
  (void)state;
  in_a_process(affinity_survives, 1);
}

/* THR-20. */
static void thr_20_threads_load_and_unload(void **state)
{
  (void)state;
  in_a_process(threads_load_and_unload, 1);
}

/* THR-20. */
static void thr_20_exit_during_a_product(void **state)
{
  (void)state;
  in_a_process(exit_during_a_product, 10);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_public_name_is_exported),
      cmocka_unit_test(mem_13_loading_is_light),
      cmocka_unit_test(num_08_loading_leaves_control_words),
      cmocka_unit_test(thr_19_affinity_is_left_alone),
      cmocka_unit_test(thr_20_threads_load_and_unload),
      cmocka_unit_test(thr_20_exit_during_a_product),
  };
  library = getenv("XGEMM_LIBRARY_FILE");
  if (!library) {
    const char *folder = getenv("top_builddir");
    static char path[4096];
    snprintf(path, sizeof path, "%s/.libs/libxgemm.so", folder ? folder : ".");
    library = path;
  }
  if (access(library, R_OK) != 0) {
    printf("SKIP: no shared library at %s\n", library);
    return 77;
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
