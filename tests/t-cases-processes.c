/* Complaints that users of other libraries filed in public, as inputs; tests/cases.tsv lists them.
 * Here: threads and system calls of processes of their own. Nothing depends on time: CPU time,
 * threads and system calls are counted. */
#define _GNU_SOURCE 1 /* CPU masks */
#include <dirent.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cases.h"
#include "child.h"
#include "xgemm_cblas.h"

enum { MOST = 320, SKIPPED = 77 };

static double ones[MOST * MOST];

static void fill(void)
{
  for (int i = 0; i < MOST * MOST; i++) ones[i] = 1;
}

/* C = A B' of ones, into memory of the caller: 1 if right. */
static int product_of_ones(int n, double *c)
{
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, n, n, 1, ones, n, ones, n, 0, c, n);
  for (int i = 0; i < n * n; i++)
    if (!(c[i] == n)) return 0;
  return 1;
}

static int live_threads(void)
{
  int n = 0;
  DIR *d = opendir("/proc/self/task");
  if (d == NULL) return -1;
  while (readdir(d) != NULL) n++;
  closedir(d);
  return n - 2;
}

/* What a plan for the CPU says about threads, for a product that could use many. */
static int planned_threads(void)
{
  static double c[MOST * MOST];
  char text[1024];
  xgemm_options o = cpu(0);
  xgemm_plan *plan;
  xgemm_problem p = XGEMM_PROBLEM_INIT;
  p.m = p.n = p.k = 4000;
  p.a = p.b = xgemm_col_major(ones, XGEMM_F64, 4000);
  p.c = xgemm_col_major(c, XGEMM_F64, 4000);
  if (xgemm_plan_create(&plan, &p, &o) != XGEMM_OK) return -1;
  xgemm_plan_describe(plan, 0, text, sizeof text);
  xgemm_plan_destroy(plan);
  const char *threads = strstr(text, "threads=");
  return threads ? atoi(threads + 8) : -2;
}

/* ---------------------------------------------------------------- bodies */

static double cpu_ms(void)
{
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return 1e3 * (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
         1e-3 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static int idle(void)
{
  static double c[MOST * MOST];
  static const int sizes[] = {64, 320};
  for (int i = 0; i < 2; i++) {
    if (!product_of_ones(sizes[i], c)) return 1;
    const double before = cpu_ms();
    sleep(1);
    const double spent = cpu_ms() - before;
    if (!(spent < 20)) return fprintf(stderr, "%.1f ms after %d\n", spent, sizes[i]), 2;
  }
  return 0;
}

static int told_one(void)
{
  static double c[MOST * MOST];
  const xgemm_options one = cpu(1);
  if (xgemm_set_defaults(&one) != XGEMM_OK) return 1;
  for (int i = 0; i < 20; i++)
    if (!product_of_ones(MOST, c) || live_threads() != 1) return 2;
  return 0;
}

/* The program's number, three, then none: as before. */
static int told_three_then_none(void)
{
  const xgemm_options three = cpu(3);
  const int before = planned_threads();
  if (xgemm_set_defaults(&three) != XGEMM_OK) return 1;
  const int then = planned_threads();
  if (xgemm_set_defaults(NULL) != XGEMM_OK) return 2;
  printf("%d %d %d", before, then, planned_threads());
  return 0;
}

/* Products and loops of the program's own OpenMP take turns: each right, and no more threads than
 * OpenMP's and as many of ours. */
static int between_loops(void)
{
  enum { M = 10000, N = 10, K = 100 };
  double *a = malloc(M * K * sizeof *a), *c = malloc(M * N * sizeof *c);
  int most = 0;
  if (a == NULL || c == NULL) return 1;
  for (int i = 0; i < M * K; i++) a[i] = 1;
  for (int round = 0; round < 100; round++) {
    double sum = 0;
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, M, N, K, 1, a, K, ones, K, 0, c, N);
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < M * N; i++) sum += c[i];
    if (!(sum == (double)M * N * K)) return 2;
    const int live = live_threads();
    most = live > most ? live : most;
  }
  free(a), free(c);
  return most <= 2 * omp_get_max_threads() ? 0 : 3;
}

/* From now on a system call of this thread ends the process by SIGSYS: any but exit_group(), or
 * only futex(). 0 if the system cannot do that. */
static int forbid_system_calls(int only_futex)
{
  const unsigned named = only_futex ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ALLOW;
  const unsigned others = only_futex ? SECCOMP_RET_ALLOW : SECCOMP_RET_KILL_PROCESS;
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, only_futex ? SYS_futex : SYS_exit_group, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, named),
      BPF_STMT(BPF_RET | BPF_K, others),
  };
  const struct sock_fprog program = {sizeof code / sizeof *code, code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void small_products(int first, int last, int step, double *c)
{
  const double one = 1, zero = 0;
  float s[8 * 8];
  for (int n = first; n <= last; n += step) {
    dgemm_("N", "T", &n, &n, &n, &one, ones, &n, ones, &n, &zero, c, &n);
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, n, n, n, 1, ones, n, ones, n, 0, c, n);
  }
  cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, 8, 8, 8, 1, (const float *)ones, 8,
              (const float *)ones, 8, 0, s, 8);
}

/* Warm, with threads enabled and workers there. */
static int no_system_call(void)
{
  static double c[MOST * MOST];
  if (!product_of_ones(MOST, c)) return 1;
  for (int i = 0; i < 100; i++) small_products(8, 8, 1, c);
  if (!forbid_system_calls(0)) return SKIPPED;
  for (int i = 0; i < 10000; i++) small_products(8, 8, 1, c);
  _exit(0);
}

