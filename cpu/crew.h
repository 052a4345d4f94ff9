/* Worker threads of our own, kept from call to call. team.c says when they are used. */
#ifndef XG_CREW_H
#define XG_CREW_H

#include <stddef.h>
#include <stdint.h>

typedef void xg_team_body(int id, int given, void *ctx);

/* Runs body on up to n threads, the caller being id 0; returns how many there were. Workers are
 * woken, and created where there are too few. */
int xg_crew_run(int n, xg_team_body *body, void *ctx);

/* The same for n parts that need not run at the same time, which take `ns` nanoseconds on one
 * thread: nobody is waited for who has not begun, the caller does that part itself, and a short job
 * does not wait for workers to be woken. bytes > 0: workers may be given a copy of that many bytes
 * of *ctx, which is quicker for a few hundred. */
void xg_crew_run_parts(int n, double ns, xg_team_body *body, void *ctx, size_t bytes);

/* Whether n more threads can be had at the moment: creates them and lets them end. */
int xg_crew_probe(int n);

/* The calling thread's affinity mask, as a number. Workers inherit that of whoever creates them,
 * and serve only callers who have the same. */
void xg_crew_set_mask(uint64_t mask);

/* In a forked child: no worker has come along. */
void xg_crew_after_fork(void);

#endif
