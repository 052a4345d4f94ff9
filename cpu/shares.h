/* Parts of a product that threads take: each its own share first, which lie one after the other,
 * then what is left of the others', who may be late or have lost their core. */
#ifndef XG_SHARES_H
#define XG_SHARES_H

#include <stdatomic.h>
#include <stdint.h>

#include "loops_common.h"

struct xg_taken { /* parts of a thread's share, by itself or by others; starts at zero */
  _Alignas(64) atomic_llong parts;
};

/* The next part for thread id, `count` when none is left. */
static inline int64_t xg_take(struct xg_taken *taken, int64_t count, int id, int threads)
{
  for (int t = 0; t < threads; t++) {
    const int who = (id + t) % threads;
    const int64_t part = xg_share(count, who, threads) +
                         atomic_fetch_add_explicit(&taken[who].parts, 1, memory_order_relaxed);
    if (part < xg_share(count, who + 1, threads)) return part;
  }
  return count;
}

#endif
