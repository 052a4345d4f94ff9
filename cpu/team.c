/* The threads of one call: OpenMP where it can be trusted, plain threads where it cannot.
 *
 * GNU libgomp ends the process when it cannot create a thread, and waits for ever in a forked
 * child, where the threads of its pool no longer exist. So OpenMP is entered only by a thread that
 * has
 *   - proved that its team can have more threads, by creating them and letting them end again, and
 *   - not come into being by fork().
 * Otherwise the call's threads are created for the call (run_own): a few microseconds a thread, but
 * whatever fails, fewer threads do the work. Nothing here binds a thread. */
#define _GNU_SOURCE 1 /* gettid(), tgkill() */
#include "team.h"

#include <fenv.h>
#include <limits.h>
#include <linux/futex.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../common/alloc.h"
#include "../common/env.h"
#include "topo.h"

/* ThreadSanitizer does not see libgomp's synchronisation; it understands plain threads. */
#if defined(__SANITIZE_THREAD__)
enum { ALWAYS_OWN = 1 };
#elif defined(__has_feature)
enum { ALWAYS_OWN = __has_feature(thread_sanitizer) };
#else
enum { ALWAYS_OWN = 0 };
#endif

typedef void team_body(int id, int given, void *ctx);

/* What we know about the calling thread. */
static _Thread_local struct {
  int asked;    /* the next question has been answered */
  int own;      /* never enter OpenMP from this thread */
  int pool;     /* size of its last OpenMP team, itself included: what libgomp keeps for it */
  int small;    /* calls in a row that wanted no more than half of it */
  int patience; /* calls to let pass before another attempt to enlarge it */
  int held;     /* cores it has acquired and not released */
} self;

/* Cores in use by the calls of this process, and how many it has. */
static atomic_int busy, cores_known = INT_MAX;

static int least(int a, int b)
{
  return a < b ? a : b;
}

/* ---------------------------------------------------------------- sleeping */

