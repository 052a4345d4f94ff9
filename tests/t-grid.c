/* How threads divide a product. */
#include "../cpu/grid.h"

#include "../cpu/loops_common.h"
#include "cm.h"

static const struct xg_ukr masks = {
    .type = 's', .isa = XG_ISA_AVX512, .mr = 8, .nr = 48, .flags = XG_UKR_MASKED};
static const struct xg_ukr whole_tiles = {.type = 's', .isa = XG_ISA_BASE, .mr = 4, .nr = 8};
static const struct xg_blocks blocks = {192, 2064, 512};

static void shares_cover_everything_once(void **state)
{
  (void)state;
  for (int64_t count = 0; count < 40; count++)
    for (int64_t parts = 1; parts < 20; parts++) {
      assert_int_equal(xg_share(count, 0, parts), 0);
      assert_int_equal(xg_share(count, parts, parts), count);
      for (int64_t id = 0; id < parts; id++) {
        const int64_t size = xg_share(count, id + 1, parts) - xg_share(count, id, parts);
        assert_in_range(size, count / parts, (count + parts - 1) / parts);
      }
    }
}

/* Each column of the grid keeps a part of the packed panel: none may need more for a shorter one.
 */
static void shares_of_less_are_no_longer(void **state)
{
  (void)state;
  for (int64_t count = 1; count < 40; count++)
    for (int64_t parts = 1; parts < 20; parts++)
      for (int64_t id = 0; id < parts; id++)
        assert_true(xg_share(count - 1, id + 1, parts) - xg_share(count - 1, id, parts) <=
                    xg_share(count, id + 1, parts) - xg_share(count, id, parts));
}

/* Also: as many places as the workspace has, and no part of rows without rows but where even whole
 * tiles are fewer than threads. */
static void every_thread_has_a_part(void **state)
{
  (void)state;
  static const int64_t sizes[] = {1, 7, 64, 1000, 100000, (int64_t)1 << 40};
  enum { SIZES = sizeof sizes / sizeof *sizes };
  for (int i = 0; i < SIZES * SIZES * SIZES; i++)
    for (int threads = 1; threads <= 64; threads++) {
      const struct xg_field f = {sizes[i % SIZES], sizes[i / SIZES % SIZES],
                                 sizes[i / SIZES / SIZES], i % 2, i % 3 == 0};
      const struct xg_grid g = xg_grid_for(&masks, &blocks, &f, threads);
      const int64_t rows = ceil_div(ceil_div(f.m, masks.mr), g.down) * masks.mr;
      assert_true(g.down * g.across >= threads);
      assert_true(g.across <= (int64_t)XG_PARTS_ACROSS * threads);
      if (g.shared)
        assert_true(g.across <= threads && g.down * g.across <= (int64_t)XG_PARTS * threads);
      else
        assert_true(g.down == 1 ? g.across >= threads : rows <= blocks.mc);
    }
}

static void assert_grid(struct xg_field f, int threads, int down, int across, int shared)
{
  const struct xg_grid g = xg_grid_for(&masks, &blocks, &f, threads);
  assert_int_equal(g.down, down);
  assert_int_equal(g.across, across);
  assert_int_equal(g.shared, shared);
}

static void two_threads_share_only_what_pays(void **state)
{
  (void)state;
  assert_grid((struct xg_field){512, 512, 512, 1, 0}, 2, 1, 2, 0);  /* nothing */
  assert_grid((struct xg_field){256, 196, 1024, 0, 0}, 2, 2, 1, 1); /* both would pack A */
  assert_grid((struct xg_field){8, 4096, 512, 1, 0}, 2, 1, 2, 0);   /* a single tile of rows */
  assert_grid((struct xg_field){256, 196, 1024, 0, 1}, 2, 2, 1, 0); /* B by tiles */
}

/* More parts than threads; of a single vector of columns, of rows only. */
static void large_products_are_shared_by_rows(void **state)
{
  (void)state;
  const struct xg_field large = {4096, 4096, 4096, 0, 0}, narrow = {4096, 16, 512, 1, 0};
  for (int threads = 2; threads <= 16; threads *= 2) {
    const struct xg_grid g = xg_grid_for(&masks, &blocks, &large, threads);
    assert_true(g.shared && g.down * g.across >= 2 * threads && g.across <= 2);
    const struct xg_grid n = xg_grid_for(&masks, &blocks, &narrow, threads);
    assert_true(n.shared && n.across == 1 && n.down >= threads);
  }
}

/* Where one thread of many may be slow, no part is a thread's whole share. */
static void many_threads_have_finer_parts(void **state)
{
  (void)state;
  const struct xg_field f = {512, 512, 96, 1, 1};
  const struct xg_grid two = xg_grid_for(&masks, &blocks, &f, 2);
  const struct xg_grid many = xg_grid_for(&masks, &blocks, &f, 16);
  assert_int_equal(two.down * two.across, 2);
  assert_true(many.down * many.across >= 32);
}

static void columns_are_divided_by_vectors_where_the_kernel_masks(void **state)
{
  (void)state;
  assert_int_equal(xg_grid_step(&masks), 16);
  assert_int_equal(xg_grid_step(&whole_tiles), 8);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shares_cover_everything_once),
      cmocka_unit_test(shares_of_less_are_no_longer),
      cmocka_unit_test(every_thread_has_a_part),
      cmocka_unit_test(two_threads_share_only_what_pays),
      cmocka_unit_test(large_products_are_shared_by_rows),
      cmocka_unit_test(many_threads_have_finer_parts),
      cmocka_unit_test(columns_are_divided_by_vectors_where_the_kernel_masks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
