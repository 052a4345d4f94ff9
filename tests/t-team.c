/* The threads of a call: how many, that each does its part once, the barrier, and what happens
 * where threads are few, bound, refused, or already at work. */
#define _GNU_SOURCE 1 /* CPU masks, RLIMIT_NPROC */
#include <dirent.h>
#include <fenv.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../cpu/team.h"
#include "../cpu/topo.h"
#include "child.h"
#include "cm.h"
#include "no_threads.h"

/* ---------------------------------------------------------------- run */

enum { MOST = 64, ROUNDS = 300 };

struct roll { /* what the participants report */
  atomic_int calls[MOST], given[MOST];
};

static void sign(int id, int given, void *ctx)
{
  struct roll *r = ctx;
  if (id < 0 || id >= MOST) return;
  atomic_fetch_add(&r->calls[id], 1);
  atomic_store(&r->given[id], given);
}

/* The number that all were told, if each took part once; else -1. */
static int called(struct roll *r)
{
  int given = atomic_load(&r->given[0]);
  for (int i = 0; i < MOST; i++) {
    if (atomic_load(&r->calls[i]) != (i < given)) return -1;
    if (i < given && atomic_load(&r->given[i]) != given) return -1;
  }
  return given;
}

static int participants(int n)
{
  struct roll r;
  memset(&r, 0, sizeof r);
  xg_team_run(n, sign, &r);
  return called(&r);
}

/* As independent parts of a job of so many nanoseconds. */
static int parts(int n, double ns)
{
  struct roll r;
  memset(&r, 0, sizeof r);
  xg_team_run_parts(n, ns, sign, &r, 0);
  return called(&r);
}

static void each_participant_runs_once(void **state)
{
  (void)state;
  for (int round = 0; round < 20; round++)
    for (int n = 1; n <= 8; n++) assert_int_equal(participants(n), n);
}

/* Short jobs meet workers that spin, sleep, are just falling asleep, or are not there. */
static void each_part_is_done_once(void **state)
{
  (void)state;
  static const int pauses_us[] = {0, 20, 50, 60, 200};
  for (int round = 0; round < 200; round++)
    for (int n = 1; n <= 4; n++) {
      int given = parts(n, 3000 + 20000 * (round % 2));
      assert_in_range(given, 1, n);
      assert_int_equal(parts(n, 1e6), n);
      usleep((unsigned)pauses_us[round % 5]);
    }
}

static void *run_8(void *bad)
{
  for (int i = 0; i < 200; i++) {
    int n = 1 + i % 8, given = parts(n, 20000);
    if (participants(n) != n || given < 1 || given > n) atomic_fetch_add((atomic_int *)bad, 1);
  }
  return NULL;
}

static void many_callers_at_once(void **state)
{
  (void)state;
  pthread_t threads[10];
  atomic_int bad = 0;
  for (int i = 0; i < 10; i++) assert_int_equal(pthread_create(&threads[i], NULL, run_8, &bad), 0);
  for (int i = 0; i < 10; i++) pthread_join(threads[i], NULL);
  assert_int_equal(atomic_load(&bad), 0);
}

struct rounding {
  int want;
  atomic_int wrong;
};

static void look_at_rounding(int id, int given, void *ctx)
{
  struct rounding *r = ctx;
  (void)id, (void)given;
  if (fegetround() != r->want) atomic_fetch_add(&r->wrong, 1);
}

/* Workers round as the caller does, and as before when its call is over. */
static void workers_have_the_callers_rounding(void **state)
{
  (void)state;
  static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_TOWARDZERO, FE_TONEAREST};
  for (int i = 0; i < 4; i++) {
    struct rounding r = {.want = modes[i]};
    fesetround(modes[i]);
    xg_team_run(3, look_at_rounding, &r);
    fesetround(FE_TONEAREST);
    assert_int_equal(atomic_load(&r.wrong), 0);
  }
}

/* ---------------------------------------------------------------- barrier */

struct meeting {
  struct xg_barrier all, half[2];
  atomic_int slot[MOST], late;
};

/* Everyone writes the round, meets, and must find everyone's; then only the halves meet, and then
 * all again before the slots are overwritten. */
