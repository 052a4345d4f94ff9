/* Worker threads of our own. Each has a slot, a cache line with one word that says all:
 *
 *     GONE -> MAKING -> IDLE (spinning) <-> ASLEEP or MOVING, or an offer -> taken -> IDLE
 *
 * An offer is the address of a job and the number of a part in one word, so a caller gets a worker
 * to work by one compare-and-swap. What counts is how often a cache line changes cores, 40 ns where
 * they share an L3 and 180 ns where they don't on a Zen 4: once for the offer, once for the job
 * with all that small products need to know, once for the word that says it is done. A region of
 * GNU libgomp takes 0.55 us where the L3 is shared, and 7 ms where the kernel has put both threads
 * on one core, as it does when the other is busy: there the one who waits spins for so long.
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
#include <string.h>
#include <sys/types.h>
#include <time.h>

#include "../common/alloc.h"
#include "spin.h"

enum { SLOTS = 1024, LINE = 64 };

/* States of a slot's word; anything larger is an offer: a job, a part, and what has become of it.
 */
enum { GONE, MAKING, IDLE, MOVING, ASLEEP, LAST_STATE = ASLEEP };
enum { PARTS = 256, AWAITED = 256, TAKEN = 512, JOB_ALIGN = 1024, COPY = 320 };

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

/* Aligned so that its address leaves room for the rest of an offer. It lies on the caller's stack:
 * no worker may touch it once its part is done. */
struct job {
  _Alignas(JOB_ALIGN) atomic_int given; /* 0 until all who serve have been asked */
  int cpu;                              /* the caller's */
  xg_team_body *body;
  void *ctx;
  struct rounding rounding;
  _Alignas(LINE) char copy[COPY];
};

