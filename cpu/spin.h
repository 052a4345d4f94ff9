/* Waiting for a word to change: spin a little, then let the caller sleep. */
#ifndef XG_SPIN_H
#define XG_SPIN_H

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* How long it is better to spin than to sleep: team.c knows how crowded the cores are. */
int64_t xg_team_spin_ns(void);

static inline int64_t xg_now_ns(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Whether to look once more; *until is 0 before the first time. The clock takes some 25 ns to read,
 * which is all the pause there is. The instruction of that name tells a virtual machine's host that
 * this CPU is idle, and a host that has others to run takes it away for milliseconds: on a 16-core
 * Xeon 512 x 512 x 128 took 4 ms instead of 0.1. */
static inline int xg_spins_on(int64_t *until)
{
  const int64_t now = xg_now_ns();
  if (*until == 0) *until = now + xg_team_spin_ns();
  return now < *until;
}

/* The same within a call, where what is waited for will come: goes on for milliseconds, but offers
 * the core to others each time. Who sleeps may be woken on the core of who wakes: the kernel takes
 * a virtual CPU that is halted for one that the host has taken away, and lets two threads share a
 * core beside an idle one. */
static inline int xg_lingers(int64_t *until)
{
  enum { LINGER_NS = 3000000 };
  const int64_t now = xg_now_ns();
  if (*until == 0) *until = now + xg_team_spin_ns();
  if (now >= *until) sched_yield();
  return now < *until + LINGER_NS;
}

static inline void xg_futex_wait(void *word, uint32_t value)
{
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static inline void xg_futex_wake_all(void *word)
{
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

#endif
