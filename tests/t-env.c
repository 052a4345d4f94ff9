/* Environment variables: each good value does what it says, each bad one is one line on stderr with
 * variable, value and what is accepted, and nothing else changes. Each case is a process. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "child.h"
#include "cm.h"
#include "product.h"
#include "xgemm.h"
#include "xgemm_cblas.h"

#include "../common/backend.h"
#include "../common/env.h"

enum { SECONDS = 60 };

/* ---- what the child processes do ---- */

static int product_through_every_front_end(int size)
{
  struct product x;
  int good = 1;
  product_make(&x, XGEMM_F32, size, size, size, "rrr", 3);
  product_expect(&x);
  if (xgemm(&x.p, NULL) != XGEMM_OK) {
    fprintf(stderr, "xgemm failed: %s\n", xgemm_last_reason());
    good = 0;
  }
  good &= product_is_right(&x, 1);
  reference_fill_with(&x.p.c, size, size, -1);
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, size, size, size, 1, x.p.a.data, size,
              x.p.b.data, size, 0, x.p.c.data, size);
  good &= product_is_right(&x, 1);
  product_free(&x);
  return good ? 0 : 1;
}

static int print_plan(int f64)
{
  struct product x;
  char text[1024];
  xgemm_plan *plan;
  product_make(&x, f64 ? XGEMM_F64 : XGEMM_F32, 300, 300, 300, "rrr", 3);
  xgemm_status status = xgemm_plan_create(&plan, &x.p, NULL);
  if (status == XGEMM_OK) xgemm_plan_describe(plan, 0, text, sizeof text);
  printf("%s %s\n", xgemm_strerror(status), status == XGEMM_OK ? text : xgemm_last_reason());
  xgemm_plan_destroy(plan);
  product_free(&x);
  return 0;
}

static int print_fields(void)
{
  const struct xg_env *e = xg_env();
  printf("backend=%d threads=%d cpu=%s kernel=%s devices=", (int)e->backend, e->threads,
         e->cpu ? e->cpu : "-", e->kernel ? e->kernel : "-");
  for (int i = 0; i < e->device_count; i++) printf("%d,", e->devices[i]);
  printf(" memory=%llu deterministic=%d verbose=%d log=%s problems=%d\n",
         (unsigned long long)e->gpu_memory, e->deterministic, e->verbose,
         e->log_file ? e->log_file : "-", e->problems);
  return 0;
}

static void *one_product(void *result)
{
  *(int *)result = product_through_every_front_end(20);
  return NULL;
}

static int products_from_threads(void)
{
  pthread_t threads[8];
  int results[8], bad = 0;
  for (int i = 0; i < 8; i++)
    if (pthread_create(&threads[i], NULL, one_product, &results[i])) return 1;
  for (int i = 0; i < 8; i++) {
    pthread_join(threads[i], NULL);
    bad |= results[i];
  }
  for (int i = 0; i < 3; i++) bad |= product_through_every_front_end(64);
  return bad;
}

static int child_main(const char *what)
{
  if (strcmp(what, "products") == 0) return products_from_threads();
  if (strcmp(what, "one") == 0) return product_through_every_front_end(64);
  if (strcmp(what, "plan") == 0) return print_plan(0);
  if (strcmp(what, "plan64") == 0) return print_plan(1);
  if (strcmp(what, "fields") == 0) return print_fields();
  return 97;
}

/* ---- helpers ---- */

static void run(struct child *c, const char *what, const char *variable)
{
  const char *const set[] = {variable, NULL};
  child_exec(c, what, NULL, set, SECONDS);
  if (c->exited != 0) fprintf(stderr, "%s with %s: %s%s\n", what, variable, c->out, c->err);
}

