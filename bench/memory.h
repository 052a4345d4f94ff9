/* Memory of a chosen page size, and how fast it can be read and written: the other ceiling. */
#ifndef XGB_MEMORY_H
#define XGB_MEMORY_H

#include <stddef.h>

#include "case.h"

/* DEFAULT: as the library's own buffers. The others are advice to the kernel (madvise), which
 * follows it where transparent huge pages are "always" or "madvise". */
enum xgb_pages { XGB_PAGES_DEFAULT, XGB_PAGES_4K, XGB_PAGES_HUGE };
const char *xgb_pages_name(enum xgb_pages pages);

/* Not initialised (where the kernel gives it, zero); NULL if it cannot be had. */
void *xgb_pages_alloc(size_t bytes, enum xgb_pages pages);
void xgb_pages_free(void *pointer, size_t bytes, enum xgb_pages pages);

/* READ: sums, the better of one and four streams a thread. WRITE: non-temporal stores. UPDATE: adds
 * 1 in place, both directions counted. */
enum xgb_traffic { XGB_READ, XGB_WRITE, XGB_UPDATE };

/* Bytes/s of `threads` threads over 256 MiB, or three last caches, on such pages, the quickest of
 * five rounds; 0 if it cannot be measured. Measured once for each combination, until it is
 * forgotten: rows that are judged by it have their own, because other machines on the same host
 * come and go. */
double xgb_memory_rate(enum xgb_traffic traffic, int threads, enum xgb_pages pages);
void xgb_memory_forget(void);

/* The bound of a product on the CPU: the lesser of the FMA peak and, for operands that together
 * exceed the last cache, of what memory allows. A, B and C go by once, C twice if beta is not 0.
 * The rate is that of reads; where C is more than A and B together, that of non-temporal writes
 * (beta = 0) or of updates. */
struct xgb_bound {
  double flops;   /* per second, 0: unknown */
  double bytes;   /* of the operands */
  double rate;    /* bytes/s of the memory, 0: they fit the last cache */
  const char *by; /* "fma", "read", "write" or "update" */
};
struct xgb_bound xgb_cpu_bound(const struct xgb_case *c, int threads, double peak,
                               enum xgb_pages pages);

#endif