static void meet(int id, int given, void *ctx)
{
  struct meeting *m = ctx;
  int half = given / 2, mine = id < half ? 0 : 1;
  int low = mine ? half : 0, high = mine ? given : half;
  for (int round = 1; round <= ROUNDS; round++) {
    atomic_store_explicit(&m->slot[id], round, memory_order_relaxed);
    xg_barrier_wait_n(&m->half[mine], high - low);
    for (int i = low; i < high; i++)
      if (atomic_load_explicit(&m->slot[i], memory_order_relaxed) != round)
        atomic_fetch_add(&m->late, 1);
    xg_barrier_wait(&m->all);
    for (int i = 0; i < given; i++)
      if (atomic_load_explicit(&m->slot[i], memory_order_relaxed) != round)
        atomic_fetch_add(&m->late, 1);
    xg_barrier_wait(&m->all);
  }
}

static int meet_n(int n)
{
  struct meeting m;
  memset(&m, 0, sizeof m);
  xg_barrier_init(&m.all, n);
  int given = xg_team_acquire(n, n);
  if (given == n) xg_team_run(n, meet, &m);
  xg_team_release(given);
  return given == n ? atomic_load(&m.late) : -1;
}

static void nobody_passes_the_barrier_early(void **state)
{
  (void)state;
  static const int counts[] = {1, 2, 3, 4, 7, 16}; /* more than cores, too */
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
    assert_int_equal(meet_n(counts[i]), 0);
}

/* The same by threads made for the call, in a process that was forked. */
static int meet_in_child(void *unused)
{
  (void)unused;
  if (participants(5) != 5) return 1;
  return meet_n(2) || meet_n(5) ? 2 : 0;
}

static void the_same_in_a_forked_child(void **state)
{
  (void)state;
  struct child c;
  assert_int_equal(participants(4), 4);
  child_fork(&c, meet_in_child, NULL, 60);
  assert_int_equal(c.exited, 0);
  assert_int_equal(meet_n(4), 0);
}

/* ---------------------------------------------------------------- how many */

static int count(int explicit_threads, int useful)
{
  int n = xg_team_acquire(explicit_threads, useful);
  xg_team_release(n);
  return n;
}

/* THR-07. */
static void an_explicit_number_is_taken(void **state)
{
  (void)state;
  assert_int_equal(count(1, 100), 1);
  assert_int_equal(count(3, 100), 3);
  assert_int_equal(count(7, 100), 7);
  assert_int_equal(count(7, 2), 2);
  assert_int_equal(count(7, 0), 1);
  assert_int_equal(count(0, 1), 1);
  int most = count(5000, 1 << 20); /* cut down, and what is left works */
  assert_true(most >= 1 && most <= 5000);
  assert_int_equal(count(INT32_MAX, INT32_MAX), most);
  if (most <= MOST) assert_int_equal(participants(most), most);
}

/* THR-11: omp_set_num_threads() counts until it is changed, and only for calls without a number. */
static void the_default_follows_openmp(void **state)
{
  (void)state;
  int before = omp_get_max_threads(), cores = xg_cpu_affinity_cores();
  omp_set_num_threads(1);
  for (int i = 0; i < 3; i++) assert_int_equal(count(0, 100), 1);
  assert_int_equal(count(4, 100), 4);
  assert_int_equal(count(0, 100), 1);
  omp_set_num_threads(1000);
  assert_true(xg_team_default() <= cores);
  omp_set_num_threads(before);
  assert_true(count(0, 100) <= (before < cores ? before : cores));
  assert_int_equal(count(0, 100), xg_team_default());
}

static void callers_share_the_cores(void **state)
{
  (void)state;
  int all = xg_team_default();
  int first = xg_team_acquire(0, 100);
  assert_int_equal(first, all);
  int second = xg_team_acquire(0, 100), third = xg_team_acquire(0, 100);
  assert_int_equal(third, 1);
  assert_int_equal(count(3, 100), 3);
  xg_team_release(first);
  xg_team_release(second);
  xg_team_release(third);
  assert_int_equal(count(0, 100), all);
}

