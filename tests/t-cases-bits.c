/* Complaints that users of other libraries filed in public, as inputs; tests/cases.tsv lists them.
 * Here: what gives the same bits. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"

static void same_bits_for_all_threads(xgemm_type type, int64_t m, int64_t n, int64_t k,
                                      const int *threads)
{
  struct product x;
  void *first = NULL;
  product_make(&x, type, m, n, k, "rcr", 6);
  product_fill(&x, 6, 0);
  product_expect(&x);
  for (; *threads; threads++) {
    xgemm_options o = cpu(*threads);
    reference_fill_with(&x.p.c, m, n, NAN);
    must_run(&x.p, &o);
    void *now = product_bits(&x);
    if (!first) {
      assert_true(product_is_right(&x, 0));
      first = now;
      continue;
    }
    if (memcmp(first, now, product_bytes(&x)))
      fprintf(stderr, "%d threads: other bits for %lld x %lld x %lld\n", *threads, (long long)m,
              (long long)n, (long long)k);
    assert_memory_equal(first, now, product_bytes(&x));
    free(now);
  }
  free(first);
  product_free(&x);
}

/* NUM-14. */
static void num_14_bits_do_not_depend_on_threads(void **state)
{
  (void)state;
  static const int all[] = {1, 2, 3, 4, 8, 16, 17, 0}, few[] = {1, 2, 3, 4, 0};
  static const int64_t sizes[][3] = {{513, 300, 200},  {7, 900, 700}, {1000, 3, 600},
                                     {129, 131, 5000}, {64, 64, 64},  {2, 2, 30000}};
  same_bits_for_all_threads(XGEMM_F64, 300, 300, 5000, all);
  for (int s = 0; s < 6; s++)
    for (int type = XGEMM_F32; type <= XGEMM_F64; type++)
      same_bits_for_all_threads((xgemm_type)type, sizes[s][0], sizes[s][1], sizes[s][2], few);
}

/* NUM-16: eight equal problems, equal rows and equal columns give equal bits. */
static void num_16_equal_rows_and_columns(void **state)
{
  (void)state;
  static const int64_t sizes[][3] = {{64, 16, 33}, {37, 29, 300}, {150, 140, 90}, {7, 16, 33}};
  for (int s = 0; s < 4; s++)
    for (int type = XGEMM_F32; type <= XGEMM_F64; type++)
      for (int which = 0; which < 2; which++) {
        struct product x;
        product_make(&x, (xgemm_type)type, sizes[s][0], sizes[s][1], sizes[s][2], "rrr", 6);
        product_fill(&x, 6, 0);
        for (int64_t i = 0; i < x.p.m && which == 0; i++)
          for (int64_t l = 0; l < x.p.k; l++)
            reference_set(&x.p.a, i, l, reference_get(&x.p.a, 0, l));
        for (int64_t j = 0; j < x.p.n && which == 1; j++)
          for (int64_t l = 0; l < x.p.k; l++)
            reference_set(&x.p.b, l, j, reference_get(&x.p.b, l, 0));
        must_run(&x.p, NULL);
        for (int64_t i = 0; i < x.p.m; i++)
          for (int64_t j = 0; j < x.p.n; j++)
            assert_true(reference_get(&x.p.c, i, j) ==
                        reference_get(&x.p.c, which ? i : 0, which ? 0 : j));
        product_free(&x);
      }
}

/* NUM-17: the order of additions knows nothing of addresses: any alignment, the same bits. */
static void num_17_alignment_does_not_matter(void **state)
{
  (void)state;
  enum { SIZE = 193, ROOM = SIZE * SIZE + 16 };
  for (int type = XGEMM_F32; type <= XGEMM_F64; type++) {
    size_t e = type == XGEMM_F64 ? 8 : 4;
    struct product x;
    struct reference_rng rng = {8};
    char *room[3];
    product_make(&x, (xgemm_type)type, SIZE, SIZE, SIZE, "rrr", 6);
    product_fill(&x, 6, 0);
    product_expect(&x);
    must_run(&x.p, NULL);
    assert_true(product_is_right(&x, 0));
    void *bits = product_bits(&x);
    const xgemm_matrix from[2] = {x.p.a, x.p.b};
    for (int i = 0; i < 3; i++)
      assert_non_null(room[i] = aligned_alloc(64, (ROOM * e + 63) / 64 * 64));
    for (int repeat = 0; repeat < 30; repeat++) {
      xgemm_problem p = x.p;
      char *place[3];
      for (int i = 0; i < 3; i++) place[i] = room[i] + (size_t)reference_integer(&rng, 0, 15) * e;
      memcpy(place[0], from[0].data, SIZE * SIZE * e);
      memcpy(place[1], from[1].data, SIZE * SIZE * e);
      p.a.data = place[0], p.b.data = place[1], p.c.data = place[2];
      must_run(&p, NULL);
      assert_memory_equal(place[2], bits, SIZE * SIZE * e);
    }
    for (int i = 0; i < 3; i++) free(room[i]);
    free(bits);
    product_free(&x);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(num_14_bits_do_not_depend_on_threads),
      cmocka_unit_test(num_16_equal_rows_and_columns),
      cmocka_unit_test(num_17_alignment_does_not_matter),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
