/* Block sizes: expected numbers for known machines, and the rules for any machine and size. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../cpu/blocking.h"
#include "cm.h"

static const struct xg_ukr s14x32 = {.type = 's', .mr = 14, .nr = 32};
static const struct xg_ukr d14x16 = {.type = 'd', .mr = 14, .nr = 16};
static const struct xg_ukr s6x16 = {.type = 's', .mr = 6, .nr = 16};
static const struct xg_ukr d6x8 = {.type = 'd', .mr = 6, .nr = 8};
static const struct xg_ukr s4x8 = {.type = 's', .mr = 4, .nr = 8};
static const struct xg_ukr d4x4 = {.type = 'd', .mr = 4, .nr = 4};
static const struct xg_ukr *const kernels[] = {&s14x32, &d14x16, &s6x16, &d6x8, &s4x8, &d4x4};
enum { KERNELS = 6 };

static const int64_t huge = (int64_t)1 << 40;

static void from_file(const char *name, struct xg_topo *t)
{
  char path[1024];
  const char *source = getenv("top_srcdir");
  snprintf(path, sizeof path, "%s/tests/topologies/%s.xml", source ? source : ".", name);
  assert_int_equal(xg_topo_from_xml(path, t), 0);
}

/* Sizes that are multiples of the expected blocks: cutting evenly changes nothing. One order for
 * all rows: f32 14x32, f64 14x16, f32 6x16, f64 6x8, f32 4x8, f64 4x4; MC, NC, KC. */
static void captured_machines_give_the_expected_blocks(void **state)
{
  (void)state;
  static const struct {
    const char *machine;
    struct xg_blocks want[KERNELS];
  } rows[] = {
      {"zen4-2cores",
       {{378, 8192, 512},
        {182, 7168, 512},
        {612, 8192, 320},
        {384, 8192, 256},
        {384, 8192, 512},
        {256, 8192, 384}}},
      {"xeon-16cores",
       {{756, 8192, 512},
        {378, 8192, 512},
        {768, 8192, 512},
        {510, 8192, 384},
        {768, 8192, 512},
        {384, 8192, 512}}},
      {"two-sockets",
       {{378, 4608, 512},
        {182, 2304, 512},
        {612, 7360, 320},
        {384, 4608, 256},
        {384, 4608, 512},
        {256, 3072, 384}}},
      {"hybrid",
       {{378, 8192, 512},
        {182, 6400, 512},
        {612, 8192, 320},
        {384, 8192, 256},
        {384, 8192, 512},
        {256, 8192, 384}}},
      {"no-caches",
       {{112, 8192, 360},
        {112, 8192, 216},
        {150, 8192, 320},
        {96, 8192, 256},
        {96, 8192, 512},
        {64, 8192, 384}}},
      {"odd-emulator",
       {{112, 8192, 360},
        {112, 8192, 216},
        {150, 8192, 320},
        {96, 8192, 256},
        {96, 8192, 512},
        {64, 8192, 384}}},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct xg_topo t;
    from_file(rows[i].machine, &t);
    for (int j = 0; j < KERNELS; j++) {
      struct xg_blocks b;
      const struct xg_blocks *w = &rows[i].want[j];
      int64_t large = (int64_t)1 << 40;
      xg_blocking(&t, kernels[j], large * w->mc, large * w->nc, large * w->kc, 1, &b);
      if (b.mc != w->mc || b.nc != w->nc || b.kc != w->kc)
        fail_msg("%s %c %dx%d: MC %" PRId64 " NC %" PRId64 " KC %" PRId64 ", expected %" PRId64
                 " %" PRId64 " %" PRId64,
                 rows[i].machine, kernels[j]->type, kernels[j]->mr, kernels[j]->nr, b.mc, b.nc,
                 b.kc, w->mc, w->nc, w->kc);
    }
  }
}

static void strided(int64_t m, int64_t n, int64_t k, const void *alpha, const void *a, int64_t rs_a,
                    int64_t cs_a, const void *b, const void *beta, void *c, int64_t rs_c,
                    const struct xg_fetch *fetch)
{
  (void)m, (void)n, (void)k, (void)alpha, (void)a, (void)rs_a, (void)cs_a, (void)b, (void)beta;
  (void)c, (void)rs_c, (void)fetch;
}

static const struct xg_ukr s8x48 = {.type = 's', .mr = 8, .nr = 48, .strided = strided};
static const struct xg_ukr d8x24 = {.type = 'd', .mr = 8, .nr = 24, .strided = strided};

static void kernels_that_prefetch_leave_more_of_l2(void **state)
{
  (void)state;
  struct xg_topo t;
  struct xg_blocks b;
  from_file("zen4-2cores", &t);
  xg_blocking(&t, &s8x48, huge, huge, huge, 1, &b);
  assert_int_equal(b.mc, 192);
  assert_int_equal(b.kc, 512);
  xg_blocking(&t, &d8x24, huge, huge, huge, 1, &b);
  assert_int_equal(b.mc, 96);
  assert_int_equal(b.kc, 512);
}