/* THR-14. */
static void one_thread_inside_a_parallel_region(void **state)
{
  (void)state;
  int counts[3] = {0, 0, 0}, own[3] = {0, 0, 0};
  omp_set_max_active_levels(2);
#pragma omp parallel num_threads(3)
  {
    counts[omp_get_thread_num()] = count(0, 100);
    own[omp_get_thread_num()] = participants(count(2, 100));
  }
  omp_set_max_active_levels(1);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(counts[i], 1);
    assert_int_equal(own[i], 2);
  }
#pragma omp parallel num_threads(3)
  counts[omp_get_thread_num()] = count(4, 100);
  for (int i = 0; i < 3; i++) assert_int_equal(counts[i], 1); /* OpenMP allows no second level */
}

static void *ask_for(void *number)
{
  int n = *(int *)number, wrong = 0;
  for (int i = 0; i < 200; i++) {
    int got = xg_team_acquire(n, 100);
    wrong += got != n || participants(got) != n;
    xg_team_release(got);
  }
  *(int *)number = wrong;
  return NULL;
}

/* THR-12. */
static void each_caller_has_its_own_number(void **state)
{
  (void)state;
  pthread_t a, b;
  int one = 1, four = 4;
  assert_int_equal(pthread_create(&a, NULL, ask_for, &one), 0);
  assert_int_equal(pthread_create(&b, NULL, ask_for, &four), 0);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  assert_int_equal(one + four, 0);
}

/* THR-09. */
static void affinity_bounds_the_default_and_stays(void **state)
{
  (void)state;
  cpu_set_t before, one, after;
  assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &before)) cpu++;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
  usleep(30000); /* the mask is looked at once a clock tick */
  if (omp_get_num_places() == 0) assert_int_equal(count(0, 100), 1);
  assert_int_equal(participants(3), 3);
  assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
  assert_true(CPU_EQUAL(&one, &after));
  assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
  usleep(30000);
  assert_int_equal(participants(4), 4);
  assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
  assert_true(CPU_EQUAL(&before, &after));
}

/* ---------------------------------------------------------------- processes of their own */

static int live_threads(void)
{
  int n = 0;
  DIR *d = opendir("/proc/self/task");
  if (d == NULL) return -1;
  while (readdir(d) != NULL) n++;
  closedir(d);
  return n - 2;
}

struct places {
  atomic_int cpu[MOST];
};

static void where(int id, int given, void *ctx)
{
  (void)given;
  if (id < MOST) atomic_store(&((struct places *)ctx)->cpu[id], sched_getcpu());
}

/* Bound by OpenMP: the default is the places' cores, and every thread is on one of its own. */
static int bound(void)
{
  struct places p;
  int n = xg_team_acquire(0, MOST), apart = 1;
  xg_team_run(n, where, &p);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < i; j++) apart &= atomic_load(&p.cpu[i]) != atomic_load(&p.cpu[j]);
  printf("threads=%d places=%d apart=%d", n, omp_get_num_places(), apart);
  return 0;
}

/* What main() does when it is run again. */
static int in_own_process(const char *what)
{
  if (!strcmp(what, "default")) {
    printf("threads=%d", count(0, 100000));
    return 0;
  }
  if (!strcmp(what, "run-4")) {
    printf("given=%d", participants(4));
    return 0;
  }
  if (!strcmp(what, "bound")) return bound();
  if (!strcmp(what, "refused")) {
    if (!refuse_threads()) return 77;
    int given = participants(4);
    printf("given=%d,%d", given, participants(4));
    return 0;
  }
  if (!strcmp(what, "refused-later")) { /* a team that worked must not grow into the refusal */
    int first = participants(4), small = participants(2);
    if (!refuse_threads()) return 77;
    int again = participants(4), more = participants(6);
    printf("given=%d,%d,%d,%d", first, small, again, more);
    return 0;
  }
  if (!strcmp(what, "few")) {
    if (!allow_processes(3)) return 77;
    int given = participants(8), again = participants(8);
    printf("ok=%d", given >= 1 && given <= 3 && again >= 1 && again <= 3);
    return 0;
  }
  if (!strcmp(what, "nested")) {
    omp_set_max_active_levels(2);
    int most = 0;
#pragma omp parallel num_threads(3) reduction(max : most)
    for (int i = 0; i < 50; i++) {
      participants(count(0, 100));
      int live = live_threads();
      most = live > most ? live : most;
    }
    printf("live=%d", most);
    return 0;
  }
  return 96;
}