static void field_is(const char *variable, const char *field)
{
  struct child c;
  run(&c, "fields", variable);
  assert_int_equal(c.exited, 0);
  if (!strstr(c.out, field) || c.err[0])
    fprintf(stderr, "%s: expected %s, got %s%s\n", variable, field, c.out, c.err);
  assert_non_null(strstr(c.out, field));
  assert_non_null(strstr(c.out, "problems=0"));
  assert_string_equal(c.err, "");
}

static void plan_says(const char *what, const char *variable, const char *word)
{
  struct child c;
  run(&c, what, variable);
  if (!strstr(c.out, word)) fprintf(stderr, "%s: no %s in %s\n", variable, word, c.out);
  assert_int_equal(c.exited, 0);
  assert_non_null(strstr(c.out, word));
  assert_string_equal(c.err, "");
}

static const struct xg_env_entry *entry_of(const char *variable)
{
  const struct xg_env_entry *entry = xg_env_table;
  while (entry->name && strncmp(entry->name, variable, strcspn(variable, "=")) != 0) entry++;
  return entry;
}

/* ---- tests ---- */

static void silent_without_variables(void **state)
{
  (void)state;
  struct child c;
  child_exec(&c, "products", NULL, NULL, SECONDS);
  assert_int_equal(c.exited, 0);
  assert_string_equal(c.err, "");
  assert_string_equal(c.out, "");
}

static void good_values_are_read(void **state)
{
  (void)state;
  field_is("XGEMM_BACKEND=auto", "backend=0 ");
  field_is("XGEMM_BACKEND=cpu", "backend=1 ");
  field_is("XGEMM_BACKEND=gpu", "backend=2 ");
  field_is("XGEMM_BACKEND=ref", "backend=3 ");
  field_is("XGEMM_NUM_THREADS=3", "threads=3 ");
  field_is("XGEMM_CPU=base", "cpu=base ");
  field_is("XGEMM_CPU=avx512", "cpu=avx512 ");
  field_is("XGEMM_DEVICES=0", "devices=0, ");
  field_is("XGEMM_DEVICES=0,1,7", "devices=0,1,7, ");
  field_is("XGEMM_GPU_MEMORY=123456789012", "memory=123456789012 ");
  field_is("XGEMM_GPU_MEMORY=2G", "memory=2147483648 ");
  field_is("XGEMM_DETERMINISTIC=1", "deterministic=1 ");
  field_is("XGEMM_DETERMINISTIC=0", "deterministic=0 ");
  field_is("XGEMM_VERBOSE=2", "verbose=2 ");
  field_is("XGEMM_VERBOSE=0", "verbose=0 ");
  field_is("XGEMM_LOG_FILE=/dev/null", "log=/dev/null ");
}

static void bad_values_are_named_once(void **state)
{
  (void)state;
  static const char *const bad[] = {
      "XGEMM_NUM_THREADS=0",
      "XGEMM_BACKEND=cuda",
      "XGEMM_BACKEND=CPU",
      "XGEMM_BACKEND=cpu,gpu",
      "XGEMM_BACKEND=cp",
      "XGEMM_NUM_THREADS=abc",
      "XGEMM_NUM_THREADS=-3",
      "XGEMM_NUM_THREADS=4x",
      "XGEMM_NUM_THREADS=99999999999999999999",
      "XGEMM_NUM_THREADS=0x10",
      "XGEMM_NUM_THREADS=2.5",
      "XGEMM_CPU=sse9",
      "XGEMM_CPU=avx",
      "XGEMM_CPU=avx5120",
      "XGEMM_KERNEL=no_such_kernel",
      "XGEMM_DEVICES=a,b",
      "XGEMM_DEVICES=-1",
      "XGEMM_DEVICES=0,,1",
      "XGEMM_DEVICES=0,",
      "XGEMM_GPU_MEMORY=lots",
      "XGEMM_GPU_MEMORY=-1",
      "XGEMM_GPU_MEMORY=99999999999999999999",
      "XGEMM_GPU_MEMORY=9999999999T",
      "XGEMM_DETERMINISTIC=maybe",
      "XGEMM_DETERMINISTIC=2",
      "XGEMM_VERBOSE=loud",
      "XGEMM_VERBOSE=3",
      "XGEMM_VERBOSE=-1",
      "XGEMM_VERBOSE=1 ",
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    struct child c;
    const struct xg_env_entry *entry = entry_of(bad[i]);
    const char *value = strchr(bad[i], '=') + 1;
    assert_non_null(entry->name);
    run(&c, "products", bad[i]); /* eight threads at once, then more: still one line */
    if (child_lines(c.err) != 1) fprintf(stderr, "%s: said\n%s", bad[i], c.err);
    assert_int_equal(c.exited, 0); /* the default is used and all is right */
    assert_int_equal(child_lines(c.err), 1);
    assert_non_null(strstr(c.err, entry->name));
    assert_non_null(strstr(c.err, value));
    assert_non_null(strstr(c.err, entry->accepted));
    assert_string_equal(c.out, "");
  }
}

