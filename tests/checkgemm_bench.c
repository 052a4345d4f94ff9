/* -b: each micro-kernel on operands in the nearest cache. They have been checked just before. */
#include "checkgemm.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { REPEATS = 7 };

static double seconds(void)
{
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint64_t ticks(void)
{
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return 0;
#endif
}

struct bench {
  const struct xg_ukr *u;
  int64_t m, n, k;
  union {
    float s;
    double d;
  } alpha, beta;
  void *a, *b, *c;
};

static void run(const struct bench *x, long calls)
{
  const struct xg_ukr *u = x->u;
  for (long i = 0; i < calls; i++)
    if (u->kind == XG_UKR_PANEL)
      u->panel(x->m, x->n, x->k, &x->alpha, x->a, x->b, &x->beta, x->c, x->n);
    else
      u->inplace(x->m, x->n, x->k, &x->alpha, x->a, x->k, 1, x->b, x->n, &x->beta, x->c, x->n);
}

static void time_one(const struct xg_ukr *u, int64_t m, int64_t n, int64_t k)
{
  struct bench x = {.u = u, .m = m, .n = n, .k = k};
  size_t es = u->type == 'd' ? 8 : 4;
  if (u->type == 'd')
    x.alpha.d = x.beta.d = 1;
  else
    x.alpha.s = x.beta.s = 1;
  struct reference_rng rng = {1};
  void **all[] = {&x.a, &x.b, &x.c};
  const int64_t counts[] = {m * k, n * k, m * n};
  for (int i = 0; i < 3; i++) {
    size_t bytes = ((size_t)counts[i] * es + 63) / 64 * 64;
    *all[i] = aligned_alloc(64, bytes);
    if (!*all[i]) exit(99);
    xgemm_matrix row = xgemm_row_major(*all[i], u->type == 'd' ? XGEMM_F64 : XGEMM_F32, counts[i]);
    reference_fill(&row, 1, counts[i], &rng, 0);
  }
  double flops = 2.0 * (double)m * (double)n * (double)k, best = 1e9;
  long calls = (long)(5e7 / flops) + 1;
  uint64_t least = UINT64_MAX;
  run(&x, calls);
  for (int r = 0; r < REPEATS; r++) {
    double t = seconds();
    uint64_t c = ticks();
    run(&x, calls);
    c = ticks() - c;
    t = seconds() - t;
    if (t < best) best = t;
    if (c < least) least = c;
  }
  printf("%-28s %4lldx%-4lld k=%-4lld %9.1f GFLOP/s %10.1f ticks/call\n", u->name, (long long)m,
         (long long)n, (long long)k, flops * (double)calls / best * 1e-9,
         (double)least / (double)calls);
  for (int i = 0; i < 3; i++) free(*all[i]);
}

void check_bench(struct check *k)
{
  for (const struct xg_ukr *const *u = xg_ukr_table; *u; u++) {
    if ((*u)->kind == XG_UKR_PACK || (*u)->kind >= XG_UKR_STREAM ||
        !check_wants_kernel(k, (*u)->name) || check_ukr_reason(*u))
      continue;
    if ((*u)->kind == XG_UKR_PANEL) {
      time_one(*u, (*u)->mr, (*u)->nr, 64);
      time_one(*u, (*u)->mr, (*u)->nr, 256);
      if ((*u)->flags & XG_UKR_MASKED) time_one(*u, (*u)->mr - 1, (*u)->nr - 1, 256);
    } else {
      for (int64_t size = 8; size <= 64; size *= 2) time_one(*u, size, size, size);
    }
  }
}
