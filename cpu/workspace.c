#include "workspace.h"

#include <stdatomic.h>

#include "../common/alloc.h"

enum { SLOTS = 32, LINE = 64 };

/* `memory` belongs to whoever holds `busy`; `bytes` may be read by all as a hint. */
struct slot {
  _Alignas(LINE) atomic_int busy;
  atomic_size_t bytes;
  void *memory;
};

static struct slot slots[SLOTS];

static int seize(struct slot *s)
{
  int expected = 0;
  return atomic_compare_exchange_strong_explicit(&s->busy, &expected, 1, memory_order_acquire,
                                                 memory_order_relaxed);
}

static void let_go(struct slot *s)
{
  atomic_store_explicit(&s->busy, 0, memory_order_release);
}

static size_t bytes_of(struct slot *s)
{
  return atomic_load_explicit(&s->bytes, memory_order_relaxed);
}

static void empty(struct slot *s)
{
  xg_free(s->memory);
  s->memory = NULL;
  atomic_store_explicit(&s->bytes, 0, memory_order_relaxed);
}

static int refill(struct slot *s, size_t bytes)
{
  empty(s);
  s->memory = xg_alloc(bytes);
  if (!s->memory) return -1;
  atomic_store_explicit(&s->bytes, bytes, memory_order_relaxed);
  return 0;
}

int xg_workspace_take(struct xg_workspace *w, size_t bytes)
{
  for (int i = 0; i < SLOTS; i++) {
    struct slot *s = &slots[i];
    if (bytes_of(s) < bytes || !seize(s)) continue;
    if (bytes_of(s) >= bytes) {
      *w = (struct xg_workspace){s->memory, i};
      return 0;
    }
    let_go(s);
  }
  for (int i = 0; i < SLOTS; i++) {
    struct slot *s = &slots[i];
    if (!seize(s)) continue;
    if (refill(s, bytes) == 0) {
      *w = (struct xg_workspace){s->memory, i};
      return 0;
    }
    let_go(s);
    return -1;
  }
  *w = (struct xg_workspace){xg_alloc(bytes), -1};
  return w->memory ? 0 : -1;
}

void xg_workspace_give(struct xg_workspace *w)
{
  if (w->slot >= 0)
    let_go(&slots[w->slot]);
  else
    xg_free(w->memory);
  w->memory = NULL;
}

void xg_workspace_release_all(void)
{
  for (int i = 0; i < SLOTS; i++) {
    struct slot *s = &slots[i];
    if (!seize(s)) continue;
    empty(s);
    let_go(s);
  }
}
