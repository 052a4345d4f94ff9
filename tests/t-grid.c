/* How threads divide a product. */
#include "../cpu/grid.h"

#include "../cpu/loops_common.h"
#include "cm.h"

static const struct xg_ukr masks = {
    .type = 's', .isa = XG_ISA_AVX512, .mr = 8, .nr = 48, .flags = XG_UKR_MASKED};
static const struct xg_ukr whole_tiles = {.type = 's', .isa = XG_ISA_BASE, .mr = 4, .nr = 8};
static const struct xg_blocks blocks = {344, 2064, 512};

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

static void every_thread_has_a_place(void **state)
{
  (void)state;
  static const int64_t sizes[] = {1, 7, 64, 1000, 100000, (int64_t)1 << 40};
  enum { SIZES = sizeof sizes / sizeof *sizes };
  for (int i = 0; i < SIZES * SIZES * SIZES; i++)
    for (int threads = 1; threads <= 64; threads++) {
      const struct xg_field f = {sizes[i % SIZES], sizes[i / SIZES % SIZES],
                                 sizes[i / SIZES / SIZES], i % 2, i % 3 == 0};
      const struct xg_grid g = xg_grid_for(&masks, &blocks, &f, threads);
      assert_int_equal(g.down * g.across, threads);
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
  assert_grid((struct xg_field){4096, 16, 512, 1, 0}, 2, 2, 1, 1);  /* a single vector */
  assert_grid((struct xg_field){8, 4096, 512, 1, 0}, 2, 1, 2, 0);   /* a single tile */
  assert_grid((struct xg_field){256, 196, 1024, 0, 1}, 2, 2, 1, 0); /* B by tiles */
}

/* Taller where A is packed, by each column of the grid anew. */
static void many_threads_form_a_square(void **state)
{
  (void)state;
  assert_grid((struct xg_field){4096, 4096, 4096, 1, 0}, 16, 4, 4, 1);
  assert_grid((struct xg_field){4096, 4096, 4096, 0, 0}, 16, 8, 2, 1);
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
      cmocka_unit_test(every_thread_has_a_place),
      cmocka_unit_test(two_threads_share_only_what_pays),
      cmocka_unit_test(many_threads_form_a_square),
      cmocka_unit_test(columns_are_divided_by_vectors_where_the_kernel_masks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
