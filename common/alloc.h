/* Aligned host memory whose failure can be injected by the tests. */
#ifndef XG_ALLOC_H
#define XG_ALLOC_H

#include <stddef.h>

/* 64-byte aligned (2 MiB and madvised for huge pages from 2 MiB on); NULL if it cannot be had. */
void *xg_alloc(size_t bytes);
void xg_free(void *pointer);

/* Tests: the n-th allocation from now fails, and `repeat` says whether all after it do too; 0:
 * none. */
void xg_alloc_fail_at(long n, int repeat);

#endif