/* The value on the line is cut somewhere, but the line stays one line. */
static void an_endless_value_is_survived(void **state)
{
  (void)state;
  static char variable[70000];
  struct child c;
  memset(variable, 'z', sizeof variable - 1);
  memcpy(variable, "XGEMM_BACKEND=", 14);
  run(&c, "one", variable);
  assert_int_equal(c.exited, 0);
  assert_int_equal(child_lines(c.err), 1);
  assert_true(strlen(c.err) < 2000);
  assert_non_null(strstr(c.err, "auto|cpu|gpu|ref"));
}

static void each_bad_variable_has_its_line(void **state)
{
  (void)state;
  struct child c;
  const char *const set[] = {"XGEMM_BACKEND=x", "XGEMM_VERBOSE=y", "XGEMM_NUM_THREADS=2", NULL};
  child_exec(&c, "products", NULL, set, SECONDS);
  assert_int_equal(c.exited, 0);
  assert_int_equal(child_lines(c.err), 2);
  assert_int_equal(child_lines_with(c.err, "XGEMM_BACKEND"), 1);
  assert_int_equal(child_lines_with(c.err, "XGEMM_VERBOSE"), 1);
}

static void backend_is_obeyed(void **state)
{
  (void)state;
  plan_says("plan", "XGEMM_BACKEND=ref", "XGEMM_OK ref ");
  plan_says("plan", "XGEMM_BACKEND=cpu", "XGEMM_OK cpu ");
  if (!xg_backend_gpu.available(1)) {
    plan_says("plan", "XGEMM_BACKEND=gpu", "XGEMM_OK gpu ");
    return;
  }
  plan_says("plan", "XGEMM_BACKEND=auto", "XGEMM_OK cpu ");
  plan_says("plan", "XGEMM_BACKEND=gpu", "XGEMM_NO_DEVICE ");
}

/* A BLAS name has no status to refuse with: it says so once and computes all the same. */
static int blas_products(void)
{
  for (int i = 0; i < 3; i++) {
    const double a[4] = {1, 2, 3, 4};
    double c[4] = {0, 0, 0, 0};
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 2, 2, 2, 1, a, 2, a, 2, 0, c, 2);
    if (!(c[0] == 7 && c[1] == 10 && c[2] == 15 && c[3] == 22)) return 1;
  }
  return 0;
}

static void blas_names_compute_whatever_is_forced(void **state)
{
  (void)state;
  struct child c;
  if (!xg_backend_gpu.available(1)) skip();
  const char *const set[] = {"XGEMM_BACKEND=gpu", NULL};
  child_exec(&c, "blas", NULL, set, SECONDS);
  assert_int_equal(c.exited, 0);
  assert_int_equal(child_lines(c.err), 1);
}

