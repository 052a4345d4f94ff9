/* Decisions remembered by shape: bounded, lock-free for readers and writers. */
#ifndef XG_PLAN_CACHE_H
#define XG_PLAN_CACHE_H

#include "backend.h"

/* 1 and *out filled if this problem was decided before. */
int xg_plan_cache_get(const struct xg_problem *p, const struct xg_request *r,
                      struct xg_choice *out);
void xg_plan_cache_put(const struct xg_problem *p, const struct xg_request *r,
                       const struct xg_choice *choice);

#endif
