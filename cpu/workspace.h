/* Packing buffers, kept from call to call so that repeated calls neither allocate nor fault pages
 * in. */
#ifndef XG_WORKSPACE_H
#define XG_WORKSPACE_H

#include <stddef.h>

struct xg_workspace {
  void *memory; /* 64-byte aligned */
  int slot;     /* where it is kept, -1: nowhere */
};

/* 0, or -1 if the memory cannot be had. Lock-free: two atomic operations when a kept buffer serves.
 */
int xg_workspace_take(struct xg_workspace *w, size_t bytes);
void xg_workspace_give(struct xg_workspace *w);

/* Frees every kept buffer that no call is using. */
void xg_workspace_release_all(void);

#endif