static void threads_are_obeyed(void **state)
{
  (void)state;
  struct child c;
  plan_says("plan", "XGEMM_NUM_THREADS=1", "threads=1 "); /* a card counts as one too */
  /* THR-07: any number works or is cut down. */
  run(&c, "products", "XGEMM_NUM_THREADS=1024");
  assert_int_equal(c.exited, 0);
  assert_string_equal(c.err, "");
  run(&c, "products", "OMP_NUM_THREADS=1024");
  assert_int_equal(c.exited, 0);
  plan_says("plan", "OMP_NUM_THREADS=1", "threads=1 ");
  const char *const both[] = {"XGEMM_NUM_THREADS=1", "OMP_NUM_THREADS=2", NULL};
  child_exec(&c, "plan", NULL, both, SECONDS);
  assert_non_null(strstr(c.out, "threads=1 "));
}

/* The cap holds; a cap above what the machine has is no error. */
static void instruction_set_is_capped(void **state)
{
  (void)state;
  plan_says("plan", "XGEMM_CPU=base", "_base_");
  plan_says("plan64", "XGEMM_CPU=base", "_base_");
  struct child c;
  run(&c, "plan", "XGEMM_CPU=avx2");
  assert_int_equal(c.exited, 0);
  assert_null(strstr(c.out, "avx512"));
  run(&c, "products", "XGEMM_CPU=base");
  assert_int_equal(c.exited, 0);
  run(&c, "products", "XGEMM_CPU=avx2");
  assert_int_equal(c.exited, 0);
  run(&c, "products", "XGEMM_CPU=avx512");
  assert_int_equal(c.exited, 0);
  assert_string_equal(c.err, "");
}

static void each_kernel_is_obeyed(void **state)
{
  (void)state;
  int tried = 0;
  for (int i = 0; i < xg_backend_cpu.kernel_count(); i++) {
    struct xg_kernel_info info = xg_backend_cpu.kernel_info(i);
    char variable[128];
    struct child c;
    if (info.reason) continue;
    snprintf(variable, sizeof variable, "XGEMM_KERNEL=%s", info.name);
    plan_says(info.type == XGEMM_F32 ? "plan" : "plan64", variable, info.name);
    run(&c, "products", variable); /* a dgemm kernel leaves f32 products alone */
    assert_int_equal(c.exited, 0);
    assert_string_equal(c.err, "");
    tried++;
  }
  assert_true(tried >= 2);
}

static void verbose_writes_a_line_a_product(void **state)
{
  (void)state;
  struct child c;
  run(&c, "one", "XGEMM_VERBOSE=1"); /* one product by xgemm(), one by cblas_sgemm */
  assert_int_equal(c.exited, 0);
  assert_int_equal(child_lines(c.err), 2);
  assert_int_equal(child_lines_with(c.err, "sgemm"), 2);
  assert_int_equal(child_lines_with(c.err, "64"), 2);
  assert_int_equal(child_lines_with(c.err, "cpu"), 2);
  assert_string_equal(c.out, "");
  run(&c, "one", "XGEMM_VERBOSE=2");
  assert_int_equal(c.exited, 0);
  assert_non_null(strstr(c.err, "ref")); /* why the others were not taken */
  assert_non_null(strstr(c.err, "gpu"));
  run(&c, "one", "XGEMM_VERBOSE=0");
  assert_string_equal(c.err, "");
}

static void log_file_takes_the_lines(void **state)
{
  (void)state;
  char folder[] = "/tmp/xgemm-t-env-XXXXXX", variable[128], path[128], line[4096];
  struct child c;
  assert_non_null(mkdtemp(folder));
  snprintf(variable, sizeof variable, "XGEMM_LOG_FILE=%s/log.%%i.txt", folder);
  const char *const set[] = {variable, "XGEMM_VERBOSE=1", NULL};
  child_exec(&c, "log", NULL, set, SECONDS); /* prints its process id */
  assert_int_equal(c.exited, 0);
  assert_string_equal(c.err, "");
  snprintf(path, sizeof path, "%s/log.%ld.txt", folder, strtol(c.out, NULL, 10));
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  int lines = 0;
  while (fgets(line, sizeof line, file)) lines += strstr(line, "sgemm") != NULL;
  fclose(file);
  assert_int_equal(lines, 2);
  unlink(path);
  rmdir(folder);
}

