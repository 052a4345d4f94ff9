/* Prefetching by the way: a piece of an operand that is packed or read soon, fetched into L2 a few
 * lines at a time by the kernel calls before. */
#ifndef XG_ERRAND_H
#define XG_ERRAND_H

#include <stddef.h>
#include <stdint.h>

#include "ukr.h"

/* What is left of it. It is as wide as `groups` lines, or as 8 `groups` runs along k. */
struct xg_errand {
  struct xg_fetch fetch;
  int64_t step, groups;
};

enum { XG_ERRANDS = 2 };

/* What the next kernel call is to fetch; the first errand with groups left comes first. */
static inline struct xg_fetch xg_next_fetch(struct xg_errand *e)
{
  for (int i = 0; i < XG_ERRANDS; i++, e++) {
    if (e->groups <= 0) continue;
    const struct xg_fetch f = e->fetch;
    e->fetch.at = (const char *)e->fetch.at + e->step;
    e->groups--;
    return f;
  }
  return (struct xg_fetch){NULL, 0, 0};
}

/* Elements (i,p) of e bytes, 0 <= i < rows, at src + i*is + p*ps. */
static inline struct xg_errand xg_errand_for(int64_t e, const char *src, int64_t rows, int64_t is,
                                             int64_t ps)
{
  enum { LINE = 64, RUNS = 8 };
  if (is == 1)
    return (struct xg_errand){
        {src, ps * e, RUNS * ps * e}, LINE, ((intptr_t)src % LINE + rows * e + LINE - 1) / LINE};
  if (ps == 1)
    return (struct xg_errand){{src, is * e, RUNS * e}, RUNS * is * e, (rows + RUNS - 1) / RUNS};
  return (struct xg_errand){.groups = 0};
}

#endif