static void futex_wait(atomic_int *word, int value)
{
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void futex_wake_all(atomic_int *word)
{
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static inline void pause_cpu(void)
{
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/* About 30 to 100 microseconds on today's CPUs: longer than the threads of a team are apart,
 * shorter than anyone would notice. With more threads than cores the one waited for may need ours.
 */
enum { SPINS = 2000, SPINS_IF_CROWDED = 20 };

/* 1 if *word is no longer `value`, 0 if it is still after some spinning. */
static int spun(atomic_int *word, int value)
{
  int crowded = atomic_load_explicit(&busy, memory_order_relaxed) >
                atomic_load_explicit(&cores_known, memory_order_relaxed);
  int spins = crowded ? SPINS_IF_CROWDED : SPINS;
  for (int i = 0; i < spins; i++) {
    if (atomic_load_explicit(word, memory_order_acquire) != value) return 1;
    pause_cpu();
  }
  return 0;
}

/* ---------------------------------------------------------------- barrier */

void xg_barrier_init(struct xg_barrier *b, int n)
{
  b->n = n;
  atomic_init(&b->arrived, 0);
  atomic_init(&b->generation, 0);
  atomic_init(&b->sleepers, 0);
}

void xg_barrier_wait(struct xg_barrier *b)
{
  xg_barrier_wait_n(b, b->n);
}

/* The last to arrive opens the next generation. It looks for sleepers after that, and a sleeper
 * registers before it looks at the generation again (in futex_wait): one of them sees the other. */
void xg_barrier_wait_n(struct xg_barrier *b, int n)
{
  if (n <= 1) return;
  int generation = atomic_load_explicit(&b->generation, memory_order_relaxed);
  if (atomic_fetch_add_explicit(&b->arrived, 1, memory_order_acq_rel) == n - 1) {
    atomic_store_explicit(&b->arrived, 0, memory_order_relaxed);
    atomic_store(&b->generation, (int)((unsigned)generation + 1));
    if (atomic_load(&b->sleepers) > 0) futex_wake_all(&b->generation);
    return;
  }
  if (spun(&b->generation, generation)) return;
  atomic_fetch_add(&b->sleepers, 1);
  while (atomic_load(&b->generation) == generation) futex_wait(&b->generation, generation);
  atomic_fetch_sub(&b->sleepers, 1);
}

/* ---------------------------------------------------------------- threads of our own */

struct crew {
  team_body *body;
  void *ctx;
  fenv_t fenv;      /* the caller's rounding, flush-to-zero and masks */
  atomic_int given; /* 0 until all who could be created are there */
};

struct hand {
  struct crew *crew;
  int id;
  pthread_t thread;
  pid_t tid;
};

static void *hand_main(void *argument)
{
  struct hand *h = argument;
  struct crew *c = h->crew;
  h->tid = (pid_t)syscall(SYS_gettid);
  if (!spun(&c->given, 0))
    while (atomic_load(&c->given) == 0) futex_wait(&c->given, 0);
  fesetenv(&c->fenv);
  c->body(h->id, atomic_load(&c->given), c->ctx);
  return NULL;
}

/* Runs body on up to n threads made for the purpose; returns how many there were. With `gone` it
 * also waits until the kernel has forgotten them, so that they no longer count against a limit
 * (pthread_join() returns before that), and returns 1 if they will not go. */
static int run_own(int n, team_body *body, void *ctx, int gone)
{
  struct crew crew = {.body = body, .ctx = ctx};
  struct hand *hands = n > 1 ? xg_alloc((size_t)n * sizeof *hands) : NULL;
  int given = 1;
  fegetenv(&crew.fenv);
  atomic_init(&crew.given, 0);
  if (hands != NULL)
    for (; given < n; given++) {
      hands[given] = (struct hand){.crew = &crew, .id = given};
      if (pthread_create(&hands[given].thread, NULL, hand_main, &hands[given]) != 0) break;
    }
  atomic_store(&crew.given, given);
  futex_wake_all(&crew.given);
  body(0, given, ctx);
  for (int i = 1; i < given; i++) pthread_join(hands[i].thread, NULL);
  int left = 0;
  for (int i = 1; gone && i < given; i++) {
    int tries = 2000;
    while (syscall(SYS_tgkill, getpid(), hands[i].tid, 0) == 0 && --tries > 0) sched_yield();
    left |= tries == 0;
  }
  xg_free(hands);
  return left ? 1 : given;
}

/* ---------------------------------------------------------------- can this thread use OpenMP? */

static void nothing(int id, int given, void *ctx)
{
  (void)id, (void)given, (void)ctx;
}

/* Did this process come into being by fork(), without exec() since? Its first thread may then carry
 * an OpenMP pool whose threads were left behind, even if we were loaded only later. The kernel
 * keeps the answer as a flag of the first thread. */
static int forked_without_exec(void)
{
  enum { PF_FORKNOEXEC = 0x40 };
  char line[1024];
  unsigned flags = 0;
  FILE *f = fopen("/proc/self/stat", "re");
  if (f == NULL) return 0;
  const char *name_end = fgets(line, sizeof line, f) != NULL ? strrchr(line, ')') : NULL;
  fclose(f);
  if (name_end == NULL) return 0;
  return sscanf(name_end + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) == 1 &&
         (flags & PF_FORKNOEXEC) != 0;
}

/* The forking thread is the child's only one. What other threads had acquired is gone with them. */
static void after_fork_in_child(void)
{
  self.asked = 1;
  self.own = 1;
  atomic_store(&busy, self.held);
}

__attribute__((constructor)) static void watch_forks(void)
{
  pthread_atfork(NULL, NULL, after_fork_in_child);
}

static void ask(void)
{
  if (self.asked) return;
  self.asked = 1;
  self.own = ALWAYS_OWN || (getpid() == (pid_t)syscall(SYS_gettid) && forked_without_exec());
}

enum { PATIENCE = 100, SMALL_CALLS = 16 };

/* libgomp keeps a thread's pool from region to region, creates what is missing, and ends what a
 * smaller region leaves over. So a smaller team runs in a region of the pool's size, whose surplus
 * threads return at once: creating them again would cost ten times as much, and might fail by then.
 * Only a thread that keeps to small teams gives its pool up. */
static int pool_for(int n)
{
  int grow = n > self.pool ? n - self.pool : 0;
  if (self.pool == 0) grow = n - 1;
  if (grow > 0 && self.patience > 0) {
    self.patience--;
  } else if (grow > 0) {
    if (run_own(1 + grow, nothing, NULL, 1) < 1 + grow)
      self.patience = PATIENCE;
    else
      self.pool = n;
  }
  self.small = 2 * n <= self.pool ? self.small + 1 : 0;
  if (self.small > SMALL_CALLS) {
    self.pool = n;
    self.small = 0;
  }
  return self.pool;
}

/* The size of the OpenMP region that serves a team of n; at most 1: OpenMP must not be used. Inside
 * a parallel region libgomp creates an inner team's threads anew each time; our own do the same and
 * cannot end the process. But with binding only OpenMP knows where threads belong. */
static int region_for(int n)
{
  ask();
  if (self.own) return 0;
  if (omp_get_level() == 0) return pool_for(n);
  if (omp_get_num_places() == 0) return 0;
  return run_own(n, nothing, NULL, 1) == n ? n : 0;
}

/* ---------------------------------------------------------------- how many */

/* With binding, OpenMP gives each thread its own place and the caller's mask is only its own. */
static int cores_of_places(int places)
{
  static atomic_int memo; /* the places never change */
  int cores = atomic_load_explicit(&memo, memory_order_relaxed);
  if (cores != 0) return cores;
  int count = 0, capacity = 0;
  for (int i = 0; i < places; i++) capacity += omp_get_place_num_procs(i);
  int *cpus = malloc((size_t)(capacity + 1) * sizeof *cpus);
  if (cpus == NULL) return places;
  for (int i = 0; i < places; i++) {
    omp_get_place_proc_ids(i, cpus + count);
    count += omp_get_place_num_procs(i);
  }
  cores = xg_cpu_count_cores("", cpus, count);
  free(cpus);
  atomic_store_explicit(&memo, cores, memory_order_relaxed);
  return cores;
}

static int within_quota(int cores)
{
  int quota = xg_cgroup_cpus_now();
  return quota > 0 ? least(quota, cores) : cores;
}

int xg_team_default(void)
{
  int wanted = xg_env()->threads > 0 ? xg_env()->threads : omp_get_max_threads();
  int places = omp_get_num_places();
  int cores = places > 0 ? cores_of_places(places) : xg_cpu_affinity_cores();
  int n = within_quota(least(wanted, cores));
  return n > 1 ? n : 1;
}

/* Cores that all calls of the process share; asked at most once a second. */
static int capacity(void)
{
  static atomic_llong asked; /* the second, plus one */
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  int cores = atomic_load_explicit(&cores_known, memory_order_relaxed);
  if (atomic_load_explicit(&asked, memory_order_relaxed) == now.tv_sec + 1 && cores != INT_MAX)
    return cores;
  int places = omp_get_num_places();
  cores = within_quota(places > 0 ? cores_of_places(places) : xg_cpu_process_cores());
  atomic_store_explicit(&cores_known, cores, memory_order_relaxed);
  atomic_store_explicit(&asked, now.tv_sec + 1, memory_order_relaxed);
  return cores;
}

/* More than this helps nobody; it bounds what a mistaken number costs. */
static int sane_limit(void)
{
  int cpus = xg_cpu_online();
  return cpus < 16 ? 64 : 4 * cpus;
}

/* What OpenMP itself would refuse, so that the caller divides its work by the right number. */
static int openmp_limit(void)
{
  if (omp_get_active_level() >= omp_get_max_active_levels()) return 1;
  int limit = omp_get_thread_limit();
  return limit > 0 ? limit : 1;
}

static int hold(int n)
{
  atomic_fetch_add_explicit(&busy, n, memory_order_relaxed);
  self.held += n;
  return n;
}

int xg_team_acquire(int explicit_threads, int useful)
{
  if (useful <= 1 || explicit_threads == 1) return hold(1);
  int cores = capacity();
  if (explicit_threads > 0)
    return hold(least(least(explicit_threads, useful), least(sane_limit(), openmp_limit())));
  if (omp_in_parallel()) return hold(1);
  int wanted = least(least(xg_team_default(), useful), openmp_limit());
  if (wanted <= 1) return hold(1);
  int before = atomic_load_explicit(&busy, memory_order_relaxed), n;
  do {
    n = least(wanted, cores - before);
    if (n < 1) n = 1;
  } while (!atomic_compare_exchange_weak_explicit(&busy, &before, before + n, memory_order_relaxed,
                                                  memory_order_relaxed));
  self.held += n;
  return n;
}

void xg_team_release(int n)
{
  atomic_fetch_sub_explicit(&busy, n, memory_order_relaxed);
  self.held -= n;
}

/* ---------------------------------------------------------------- run */

/* Returns how many threads OpenMP really gave. */
static int run_openmp(int region, int n, team_body *body, void *ctx)
{
  fenv_t callers;
  int given = 1;
  fegetenv(&callers);
#pragma omp parallel num_threads(region) shared(callers, given)
  {
    int id = omp_get_thread_num(), all = omp_get_num_threads(), used = least(n, all);
    if (id == 0) {
      given = all;
      body(0, used, ctx);
    } else if (id < used) {
      fenv_t before;
      fegetenv(&before);
      fesetenv(&callers);
      body(id, used, ctx);
      fesetenv(&before);
    }
  }
  return given;
}

void xg_team_run(int n, team_body *body, void *ctx)
{
  n = least(n, omp_get_thread_limit()); /* libomp would say on stderr that it gives fewer */
  if (n <= 1) {
    body(0, 1, ctx);
    return;
  }
  int region = region_for(n);
  if (region <= 1) {
    run_own(n, body, ctx, 0);
    return;
  }
  int given = run_openmp(region, n, body, ctx);
  if (given < region && omp_get_level() == 0) { /* OMP_DYNAMIC */
    self.pool = given;
    self.patience = PATIENCE;
  }
}
