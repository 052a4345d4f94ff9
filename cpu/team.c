/* The threads of one call: our own workers (crew.c), or OpenMP's where it binds threads, since then
 * only OpenMP knows where threads belong.
 *
 * GNU libgomp ends the process when it cannot create a thread, and waits for ever in a forked
 * child, where the threads of its pool no longer exist. So OpenMP is entered only by a thread that
 * has
 *   - proved that its team can have more threads, by creating them and letting them end again, and
 *   - not come into being by fork().
 * Nothing here binds a thread. */
#define _GNU_SOURCE 1 /* gettid() */
#include "team.h"

#include <fenv.h>
#include <limits.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../common/env.h"
#include "crew.h"
#include "spin.h"
#include "topo.h"

/* ThreadSanitizer does not see libgomp's synchronisation; it understands plain threads. */
#if defined(__SANITIZE_THREAD__)
enum { ALWAYS_OWN = 1 };
#elif defined(__has_feature)
enum { ALWAYS_OWN = __has_feature(thread_sanitizer) };
#else
enum { ALWAYS_OWN = 0 };
#endif

typedef xg_team_body team_body;

/* What we know about the calling thread. */
static _Thread_local struct {
  int asked;    /* the next question has been answered */
  int own;      /* never enter OpenMP from this thread */
  int pool;     /* size of its last OpenMP team, itself included: what libgomp keeps for it */
  int small;    /* calls in a row that wanted no more than half of it */
  int patience; /* calls to let pass before another attempt to enlarge it */
  int held;     /* cores it has acquired and not released */
  int cores;    /* of its affinity mask, as it was at `looked` */
  struct timespec looked;
} self;

/* Cores in use by the calls of this process, and how many it has. */
static atomic_int busy, cores_known = INT_MAX;

static int least(int a, int b)
{
  return a < b ? a : b;
}

/* ---------------------------------------------------------------- barrier */

int64_t xg_team_spin_ns(void)
{
  /* Longer than the threads of a team are apart, shorter than anyone would notice. With more
   * threads than cores the one waited for may need ours. */
  enum { SPIN_NS = 50000, SPIN_NS_IF_CROWDED = 1000 };
  int crowded = atomic_load_explicit(&busy, memory_order_relaxed) >
                atomic_load_explicit(&cores_known, memory_order_relaxed);
  return crowded ? SPIN_NS_IF_CROWDED : SPIN_NS;
}

/* 1 if *word is no longer `value`, 0 if it is still after some spinning. */
static int spun(atomic_int *word, int value)
{
  int64_t until = 0;
  do {
    if (atomic_load_explicit(word, memory_order_acquire) != value) return 1;
  } while (xg_lingers(&until));
  return 0;
}

void xg_team_await(atomic_int *word, int value)
{
  static const struct timespec now_and_then = {0, 50000};
  int64_t until = 0;
  while (atomic_load_explicit(word, memory_order_acquire) < value)
    if (!xg_lingers(&until)) nanosleep(&now_and_then, NULL);
}

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
    if (atomic_load(&b->sleepers) > 0) xg_futex_wake_all(&b->generation);
    return;
  }
  if (spun(&b->generation, generation)) return;
  atomic_fetch_add(&b->sleepers, 1);
  while (atomic_load(&b->generation) == generation)
    xg_futex_wait(&b->generation, (uint32_t)generation);
  atomic_fetch_sub(&b->sleepers, 1);
}

/* ---------------------------------------------------------------- can this thread use OpenMP? */

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
  xg_crew_after_fork();
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
    if (xg_crew_probe(grow))
      self.pool = n;
    else
      self.patience = PATIENCE;
  }
  self.small = 2 * n <= self.pool ? self.small + 1 : 0;
  if (self.small > SMALL_CALLS) {
    self.pool = n;
    self.small = 0;
  }
  return self.pool;
}

/* The size of the OpenMP region that serves a team of n; at most 1: OpenMP must not be used. Inside
 * a parallel region libgomp creates an inner team's threads anew each time. */
static int region_for(int n)
{
  if (omp_get_num_places() == 0) return 0;
  ask();
  if (self.own) return 0;
  if (omp_get_level() == 0) return pool_for(n);
  return xg_crew_probe(n - 1) ? n : 0;
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

/* The affinity mask is read once a clock tick: reading it takes as long as starting a team. */
static int cores_of_mask(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  if (self.cores == 0 || now.tv_nsec != self.looked.tv_nsec || now.tv_sec != self.looked.tv_sec) {
    uint64_t mask;
    self.cores = xg_cpu_affinity(&mask);
    self.looked = now;
    xg_crew_set_mask(mask);
  }
  return self.cores;
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
  int cores = places > 0 ? cores_of_places(places) : cores_of_mask();
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
  static atomic_int memo; /* the system reads files to tell */
  int limit = atomic_load_explicit(&memo, memory_order_relaxed);
  if (limit == 0) {
    int cpus = xg_cpu_online();
    limit = cpus < 16 ? 64 : 4 * cpus;
    atomic_store_explicit(&memo, limit, memory_order_relaxed);
  }
  return limit;
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

/* Whether OpenMP did it; if not, n threads of our own are to. */
static int run_bound(int n, team_body *body, void *ctx)
{
  int region = region_for(n);
  if (region <= 1) return 0;
  int given = run_openmp(region, n, body, ctx);
  if (given < region && omp_get_level() == 0) { /* OMP_DYNAMIC */
    self.pool = given;
    self.patience = PATIENCE;
  }
  return 1;
}

/* libomp would say on stderr that it gives fewer. */
static int allowed(int n)
{
  n = least(n, omp_get_thread_limit());
  if (n > 1) cores_of_mask(); /* workers are to have the same */
  return n;
}

void xg_team_run(int n, team_body *body, void *ctx)
{
  n = allowed(n);
  if (n <= 1)
    body(0, 1, ctx);
  else if (!run_bound(n, body, ctx))
    xg_crew_run(n, body, ctx);
}

void xg_team_run_parts(int n, double ns, team_body *body, void *ctx, size_t bytes)
{
  n = allowed(n);
  if (n <= 1)
    body(0, 1, ctx);
  else if (!run_bound(n, body, ctx))
    xg_crew_run_parts(n, ns, body, ctx, bytes);
}
