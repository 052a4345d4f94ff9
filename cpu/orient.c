/* Which of C and C^T is computed. */
#include "grid.h"
#include "loops.h"

int xg_orient(const struct xg_problem *p, struct xg_problem *oriented)
{
  const int transpose = xg_is_better_transposed(p);
  *oriented = transpose ? xg_problem_transposed(p) : *p;
  if (oriented->n == 1) oriented->c.cs = 1;
  return transpose;
}

/* What a kernel computes for a row of n elements: whole vectors, half ones at the end if it has
 * them, or whole tiles if it does not mask. */
static double computed(const struct xg_ukr *u, int64_t n)
{
  const int64_t step = xg_grid_step(u) / (u->flags & XG_UKR_HALVES ? 2 : 1);
  return (double)((n + step - 1) / step * step);
}

/* Steps of a lane that C = A B takes. A B whose rows do not run through memory is turned when it is
 * packed, which costs as much as TURN steps for an element. */
static double work(const struct xg_ukr *u, const struct xg_problem *p, double k)
{
  enum { TURN = 6 };
  const double turns = p->b.cs == 1 ? 0 : TURN * (double)p->n * k;
  return (double)p->m * computed(u, p->n) * k + turns;
}

/* A turned C is written element by element, once for each KC steps of k; that costs as much as MOVE
 * steps of a lane (4 cycles for f32 and 8 for f64 where 64 bytes of FMA results are made a cycle).
 */
int xg_orient_panel(const struct xg_ukr *u, int64_t kc, struct xg_problem *oriented)
{
  enum { MOVE = 64 };
  const struct xg_problem turned = xg_problem_transposed(oriented);
  const double k = (double)kc, move = MOVE * (double)turned.m * (double)turned.n;
  if (work(u, &turned, k) + move >= work(u, oriented, k)) return 0;
  *oriented = turned;
  return 1;
}
