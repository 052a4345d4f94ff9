/* Worker threads of our own. Each has a slot, a cache line with one word that says all:
 *
 *     GONE -> MAKING -> an offer <-> TAKEN -> IDLE (spinning) -> ASLEEP
 *                          ^____________________|___________________|
 *
 * An offer is the address of a job and the number of a part in one word, so a caller gets a worker
 * to work by one compare-and-swap: one cache line goes there, and one, the job's, comes back. About
 * 0.15 us a call of two threads on a Zen 4; a region of GNU libgomp takes 0.55 us, and 7 ms where
 * the kernel has put both threads on one core, as it does when the other is busy: there the one who
 * waits spins for so long.
 *
 * Workers spin for some 50 us after their work, so a burst of calls finds them awake, and then
 * sleep. To wake one costs as much as a small product: see xg_crew_run_parts().
 *
 * A fork leaves all workers behind; the child begins with empty slots. */
#define _GNU_SOURCE 1 /* gettid(), tgkill() */
#include "crew.h"

#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

#include "../common/alloc.h"
#include "spin.h"

enum { SLOTS = 1024, LINE = 64 };

/* States of a slot's word; anything larger is an offer. */
enum { GONE, MAKING, IDLE, ASLEEP, TAKEN, LAST_STATE = TAKEN };

/* Control words of the floating-point units: rounding, flush to zero, masks. On x86 fegetenv()
 * saves the whole x87 state, which takes as long as all the rest of starting a team. */
struct rounding {
#if defined(__x86_64__)
  uint32_t sse;
  uint16_t x87;
#else
  fenv_t all;
#endif
};

/* Aligned so that its address leaves room for a part's number. It lies on the caller's stack: no
 * worker may touch it once it has counted itself out. */
struct job {
  _Alignas(SLOTS) atomic_int given; /* 0 until all who serve have been asked */
  xg_team_body *body;
  void *ctx;
  struct rounding rounding;
  int cpu;                         /* the caller's */
  _Alignas(LINE) atomic_uint left; /* workers still at it, and SLEEPER */
};

enum { SLEEPER = 1 << 16 };

static struct slot {
  _Alignas(LINE) atomic_uintptr_t word;
  atomic_int callers_cpu; /* as far as the worker knows */
  uint64_t mask;
  int64_t moved_ms; /* the worker's own */
} slots[SLOTS];

static atomic_int slots_used; /* all beyond are GONE */

/* What we know about the calling thread. */
static _Thread_local struct {
  uint64_t mask;
  int first;     /* the slot that served it first in its last call */
  int patience;  /* calls to let pass before another attempt to create threads */
  double missed; /* nanoseconds lost by not waking workers */
  int in_vain;   /* how often they were woken for nothing since they last served */
} self;

enum { PATIENCE = 100, IN_VAIN = 4, YIELDS = 20, MOVE_MS = 10 };

/* What waking a worker costs, and where sleeping ones are woken: twice the time until it works. */
static const double wake_ns = 50e3;

/* ---------------------------------------------------------------- floating-point environment */

static inline void get_rounding(struct rounding *r)
{
#if defined(__x86_64__)
  __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(r->sse), "=m"(r->x87));
#else
  fegetenv(&r->all);
#endif
}

static inline void set_rounding(const struct rounding *r)
{
#if defined(__x86_64__)
  __asm__ volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(r->sse), "m"(r->x87));
#else
  fesetenv(&r->all);
#endif
}

/* ---------------------------------------------------------------- a worker */

static int beside_caller(struct slot *s)
{
  return atomic_load_explicit(&s->callers_cpu, memory_order_relaxed) == sched_getcpu();
}

/* The half of a slot's word that holds the state: a futex has 32 bits. */
static void *futex_of(struct slot *s)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  return (char *)&s->word + sizeof s->word - 4;
#else
  return &s->word;
#endif
}

static uintptr_t offer_in(struct slot *s)
{
  const uintptr_t word = atomic_load_explicit(&s->word, memory_order_acquire);
  return word > LAST_STATE ? word : 0;
}

static void *worker_main(void *slot);

/* Signal handlers of the program run on its own threads; what a fault raises stays with who did it.
 */
static void block_signals(sigset_t *before)
{
  sigset_t most;
  sigfillset(&most);
  sigdelset(&most, SIGFPE), sigdelset(&most, SIGSEGV), sigdelset(&most, SIGBUS);
  sigdelset(&most, SIGILL), sigdelset(&most, SIGTRAP), sigdelset(&most, SIGSYS);
  pthread_sigmask(SIG_SETMASK, &most, before);
}

static int create(pthread_t *thread, void *(*start)(void *), void *argument)
{
  sigset_t before;
  block_signals(&before);
  int error = pthread_create(thread, NULL, start, argument);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return error == 0;
}

static int create_worker(struct slot *s)
{
  pthread_t thread;
  if (!create(&thread, worker_main, s)) return 0;
  pthread_detach(thread);
  return 1;
}