static void a_stays_in_place_where_it_has_sets(void **state)
{
  (void)state;
  struct xg_topo t;
  from_file("zen4-2cores", &t);
  const struct {
    int64_t rs, cs;
    int yes;
  } rows[] = {{512, 1, 1},     {1000, 1, 1},  {1024, 1, 1},
              {1040, 1, 1},    {2048, 1, 0},  {4096, 1, 0},
              {4112, 1, 1},    {100, 1, 0},   {-1024, 1, 0},
              {1, 192, 1},     {1, 1000, 1},  {1, 1024, 0},
              {1, 4096, 0},    {1, 100, 0},   {3, 2, 0},
              {1000, 2000, 0}, {65536, 1, 0}, {(int64_t)1 << 59, 1, 0},
              {0, 1, 0}};
  const struct xg_blocks b = {192, 4096, 512};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (xg_stays_in_place(&t, &s8x48, &b, 4096, rows[i].rs, rows[i].cs) != rows[i].yes)
      fail_msg("strides %" PRId64 " %" PRId64, rows[i].rs, rows[i].cs);
  assert_true(xg_stays_in_place(&t, &s8x48, &b, 100, 65536, 1));
}

/* ---------------------------------------------------------------- rules */

static void obeys_the_rules(const struct xg_topo *t, const struct xg_ukr *u, int64_t m, int64_t n,
                            int64_t k, int threads)
{
  struct xg_blocks b, other;
  xg_blocking(t, u, m, n, k, threads, &b);
  assert_true(b.mc > 0 && b.mc % u->mr == 0 && b.mc <= 4096);
  assert_true(b.nc > 0 && b.nc % u->nr == 0 && b.nc <= 8192);
  assert_true(b.kc > 0 && b.kc <= k && b.kc <= 512);
  /* No more than the size rounded up, and no crumb at the end of k. */
  assert_true(b.mc - u->mr < m && b.nc - u->nr < n);
  int64_t blocks = k / b.kc + (k % b.kc != 0), last = k - (blocks - 1) * b.kc;
  assert_true(blocks == 1 || b.kc % 8 == 0);
  assert_true(b.kc - last < 8 * blocks);
  /* KC: of kernel, caches and k alone. */
  xg_blocking(t, u, 1, 1, k, threads + 3, &other);
  assert_int_equal(other.kc, b.kc);
  xg_blocking(t, u, n, m, k, 1, &other);
  assert_int_equal(other.kc, b.kc);
}

static void ordinary_and_huge_sizes_obey_the_rules(void **state)
{
  (void)state;
  const int64_t sizes[] = {
      1,   2,   3,    13,   14,   15,   31,      33,   100,      511,
      512, 513, 1000, 1025, 4096, 5001, 1 << 20, huge, huge + 1, INT64_MAX - 64};
  static const char *const machines[] = {"zen4-2cores", "xeon-16cores", "two-sockets",
                                         "hybrid",      "no-caches",    "odd-emulator"};
  enum { SIZES = sizeof sizes / sizeof *sizes };
  for (size_t f = 0; f < sizeof machines / sizeof *machines; f++) {
    struct xg_topo t;
    from_file(machines[f], &t);
    for (int u = 0; u < KERNELS; u++)
      for (int i = 0; i < SIZES; i++)
        for (int j = 0; j < SIZES; j++)
          obeys_the_rules(&t, kernels[u], sizes[i], sizes[SIZES - 1 - i], sizes[j],
                          1 + (i + j) % 5);
  }
}

static uint64_t next(uint64_t *state)
{
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

/* Caches that nobody has built. The L2 share can be a few bytes and L3 smaller than L2. */
static void absurd_caches_obey_the_rules(void **state)
{
  (void)state;
  uint64_t r = 1;
  for (int i = 0; i < 20000; i++) {
    struct xg_topo t = {.l1d = (int64_t)1024 << next(&r) % 12,
                        .l2 = (int64_t)1024 << next(&r) % 20,
                        .l3 = (int64_t)65536 << next(&r) % 22,
                        .l1d_ways = 1 + (int)(next(&r) % 16),
                        .l2_ways = 1 + (int)(next(&r) % 16),
                        .l3_ways = 1 + (int)(next(&r) % 64),
                        .line = 64,
                        .l2_sharing = 1 + (int)(next(&r) % 64),
                        .l3_sharing = 1 + (int)(next(&r) % 256)};
    if (i % 5 == 0) t.l3 = t.l3_ways = t.l3_sharing = 0;
    int64_t m = 1 + (int64_t)(next(&r) << next(&r) % 28), n = 1 + (int64_t)next(&r) % 20000;
    obeys_the_rules(&t, kernels[i % KERNELS], m, n, 1 + (int64_t)(next(&r) << next(&r) % 28),
                    1 + i % 300);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(captured_machines_give_the_expected_blocks),
      cmocka_unit_test(kernels_that_prefetch_leave_more_of_l2),
      cmocka_unit_test(a_stays_in_place_where_it_has_sets),
      cmocka_unit_test(ordinary_and_huge_sizes_obey_the_rules),
      cmocka_unit_test(absurd_caches_obey_the_rules),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
