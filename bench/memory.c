#include "memory.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "../common/alloc.h"
#include "machine.h"
#include "peaks.h"

/* ---------------------------------------------------------------- pages */

enum { HUGE_PAGE = 2 << 20 };

const char *xgb_pages_name(enum xgb_pages pages)
{
  static const char *const names[] = {"default", "4k", "huge"};
  return names[pages];
}

static size_t whole_pages(size_t bytes)
{
  return (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
}

void *xgb_pages_alloc(size_t bytes, enum xgb_pages pages)
{
  if (pages == XGB_PAGES_DEFAULT) return xg_alloc(bytes);
  size_t size = whole_pages(bytes + !bytes);
  char *all =
      mmap(NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) return NULL;
  size_t before = whole_pages((uintptr_t)all) - (uintptr_t)all, after = HUGE_PAGE - before;
  if (before > 0) munmap(all, before);
  if (after > 0) munmap(all + before + size, after);
  madvise(all + before, size, pages == XGB_PAGES_HUGE ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  return all + before;
}

void xgb_pages_free(void *pointer, size_t bytes, enum xgb_pages pages)
{
  if (pages == XGB_PAGES_DEFAULT)
    xg_free(pointer);
  else if (pointer)
    munmap(pointer, whole_pages(bytes + !bytes));
}

/* ---------------------------------------------------------------- rates */

typedef uint64_t vector __attribute__((vector_size(32)));
enum { STREAMS = 4 };

struct work {
  unsigned char *buffer;
  size_t share; /* bytes of one thread, a multiple of STREAMS * 256 */
  int streams;
  atomic_ullong sink;
};

static void do_read(void *context, int index)
{
  struct work *w = context;
  size_t step = w->share / (size_t)w->streams / sizeof(vector);
  const vector *p = (const vector *)(w->buffer + w->share * (size_t)index);
  vector sum[8];
  memset(sum, 0, sizeof sum);
  for (size_t i = 0; i < step; i += 8)
    for (int s = 0; s < w->streams; s++)
      for (int j = 0; j < 8; j++) sum[j] += p[i + (size_t)s * step + (size_t)j];
  for (int j = 1; j < 8; j++) sum[0] += sum[j];
  atomic_fetch_add(&w->sink, sum[0][0] + sum[0][1] + sum[0][2] + sum[0][3]);
}

static void do_write(void *context, int index)
{
  struct work *w = context;
  unsigned char *p = w->buffer + w->share * (size_t)index;
#ifdef __x86_64__
  for (size_t i = 0; i < w->share; i += 64)
    __asm__ volatile("movntps %%xmm0, (%0)\n\tmovntps %%xmm0, 16(%0)\n\t"
                     "movntps %%xmm0, 32(%0)\n\tmovntps %%xmm0, 48(%0)"
                     :
                     : "r"(p + i)
                     : "memory");
  __asm__ volatile("sfence" ::: "memory");
#else
  memset(p, 1, w->share);
#endif
}

static void do_update(void *context, int index)
{
  struct work *w = context;
  vector *p = (vector *)(w->buffer + w->share * (size_t)index);
  for (size_t i = 0; i < w->share / sizeof *p; i++) p[i] += 1;
}

static double measure(enum xgb_traffic traffic, int threads, enum xgb_pages pages)
{
  static void (*const loops[])(void *, int) = {do_read, do_write, do_update};
  size_t bytes = (size_t)256 << 20, caches = 3 * (size_t)xgb_last_cache();
  if (caches > bytes) bytes = whole_pages(caches);
  struct work w = {.share = bytes / (size_t)threads / (STREAMS * 256) * (STREAMS * 256)};
  double best = 0;
  if (!(w.buffer = xgb_pages_alloc(bytes, pages))) return 0;
  memset(w.buffer, 1, bytes);
  for (w.streams = 1; w.streams <= (traffic == XGB_READ ? STREAMS : 1); w.streams *= STREAMS) {
    double seconds = xgb_quickest(threads, 5, loops[traffic], &w);
    double rate = seconds > 0 ? (double)w.share * threads / seconds : 0;
    if (traffic == XGB_UPDATE) rate *= 2;
    if (rate > best) best = rate;
  }
  xgb_pages_free(w.buffer, bytes, pages);
  return best;
}

static struct {
  enum xgb_traffic traffic;
  int threads;
  enum xgb_pages pages;
  double rate;
} known[64];
static int count;

void xgb_memory_forget(void)
{
  count = 0;
}

double xgb_memory_rate(enum xgb_traffic traffic, int threads, enum xgb_pages pages)
{
  for (int i = 0; i < count; i++)
    if (known[i].traffic == traffic && known[i].threads == threads && known[i].pages == pages)
      return known[i].rate;
  double rate = measure(traffic, threads, pages);
  if (count < 64) {
    known[count].traffic = traffic, known[count].threads = threads;
    known[count].pages = pages, known[count++].rate = rate;
  }
  return rate;
}

/* ---------------------------------------------------------------- the bound of a product */

struct xgb_bound xgb_cpu_bound(const struct xgb_case *c, int threads, double peak,
                               enum xgb_pages pages)
{
  static const char *const names[] = {"read", "write", "update"};
  double element = c->type == XGEMM_F64 ? 8 : 4, m = (double)c->m, n = (double)c->n;
  double inputs = element * (double)c->k * (m + n), output = element * m * n;
  struct xgb_bound bound = {.flops = peak, .by = "fma"};
  bound.bytes = inputs + output * (c->beta != 0 ? 2 : 1);
  if (bound.bytes <= (double)xgb_last_cache()) return bound;
  enum xgb_traffic traffic = output <= inputs ? XGB_READ : c->beta != 0 ? XGB_UPDATE : XGB_WRITE;
  bound.rate = xgb_memory_rate(traffic, threads, pages);
  double flops = xgb_flops(c) / bound.bytes * bound.rate;
  if (flops > 0 && flops < peak) bound.flops = flops, bound.by = names[traffic];
  return bound;
}
