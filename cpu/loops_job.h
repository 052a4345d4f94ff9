/* What the threads of one product have in common. */
#ifndef XG_LOOPS_JOB_H
#define XG_LOOPS_JOB_H

#include <stdatomic.h>

#include "grid.h"
#include "loops.h"
#include "loops_common.h"
#include "shares.h"
#include "turns.h"

enum { XG_PANELS = 2 /* of packed B, where threads share them */ };

struct xg_loops_job { /* shared by the threads of one product */
  const struct xg_problem *p;
  const struct xg_ukr *u, *packer;
  struct xg_blocks blocks;
  union scalar alpha, beta, one;
  int64_t e; /* bytes of an element */
  int a_in_place;
  int b_stays_near; /* all of B meets MR rows of A while they are in L1 */
  int threads;
  struct xg_grid grid;
  char *b_panel, *a_blocks;
  size_t a_block_bytes;
  struct xg_turns *turns; /* of each sliver of the packed panels */
  struct xg_taken *taken; /* parts, of each column of the grid */
  atomic_int *done;       /* how far each part of rows is, in steps of KC */
};

struct xg_grid xg_loops_grid(const struct xg_loops_job *j, int threads);

/* Whether the first tile of a sliver can pack it while it computes: rows of B run through memory.
 */
static inline int xg_packs_by_tiles(const struct xg_loops_job *j)
{
  return j->u->packing && j->p->b.cs == 1;
}

/* A thread's work: for xg_team_run(). */
void xg_loops_body(int id, int threads, void *job);

#endif
