#include "pack.h"

/* How many k steps of all panels are packed before the next ones. When the source runs along i, a k
 * step is one long run through memory that all panels share: cut short enough that its cache lines
 * and pages, which a power of two as leading dimension maps to few sets, stay until the next panel
 * has used the rest of them. When it runs along k there is nothing to share. */
enum { STEPS = 8 };

void xg_pack(const struct xg_ukr *packer, size_t e, int64_t width, int64_t rows, int64_t k,
             const void *src, int64_t is, int64_t ps, void *dst)
{
  const int64_t size = (int64_t)e, steps = is == 1 ? STEPS : k;
  for (int64_t p = 0; p < k; p += steps) {
    const int64_t depth = k - p < steps ? k - p : steps;
    const char *from = (const char *)src + p * ps * size;
    char *to = (char *)dst + p * width * size;
    for (int64_t i = 0; i < rows; i += width)
      packer->pack(width, rows - i < width ? rows - i : width, depth, from + i * is * size, is, ps,
                   to + i * k * size);
  }
}