static void log_file_that_cannot_be_written(void **state)
{
  (void)state;
  struct child c;
  const char *const set[] = {"XGEMM_LOG_FILE=/no/such/folder/log", "XGEMM_VERBOSE=1", NULL};
  child_exec(&c, "one", NULL, set, SECONDS);
  assert_int_equal(c.exited, 0); /* the product matters more */
  assert_true(child_lines(c.err) <= 1);
}

static void deterministic_and_devices_are_harmless_here(void **state)
{
  (void)state;
  static const char *const variables[] = {"XGEMM_DETERMINISTIC=1", "XGEMM_DEVICES=0",
                                          "XGEMM_GPU_MEMORY=1M"};
  for (int i = 0; i < 3; i++) {
    struct child c;
    run(&c, "products", variables[i]);
    assert_int_equal(c.exited, 0);
    assert_string_equal(c.err, "");
  }
}

/* Read once: what a program sets later changes nothing, and is no danger. */
static int change_the_environment_later(void)
{
  int bad = product_through_every_front_end(30);
  setenv("XGEMM_BACKEND", "nonsense", 1);
  setenv("XGEMM_VERBOSE", "2", 1);
  return bad | product_through_every_front_end(30);
}

static void the_environment_is_read_once(void **state)
{
  (void)state;
  struct child c;
  child_exec(&c, "later", NULL, NULL, SECONDS);
  assert_int_equal(c.exited, 0);
  assert_string_equal(c.err, "");
}

static void the_table_is_whole(void **state)
{
  (void)state;
  static const char *const names[] = {"BACKEND",       "NUM_THREADS", "CPU",
                                      "KERNEL",        "DEVICES",     "GPU_MEMORY",
                                      "DETERMINISTIC", "VERBOSE",     "LOG_FILE"};
  for (int i = 0; i < 9; i++) {
    char name[64];
    int found = 0;
    snprintf(name, sizeof name, "XGEMM_%s", names[i]);
    for (const struct xg_env_entry *e = xg_env_table; e->name; e++)
      found += strcmp(e->name, name) == 0 && e->accepted[0] && e->meaning[0];
    assert_int_equal(found, 1);
  }
}

int main(int count, char **args)
{
  if (count > 1 && strcmp(args[1], "blas") == 0) return blas_products();
  if (count > 1 && strcmp(args[1], "later") == 0) return change_the_environment_later();
  if (count > 1 && strcmp(args[1], "log") == 0) {
    printf("%ld\n", (long)getpid());
    return product_through_every_front_end(64);
  }
  if (count > 1) return child_main(args[1]);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(silent_without_variables),
      cmocka_unit_test(good_values_are_read),
      cmocka_unit_test(bad_values_are_named_once),
      cmocka_unit_test(an_endless_value_is_survived),
      cmocka_unit_test(each_bad_variable_has_its_line),
      cmocka_unit_test(backend_is_obeyed),
      cmocka_unit_test(blas_names_compute_whatever_is_forced),
      cmocka_unit_test(threads_are_obeyed),
      cmocka_unit_test(instruction_set_is_capped),
      cmocka_unit_test(each_kernel_is_obeyed),
      cmocka_unit_test(verbose_writes_a_line_a_product),
      cmocka_unit_test(log_file_takes_the_lines),
      cmocka_unit_test(log_file_that_cannot_be_written),
      cmocka_unit_test(deterministic_and_devices_are_harmless_here),
      cmocka_unit_test(the_environment_is_read_once),
      cmocka_unit_test(the_table_is_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