/* Leaves the slot to a new thread, at most once in MOVE_MS. The kernel wakes a thread where it last
 * ran, or beside who woke it, and moves it from a busy core to a less busy one only after many
 * milliseconds; a new thread begins on the least busy core. */
static int moved(struct slot *s)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
  const int64_t ms = (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
  if (ms - s->moved_ms < MOVE_MS) return 0;
  uintptr_t idle = IDLE;
  if (!atomic_compare_exchange_strong(&s->word, &idle, MAKING)) return 0;
  s->moved_ms = ms;
  if (create_worker(s)) return 1;
  atomic_store(&s->word, IDLE);
  return 0;
}

/* 0: this thread is to end. On its caller's CPU spinning would only keep that one from its work. */
static uintptr_t next_offer(struct slot *s)
{
  for (;;) {
    uintptr_t word = offer_in(s);
    if (!word && beside_caller(s) && moved(s)) return 0;
    for (int i = 0; i < YIELDS && !word && beside_caller(s); i++, word = offer_in(s)) sched_yield();
    for (int spins = beside_caller(s) ? 0 : xg_team_spins(); !word && spins > 0; spins--) {
      xg_pause_cpu();
      word = offer_in(s);
    }
    if (word) return word;
    uintptr_t idle = IDLE;
    if (!atomic_compare_exchange_strong(&s->word, &idle, ASLEEP)) continue;
    while (atomic_load(&s->word) == ASLEEP) xg_futex_wait(futex_of(s), ASLEEP);
  }
}

static void count_out(atomic_uint *left)
{
  if (atomic_fetch_sub(left, 1) == (1 | SLEEPER)) xg_futex_wake_all(left);
}

static int given_by(const struct job *j)
{
  int given;
  while ((given = atomic_load_explicit(&j->given, memory_order_acquire)) == 0) xg_pause_cpu();
  return given;
}

static void *worker_main(void *argument)
{
  struct slot *s = argument;
  uintptr_t making = MAKING, offer;
  atomic_compare_exchange_strong(&s->word, &making, IDLE); /* else it begins with an offer */
  while ((offer = next_offer(s)) != 0) {
    if (!atomic_compare_exchange_strong(&s->word, &offer, TAKEN)) continue; /* withdrawn */
    struct job *j = (struct job *)(offer & ~(uintptr_t)(SLOTS - 1));        /* NOLINT */
    set_rounding(&j->rounding);
    atomic_store_explicit(&s->callers_cpu, j->cpu, memory_order_relaxed);
    j->body((int)(offer % SLOTS), given_by(j), j->ctx);
    atomic_uint *left = &j->left;
    atomic_store_explicit(&s->word, IDLE, memory_order_release);
    count_out(left);
  }
  return NULL;
}

/* ---------------------------------------------------------------- finding workers */

/* How far a caller goes to get them. */
enum effort { SPINNING_ONLY, WAKE };

static int offer(struct slot *s, uintptr_t word, enum effort effort)
{
  uintptr_t state = atomic_load_explicit(&s->word, memory_order_acquire);
  if ((state != IDLE && (state != ASLEEP || effort == SPINNING_ONLY)) || s->mask != self.mask)
    return 0;
  if (state == ASLEEP) atomic_store_explicit(&s->callers_cpu, sched_getcpu(), memory_order_relaxed);
  uintptr_t was = state;
  if (!atomic_compare_exchange_strong(&s->word, &was, word)) return 0;
  if (state == ASLEEP) xg_futex_wake_all(futex_of(s));
  return 1;
}

/* A new worker that begins with an offer, or with MAKING: spinning. */
static struct slot *hire(uintptr_t word)
{
  for (int i = 0; i < SLOTS; i++) {
    struct slot *s = &slots[i];
    uintptr_t gone = GONE;
    if (!atomic_compare_exchange_strong(&s->word, &gone, MAKING)) continue;
    int used = atomic_load(&slots_used);
    while (used <= i && !atomic_compare_exchange_weak(&slots_used, &used, i + 1)) continue;
    s->mask = self.mask;
    atomic_store(&s->word, word);
    if (create_worker(s)) return s;
    atomic_store(&s->word, GONE);
    return NULL;
  }
  return NULL;
}

/* Offers parts 1 .. n-1 of a job, notes who has which, and returns 1 + how many were placed. */
static int place(struct job *j, int n, enum effort effort, struct slot **who)
{
  const int used = atomic_load_explicit(&slots_used, memory_order_acquire);
  int id = 1, at = self.first < used ? self.first : 0;
  for (int i = 0; i < used && id < n; i++, at = at + 1 < used ? at + 1 : 0)
    if (offer(&slots[at], (uintptr_t)j + (uintptr_t)id, effort)) {
      if (id == 1) self.first = at;
      who[id++] = &slots[at];
    }
  if (id == n || effort == SPINNING_ONLY) return id;
  if (self.patience > 0) {
    self.patience--;
    return id;
  }
  for (; id < n; id++)
    if ((who[id] = hire((uintptr_t)j + (uintptr_t)id)) == NULL) {
      self.patience = PATIENCE;
      break;
    }
  return id;
}

