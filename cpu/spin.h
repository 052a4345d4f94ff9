/* Waiting for a word to change: spin a little, then let the caller sleep. */
#ifndef XG_SPIN_H
#define XG_SPIN_H

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* About 30 to 100 microseconds on today's CPUs: longer than the threads of a team are apart,
 * shorter than anyone would notice. With more threads than cores the one waited for may need ours.
 */
enum { XG_SPINS = 2000, XG_SPINS_IF_CROWDED = 20 };

/* How many spins before it is better to sleep: team.c knows how crowded the cores are. */
int xg_team_spins(void);

static inline void xg_pause_cpu(void)
{
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
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
