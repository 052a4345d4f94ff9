#include "alloc.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { LINE = 64, HUGE_PAGE = 2 << 20 };

static atomic_long fail_at; /* 0: never, n: the n-th from now, -1: every one from now on */
static atomic_int fail_repeat;

void xg_alloc_fail_at(long n, int repeat)
{
  atomic_store(&fail_repeat, repeat);
  atomic_store(&fail_at, n);
}

static int must_fail(void)
{
  long n = atomic_load_explicit(&fail_at, memory_order_relaxed);
  if (n == 0) return 0;
  if (n < 0) return 1;
  if (atomic_fetch_sub(&fail_at, 1) != 1) return 0;
  if (atomic_load(&fail_repeat)) atomic_store(&fail_at, -1);
  return 1;
}

void *xg_alloc(size_t bytes)
{
  if (must_fail() || bytes > PTRDIFF_MAX - HUGE_PAGE) return NULL;
  size_t align = bytes >= HUGE_PAGE ? HUGE_PAGE : LINE;
  size_t rounded = (bytes + align - 1) / align * align; /* the last page is to be a huge one too */
  void *pointer = aligned_alloc(align, rounded);
#ifdef MADV_HUGEPAGE
  if (pointer && align == HUGE_PAGE) madvise(pointer, rounded, MADV_HUGEPAGE);
#endif
  return pointer;
}

void xg_free(void *pointer)
{
  free(pointer);
}
