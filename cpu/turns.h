/* Slivers of a packed panel that several threads fill and use, again and again: who is to wait for
 * whom. A sliver may be used for the g-th time (g = 1, 2, ...) once it has been filled g times, and
 * filled for the g-th time once all its users have used it g-1 times. So threads wait for the very
 * sliver they need, not for each other: one that is ahead by half a panel loses nothing. Whoever
 * comes first fills it. */
#ifndef XG_TURNS_H
#define XG_TURNS_H

#include <stdatomic.h>

#include "team.h"

/* All-zero is the start. */
struct xg_turns {
  _Alignas(64) atomic_int taken, filled, used;
};

/* Whether nobody has begun to fill it for this turn. */
static inline int xg_is_untaken(struct xg_turns *t, int turn)
{
  return atomic_load_explicit(&t->taken, memory_order_relaxed) < turn;
}

/* Whether it is the caller who fills it for this turn. */
static inline int xg_take_to_fill(struct xg_turns *t, int turn)
{
  int before = turn - 1;
  return xg_is_untaken(t, turn) &&
         atomic_compare_exchange_strong_explicit(&t->taken, &before, turn, memory_order_relaxed,
                                                 memory_order_relaxed);
}

static inline void xg_await_free(struct xg_turns *t, int turn, int users)
{
  xg_team_await(&t->used, (turn - 1) * users);
}

static inline int xg_is_filled(struct xg_turns *t, int turn)
{
  return atomic_load_explicit(&t->filled, memory_order_relaxed) >= turn;
}

static inline void xg_await_filled(struct xg_turns *t, int turn)
{
  xg_team_await(&t->filled, turn);
}

static inline void xg_note_filled(struct xg_turns *t)
{
  atomic_fetch_add_explicit(&t->filled, 1, memory_order_release);
}

static inline void xg_note_used(struct xg_turns *t)
{
  atomic_fetch_add_explicit(&t->used, 1, memory_order_release);
}

#endif
