/* Slivers of a packed panel that several threads fill and use, again and again: who is to wait for
 * whom. A sliver may be used for the g-th time (g = 1, 2, ...) once it has been filled g times, and
 * filled for the g-th time once all its users have used it g-1 times. So threads wait for the very
 * sliver they need, not for each other: one that is ahead by half a panel loses nothing. */
#ifndef XG_TURNS_H
#define XG_TURNS_H

#include <stdatomic.h>

#include "team.h"

/* All-zero is the start. */
struct xg_turns {
  _Alignas(64) atomic_int filled, used;
};

static inline void xg_await_free(struct xg_turns *t, int turn, int users)
{
  xg_team_await(&t->used, (turn - 1) * users);
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
