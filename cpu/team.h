/* The threads of one call.
 *
 *     int n = xg_team_acquire(request->threads, useful);
 *     xg_team_run(n, body, &ctx);       body(id, given, ctx) runs on `given` threads,
 *     xg_team_release(n);                   1 <= given <= n
 *
 * team.c is the only file that knows OpenMP. It never binds a thread or changes an affinity mask,
 * and never lets the OpenMP runtime try to create a thread that cannot be had. The threads are our
 * own, spinning for some 50 us after a call; OpenMP's where it binds threads. */
#ifndef XG_TEAM_H
#define XG_TEAM_H

#include <stdatomic.h>
#include <stddef.h>

/* How many threads this call gets, >= 1, never more than `useful`.
 * explicit_threads > 0 is the caller's own number: taken as it is, up to a sane limit.
 * explicit_threads = 0: the default (XGEMM_NUM_THREADS, else omp_get_max_threads(); at most the
 * cores of the affinity mask, looked at once a clock tick, and the cgroup quota), less the cores
 * that other calls in this process use at the moment; 1 inside an OpenMP parallel region. Either
 * way fewer if the system refuses to create more. */
int xg_team_acquire(int explicit_threads, int useful);

/* Gives back what xg_team_acquire() returned. */
void xg_team_release(int n);

/* The default count without regard to what is in use: what `xgemm info` and predictions show. */
int xg_team_default(void);

/* Runs body on n threads, the caller being id 0, and returns when all are done. Should the runtime
 * give fewer (OMP_THREAD_LIMIT), every participant is told the number really given as its second
 * argument: divide the work by that one, never by n. Workers run with the caller's floating-point
 * environment. */
void xg_team_run(int n, void (*body)(int id, int given, void *ctx), void *ctx);

/* The same for parts that need not run at the same time (no barrier in body), all of which take
 * about `ns` nanoseconds on one thread. A thread may run several parts, one after another: whoever
 * has not begun when the caller is done with its own is not waited for. bytes > 0: threads may be
 * given a copy of that many bytes of *ctx, which saves them the way to the caller's cache. */
void xg_team_run_parts(int n, double ns, void (*body)(int id, int given, void *ctx), void *ctx,
                       size_t bytes);

/* Waits until *word is at least `value`, which another thread of the team sees to. Spins and
 * lingers; after that it looks only now and then. */
void xg_team_await(atomic_int *word, int value);

/* A barrier for the threads of a team or a part of one. All-zero is a valid start for
 * xg_barrier_wait_n(); xg_barrier_init() stores n for xg_barrier_wait(). Spins briefly, then
 * sleeps. */
struct xg_barrier {
  _Alignas(64) atomic_int arrived;
  int n;
  _Alignas(64) atomic_int generation;
  atomic_int sleepers;
};

void xg_barrier_init(struct xg_barrier *b, int n);
void xg_barrier_wait(struct xg_barrier *b);
/* The same with the count given by each caller, who must agree on it: for barriers laid out before
 * the number of participants is known. */
void xg_barrier_wait_n(struct xg_barrier *b, int n);

#endif