static pthread_barrier_t all_warm;
static int at_work;

/* Callers who met in a lock would have to ask the kernel, for its futex. */
static void *small_without_waiting(void *unused)
{
  double *c = malloc(100 * 100 * sizeof *c);
  (void)unused;
  if (c == NULL) exit(1);
  for (int i = 0; i < 2; i++) small_products(8, 100, 1, c);
  pthread_barrier_wait(&all_warm);
  if (!forbid_system_calls(1)) exit(SKIPPED);
  for (int i = 0; i < 40; i++) small_products(8, 100, 1 + i % 7, c);
  __atomic_sub_fetch(&at_work, 1, __ATOMIC_SEQ_CST);
  for (;;) pause();
}

static int callers_do_not_wait(void)
{
  enum { CALLERS = 8 };
  at_work = CALLERS;
  pthread_barrier_init(&all_warm, NULL, CALLERS);
  for (int i = 0; i < CALLERS; i++) {
    pthread_t t;
    if (pthread_create(&t, NULL, small_without_waiting, NULL) != 0) return 1;
  }
  while (__atomic_load_n(&at_work, __ATOMIC_SEQ_CST) > 0) usleep(1000);
  return 0;
}

static const struct {
  const char *name;
  int (*run)(void);
} bodies[] = {
    {"idle", idle},
    {"told-one", told_one},
    {"told-three-then-none", told_three_then_none},
    {"between-loops", between_loops},
    {"no-system-call", no_system_call},
    {"callers-do-not-wait", callers_do_not_wait},
};

static int in_own_process(const char *what)
{
  fill();
  if (!strcmp(what, "planned")) return printf("%d", planned_threads()), 0;
  for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
    if (!strcmp(what, bodies[i].name)) return bodies[i].run();
  return 96;
}

/* ---------------------------------------------------------------- tests */

static int sanitized(void)
{
  const char *s = getenv("sanitizers");
  return s && strcmp(s, "yes") == 0;
}

/* Runs `what` with "NAME=value", or as it is; its stdout. */
static const char *does(const char *what, const char *set)
{
  static struct child c;
  const char *const settings[] = {set, NULL};
  child_exec(&c, what, NULL, settings, 60);
  if (c.exited == SKIPPED) skip();
  if (c.exited != 0)
    fail_msg("%s: exit %d signal %d, stderr \"%s\"", what, c.exited, c.signal, c.err);
  assert_string_equal(c.err, "");
  return c.out;
}

/* THR-16: who has nothing to do takes no CPU time. */
static void thr_16_idle_threads_cost_nothing(void **state)
{
  (void)state;
  does("idle", NULL);
}

/* THR-11: the program's number holds until changed, whatever OpenMP's is. */
static void thr_11_one_thread_is_one(void **state)
{
  (void)state;
  if (sanitized()) skip(); /* a leak checker's threads count */
  does("told-one", "OMP_NUM_THREADS=8");
}

/* THR-13: OMP_NUM_THREADS counts again when the program takes its number back. */
static void thr_13_the_environment_counts_again(void **state)
{
  (void)state;
  char words[64];
  assert_string_equal(does("told-three-then-none", "OMP_NUM_THREADS=1"), "1 3 1");
  int five = atoi(does("planned", "OMP_NUM_THREADS=5"));
  snprintf(words, sizeof words, "%d 3 %d", five, five);
  assert_string_equal(does("told-three-then-none", "OMP_NUM_THREADS=5"), words);
}

/* THR-09: a process that is started on one CPU. */
static void thr_09_started_on_one_cpu(void **state)
{
  (void)state;
  cpu_set_t before, one;
  assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
  int first = 0;
  while (!CPU_ISSET(first, &before)) first++;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
  const char *said = does("planned", NULL);
  assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
  assert_string_equal(said, "1");
}

/* THR-15, without its times: products and OpenMP loops in turn. */
static void thr_15_between_the_programs_loops(void **state)
{
  (void)state;
  does("between-loops", NULL);
  does("between-loops", "OMP_NUM_THREADS=4");
}

/* PRF-11. */
static void prf_11_small_products_make_no_system_call(void **state)
{
  (void)state;
  if (sanitized()) skip();
  does("no-system-call", NULL);
  does("no-system-call", "OMP_NUM_THREADS=4");
}

/* PRF-10: there is no lock that all callers take. */
static void prf_10_callers_do_not_wait_for_each_other(void **state)
{
  (void)state;
  if (sanitized()) skip();
  does("callers-do-not-wait", "XGEMM_NUM_THREADS=1");
}

int main(int argc, char **argv)
{
  if (argc > 1) {
    int code = in_own_process(argv[1]);
    fflush(stdout);
    _exit(code); /* a leak checker would need a thread of its own */
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(thr_16_idle_threads_cost_nothing),
      cmocka_unit_test(thr_11_one_thread_is_one),
      cmocka_unit_test(thr_13_the_environment_counts_again),
      cmocka_unit_test(thr_09_started_on_one_cpu),
      cmocka_unit_test(thr_15_between_the_programs_loops),
      cmocka_unit_test(prf_11_small_products_make_no_system_call),
      cmocka_unit_test(prf_10_callers_do_not_wait_for_each_other),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