/* For the calls to come. */
static void rouse(int n)
{
  const int used = atomic_load(&slots_used);
  for (int i = 0; i < used && n > 0; i++) n -= offer(&slots[i], IDLE, WAKE);
  if (n <= 0 || self.patience-- > 0) return;
  for (self.patience = 0; n > 0 && hire(MAKING) != NULL; n--) continue;
  if (n > 0) self.patience = PATIENCE;
}

/* ---------------------------------------------------------------- a job */

static void wait_for_the_rest(struct job *j)
{
  for (int spins = xg_team_spins(); spins > 0; spins--) {
    if (atomic_load_explicit(&j->left, memory_order_acquire) == 0) return;
    xg_pause_cpu();
  }
  unsigned left = atomic_fetch_or(&j->left, SLEEPER) | SLEEPER;
  for (; left != SLEEPER; left = atomic_load(&j->left)) xg_futex_wait(&j->left, left);
}

static int withdraw(struct slot *s, uintptr_t word)
{
  return atomic_compare_exchange_strong(&s->word, &word, IDLE);
}

static int run(int n, xg_team_body *body, void *ctx, enum effort effort, int parts)
{
  enum { FEW = 16 };
  if (n > SLOTS) n = SLOTS;
  struct slot *few[FEW], **who = n <= FEW ? few : xg_alloc((size_t)n * sizeof *who);
  struct job j = {.body = body, .ctx = ctx, .cpu = sched_getcpu()};
  if (who == NULL) n = 1;
  get_rounding(&j.rounding);
  atomic_init(&j.given, 0);
  atomic_init(&j.left, (unsigned)n - 1);
  const int given = place(&j, n, effort, who);
  if (given < n) atomic_fetch_sub(&j.left, (unsigned)(n - given));
  atomic_store_explicit(&j.given, given, memory_order_release);
  body(0, given, ctx);
  int withdrawn = 0;
  for (int id = 1; parts && id < given; id++)
    if (withdraw(who[id], (uintptr_t)&j + (uintptr_t)id)) {
      atomic_fetch_sub(&j.left, 1);
      body(id, given, ctx);
      withdrawn++;
    }
  if (given == n && withdrawn == 0) self.in_vain = 0;
  wait_for_the_rest(&j);
  if (who != few) xg_free(who);
  return given;
}

int xg_crew_run(int n, xg_team_body *body, void *ctx)
{
  return run(n, body, ctx, WAKE, 0);
}

/* A short job goes to those who spin. What it loses when they sleep is added up, and when that is
 * what waking them costs, they are woken for the calls to come. Woken in vain, because there is no
 * core for them, they are left alone for twice as long. */
int xg_crew_run_parts(int n, double ns, xg_team_body *body, void *ctx)
{
  if (ns >= wake_ns) return run(n, body, ctx, WAKE, 1);
  const int given = run(n, body, ctx, SPINNING_ONLY, 1);
  if (given == n) return given;
  self.missed += ns * (n - given) / n;
  if (self.missed < wake_ns * (1 << self.in_vain)) return given;
  self.missed = 0;
  self.in_vain += self.in_vain < IN_VAIN;
  rouse(n - given);
  return given;
}

void xg_crew_set_mask(uint64_t mask)
{
  self.mask = mask;
}

void xg_crew_after_fork(void)
{
  for (int i = 0; i < atomic_load(&slots_used); i++) atomic_store(&slots[i].word, GONE);
  atomic_store(&slots_used, 0);
  self.patience = 0;
}

/* ---------------------------------------------------------------- can threads be had? */

struct hand {
  pthread_t thread;
  pid_t tid;
};

static void *come_and_go(void *argument)
{
  ((struct hand *)argument)->tid = (pid_t)syscall(SYS_gettid);
  return NULL;
}

/* pthread_join() returns before the kernel has forgotten a thread; until then it counts against a
 * limit. */
static int forgotten(pid_t tid)
{
  int tries = 2000;
  while (syscall(SYS_tgkill, getpid(), tid, 0) == 0 && --tries > 0) sched_yield();
  return tries > 0;
}

int xg_crew_probe(int n)
{
  struct hand *hands = xg_alloc((size_t)n * sizeof *hands);
  int made = 0, all_gone = 1;
  while (hands != NULL && made < n && create(&hands[made].thread, come_and_go, &hands[made]))
    made++;
  for (int i = 0; i < made; i++) pthread_join(hands[i].thread, NULL);
  for (int i = 0; i < made; i++) all_gone &= forgotten(hands[i].tid);
  xg_free(hands);
  return made == n && all_gone;
}