static void says(const char *what, const char *const *set, const char *words)
{
  static struct child c;
  child_exec(&c, what, NULL, set, 60);
  if (c.exited == 77) {
    print_message("  skipped: this system refuses to refuse (%s)\n", what);
    return;
  }
  if (c.exited != 0 || strcmp(c.out, words) != 0)
    fail_msg("%s: exit %d signal %d, \"%s\" instead of \"%s\", stderr \"%s\"", what, c.exited,
             c.signal, c.out, words, c.err);
  assert_string_equal(c.err, "");
}

/* THR-07. */
static void environment_bounds_the_default(void **state)
{
  (void)state;
  char words[64];
  const char *const one[] = {"XGEMM_NUM_THREADS=1", NULL}, *const omp_one[] = {"OMP_NUM_THREADS=1",
                                                                               NULL};
  const char *const many[] = {"XGEMM_NUM_THREADS=1024", NULL};
  const char *const omp_many[] = {"OMP_NUM_THREADS=1024", NULL};
  says("default", one, "threads=1");
  says("default", omp_one, "threads=1");
  int quota = xg_cgroup_cpus(""), cores = xg_cpu_affinity_cores();
  snprintf(words, sizeof words, "threads=%d", quota > 0 && quota < cores ? quota : cores);
  says("default", many, words);
  says("default", omp_many, words);
  says("default", NULL, words);
}

/* The runtime may give fewer; all are told so. */
static void limits_of_openmp_hold(void **state)
{
  (void)state;
  const char *const limit[] = {"OMP_THREAD_LIMIT=2", NULL}, *const one[] = {"OMP_THREAD_LIMIT=1",
                                                                            NULL};
  says("run-4", NULL, "given=4");
  says("run-4", limit, "given=2");
  says("run-4", one, "given=1");
}

/* THR-10. */
static void bound_threads_sit_apart(void **state)
{
  (void)state;
  char words[64];
  int cores = xg_cpu_affinity_cores(), quota = xg_cgroup_cpus("");
  if (quota > 0 && quota < cores) skip();
  const char *const set[] = {"OMP_PROC_BIND=TRUE", "OMP_PLACES=cores", NULL};
  snprintf(words, sizeof words, "threads=%d places=%d apart=1", cores, cores);
  says("bound", set, words);
}

/* THR-17. */
static void refused_threads_are_done_without(void **state)
{
  (void)state;
  says("refused", NULL, "given=1,1");
  says("refused-later", NULL, "given=4,2,4,4");
  says("few", NULL, "ok=1");
}

/* THR-14: three threads in a region, three in all. */
static void nesting_adds_no_threads(void **state)
{
  (void)state;
  says("nested", NULL, "live=3");
}

int main(int argc, char **argv)
{
  if (argc > 1) {
    int code = in_own_process(argv[1]);
    fflush(stdout);
    _exit(code); /* a leak checker would need a thread of its own */
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_participant_runs_once),
      cmocka_unit_test(each_part_is_done_once),
      cmocka_unit_test(many_callers_at_once),
      cmocka_unit_test(workers_have_the_callers_rounding),
      cmocka_unit_test(nobody_passes_the_barrier_early),
      cmocka_unit_test(the_same_in_a_forked_child),
      cmocka_unit_test(an_explicit_number_is_taken),
      cmocka_unit_test(the_default_follows_openmp),
      cmocka_unit_test(callers_share_the_cores),
      cmocka_unit_test(one_thread_inside_a_parallel_region),
      cmocka_unit_test(each_caller_has_its_own_number),
      cmocka_unit_test(affinity_bounds_the_default_and_stays),
      cmocka_unit_test(environment_bounds_the_default),
      cmocka_unit_test(limits_of_openmp_hold),
      cmocka_unit_test(bound_threads_sit_apart),
      cmocka_unit_test(refused_threads_are_done_without),
      cmocka_unit_test(nesting_adds_no_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