/* Nothing lies beside the word that the other side reads or writes. */
static struct slot {
  _Alignas(LINE) atomic_uintptr_t word;
  _Alignas(LINE) atomic_uint_least64_t mask; /* the worker's affinity, written once */
  atomic_int callers_cpu;                    /* as far as the worker knows */
  int64_t moved_ms;                          /* the worker's own */
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

static void note_caller(struct slot *s, int cpu)
{
  if (atomic_load_explicit(&s->callers_cpu, memory_order_relaxed) != cpu)
    atomic_store_explicit(&s->callers_cpu, cpu, memory_order_relaxed);
}

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

/* A compare-and-swap that changes nothing: it brings the cache line here to be written, a load
 * would bring it to be read, and to take the offer it would have to travel again. */
static uintptr_t offer_in(struct slot *s)
{
  uintptr_t word = GONE;
  atomic_compare_exchange_strong(&s->word, &word, GONE);
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
  if (!atomic_compare_exchange_strong(&s->word, &idle, MOVING)) return 0;
  s->moved_ms = ms;
  if (create_worker(s)) return 1;
  uintptr_t moving = MOVING; /* or an offer: it is still for us */
  atomic_compare_exchange_strong(&s->word, &moving, IDLE);
  return 0;
}

/* The same for who has been woken with an offer, which goes along. */
static int handed_over(struct slot *s, uintptr_t word)
{
  return word > LAST_STATE && beside_caller(s) && create_worker(s);
}

/* 0: this thread is to end. On its caller's CPU spinning would only keep that one from its work. */
static uintptr_t next_offer(struct slot *s)
{
  for (;;) {
    uintptr_t word = offer_in(s);
    if (!word && beside_caller(s) && moved(s)) return 0;
    for (int i = 0; i < YIELDS && !word && beside_caller(s); i++, word = offer_in(s)) sched_yield();
    if (!beside_caller(s))
      for (int64_t until = 0; !word && xg_spins_on(&until);) word = offer_in(s);
    if (word) return word;
    uintptr_t idle = IDLE;
    if (!atomic_compare_exchange_strong(&s->word, &idle, ASLEEP)) continue;
    while ((word = atomic_load(&s->word)) == ASLEEP) xg_futex_wait(futex_of(s), ASLEEP);
    if (handed_over(s, word)) return 0;
  }
}

static uintptr_t offer_of(const struct job *j, int id)
{
  return (uintptr_t)j + (uintptr_t)id;
}

static struct job *job_of(uintptr_t word)
{
  return (struct job *)(word / JOB_ALIGN * JOB_ALIGN); /* NOLINT(performance-no-int-to-ptr) */
}

/* All lines of a job at once, not one after another as they are met. */
static void fetch(const struct job *j)
{
  for (size_t i = 0; i < offsetof(struct job, copy) + COPY; i += LINE)
    __builtin_prefetch((const char *)j + i);
}

/* Soon known, unless the caller is creating more workers: then it needs the core. */
static int given_by(const struct job *j)
{
  enum { SOON = 100 };
  int given;
  for (int i = 0; (given = atomic_load_explicit(&j->given, memory_order_acquire)) == 0; i++)
    if (i >= SOON) sched_yield();
  return given;
}

static void *worker_main(void *argument)
{
  struct slot *s = argument;
  uintptr_t making = MAKING, moving = MOVING, offer;
  if (!atomic_compare_exchange_strong(&s->word, &making, IDLE)) /* else it begins with an offer */
    atomic_compare_exchange_strong(&s->word, &moving, IDLE);
  while ((offer = next_offer(s)) != 0) {
    struct job *j = job_of(offer);
    fetch(j);
    if (!atomic_compare_exchange_strong(&s->word, &offer, offer | TAKEN)) continue; /* withdrawn */
    set_rounding(&j->rounding);
    note_caller(s, j->cpu);
    j->body((int)(offer % PARTS), given_by(j), j->ctx);
    if (atomic_exchange(&s->word, IDLE) & AWAITED) xg_futex_wake_all(futex_of(s));
  }
  return NULL;
}

/* ---------------------------------------------------------------- finding workers */

/* How far a caller goes to get them. */
enum effort { SPINNING_ONLY, WAKE };

static int is_ours(struct slot *s)
{
  return atomic_load_explicit(&s->mask, memory_order_relaxed) == self.mask;
}

/* 0: not to be had, 1: it spins, 2: it has been woken. */
static int offer(struct slot *s, uintptr_t word, enum effort effort)
{
  uintptr_t state = IDLE;
  if (!is_ours(s)) return 0;
  if (atomic_compare_exchange_strong(&s->word, &state, word)) return 1;
  if ((state != ASLEEP && state != MOVING) || effort == SPINNING_ONLY) return 0;
  const int asleep = state == ASLEEP;
  if (asleep) note_caller(s, sched_getcpu());
  if (!atomic_compare_exchange_strong(&s->word, &state, word)) return 0;
  if (asleep) xg_futex_wake_all(futex_of(s));
  return 1 + asleep;
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
    atomic_store(&s->mask, self.mask);
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
  int id = 1, at = self.first < used ? self.first : 0, woken = 0;
  for (int i = 0; i < used && id < n; i++, at = at + 1 < used ? at + 1 : 0) {
    const int placed = offer(&slots[at], offer_of(j, id), effort);
    if (!placed) continue;
    if (id == 1) self.first = at;
    who[id++] = &slots[at];
    woken |= placed > 1;
  }
  if (woken) sched_yield(); /* to those who woke up on this core */
  if (id == n || effort == SPINNING_ONLY) return id;
  if (self.patience > 0) {
    self.patience--;
    return id;
  }
  for (; id < n; id++)
    if ((who[id] = hire(offer_of(j, id))) == NULL) {
      self.patience = PATIENCE;
      break;
    }
  return id;
}

static int is_coming(struct slot *s)
{
  const uintptr_t word = atomic_load(&s->word);
  return is_ours(s) && (word == IDLE || word == MAKING || word == MOVING);
}

/* For the calls to come. */
static void rouse(int n)
{
  const int used = atomic_load(&slots_used);
  for (int i = 0; i < used && n > 0; i++)
    n -= is_coming(&slots[i]) || offer(&slots[i], IDLE, WAKE) > 0;
  if (n <= 0 || self.patience-- > 0) return;
  for (self.patience = 0; n > 0 && hire(MAKING) != NULL; n--) continue;
  if (n > 0) self.patience = PATIENCE;
}

/* ---------------------------------------------------------------- a job */

static int withdraw(struct slot *s, uintptr_t offer)
{
  uintptr_t word = offer;
  return atomic_load_explicit(&s->word, memory_order_acquire) == offer &&
         atomic_compare_exchange_strong(&s->word, &word, IDLE);
}

static int is_open(uintptr_t word, uintptr_t offer)
{
  return (word & ~(uintptr_t)(TAKEN | AWAITED)) == offer;
}

static void await(struct slot *s, uintptr_t offer)
{
  uintptr_t word = offer;
  int64_t until = 0;
  do {
    word = atomic_load_explicit(&s->word, memory_order_acquire);
    if (!is_open(word, offer)) return;
  } while (xg_lingers(&until));
  while (is_open(word, offer))
    if (word & AWAITED || atomic_compare_exchange_strong(&s->word, &word, word | AWAITED)) {
      xg_futex_wait(futex_of(s), (uint32_t)(word | AWAITED));
      word = atomic_load(&s->word);
    }
}

/* The workers of one job. */
struct staff {
  struct slot *few[16], **who; /* by part */
};

static int summon(struct staff *staff, int n)
{
  enum { FEW = sizeof staff->few / sizeof *staff->few };
  if (n > PARTS) n = PARTS;
  staff->who = n <= FEW ? staff->few : xg_alloc((size_t)n * sizeof *staff->who);
  return staff->who ? n : 1;
}

static void dismiss(struct staff *staff)
{
  if (staff->who != staff->few) xg_free(staff->who);
}

int xg_crew_run(int n, xg_team_body *body, void *ctx)
{
  struct staff staff;
  struct job j = {.cpu = sched_getcpu(), .body = body, .ctx = ctx};
  get_rounding(&j.rounding);
  n = summon(&staff, n);
  const int given = place(&j, n, WAKE, staff.who);
  atomic_store_explicit(&j.given, given, memory_order_release);
  body(0, given, ctx);
  for (int id = 1; id < given; id++) await(staff.who[id], offer_of(&j, id));
  dismiss(&staff);
  return given;
}

/* Returns how many parts workers have done. */
static int run_parts(int n, xg_team_body *body, void *ctx, size_t bytes, enum effort effort)
{
  struct staff staff;
  struct job j;
  j.cpu = sched_getcpu(), j.body = body, j.ctx = ctx;
  if (bytes > 0 && bytes <= COPY) j.ctx = memcpy(j.copy, ctx, bytes);
  get_rounding(&j.rounding);
  n = summon(&staff, n);
  atomic_init(&j.given, n);
  const int placed = place(&j, n, effort, staff.who);
  const int given = placed == 1 ? 1 : n;
  int done = 0;
  body(0, given, ctx);
  for (int id = placed; id < given; id++) body(id, given, ctx);
  for (int id = 1; id < placed; id++)
    if (withdraw(staff.who[id], offer_of(&j, id)))
      body(id, given, ctx);
    else
      done++, await(staff.who[id], offer_of(&j, id));
  dismiss(&staff);
  return done;
}

/* A short job goes to those who spin. What it loses when they sleep is added up, and when that is
 * what waking them costs, they are woken for the calls to come. Woken in vain, because there is no
 * core for them, they are left alone for twice as long. */
void xg_crew_run_parts(int n, double ns, xg_team_body *body, void *ctx, size_t bytes)
{
  const int done = run_parts(n, body, ctx, bytes, ns < wake_ns ? SPINNING_ONLY : WAKE);
  if (done == n - 1) self.in_vain = 0;
  if (done == n - 1 || ns >= wake_ns) return;
  self.missed += ns * (n - 1 - done) / n;
  if (self.missed < wake_ns * (1 << self.in_vain)) return;
  self.missed = 0;
  self.in_vain += self.in_vain < IN_VAIN;
  rouse(n - 1 - done);
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
