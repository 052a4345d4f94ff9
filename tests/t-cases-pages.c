/* Complaints that users of other libraries filed in public, as inputs; tests/cases.tsv lists them.
 * Here: the pages behind (and in a second pass before) each operand fault. */
#include "cases.h"
#include "xgemm_cblas.h"

/* MEM-02. */
static void mem_02_single_element(void **state)
{
  (void)state;
  struct hostile room[3];
  float *p[3];
  for (int i = 0; i < 3; i++) {
    hostile_alloc(&room[i], sizeof(float), sizeof(float), HOSTILE_END);
    p[i] = (float *)(void *)room[i].data;
    *p[i] = (float)(i + 2);
  }
  int one = 1;
  float alpha = 1, beta = 0;
  sgemm_("N", "N", &one, &one, &one, &alpha, p[0], &one, p[1], &one, &beta, p[2], &one);
  assert_true(*p[2] == 6);
  for (int i = 0; i < 3; i++) {
    assert_true(hostile_intact(&room[i]));
    hostile_close(&room[i]);
  }
}

struct against_pages {
  struct hostile_matrix a, b, c;
};

static void sgemm_against_pages(struct against_pages *w, int ta, int tb, int m, int n, int k,
                                enum hostile_side side)
{
  hostile_matrix_place(&w->a, m, k, ta ? k : 1, ta ? 1 : m, 4, side);
  hostile_matrix_place(&w->b, k, n, tb ? n : 1, tb ? 1 : k, 4, side);
  hostile_matrix_place(&w->c, m, n, 1, m, 4, side);
  float *a = w->a.at, *b = w->b.at, *c = w->c.at, alpha = 1, beta = 0;
  for (int i = 0; i < m * k; i++) a[i] = (float)(i % 7 - 3);
  for (int i = 0; i < k * n; i++) b[i] = (float)(i % 5 - 2);
  hostile_readonly(&w->a.mem), hostile_readonly(&w->b.mem);
  int lda = ta ? k : m, ldb = tb ? n : k;
  sgemm_(ta ? "T" : "N", tb ? "T" : "N", &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &m);
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      float sum = 0;
      for (int l = 0; l < k; l++)
        sum += a[ta ? i * k + l : i + l * m] * b[tb ? l * n + j : l + j * k];
      if (!(c[i + j * m] == sum))
        fail_msg("%c%c m=%d n=%d k=%d: (%d,%d)", "NT"[ta], "NT"[tb], m, n, k, i, j);
    }
  assert_true(hostile_intact(&w->c.mem));
}

static void open_pages(struct against_pages *w, int64_t most)
{
  hostile_matrix_alloc(&w->a, most, most, 1, most, 4, HOSTILE_END);
  hostile_matrix_alloc(&w->b, most, most, 1, most, 4, HOSTILE_END);
  hostile_matrix_alloc(&w->c, most, most, 1, most, 4, HOSTILE_END);
}

static void close_pages(struct against_pages *w)
{
  hostile_matrix_free(&w->a), hostile_matrix_free(&w->b), hostile_matrix_free(&w->c);
}

/* MEM-03. */
static void mem_03_all_small_sizes_against_pages(void **state)
{
  (void)state;
  struct against_pages w;
  open_pages(&w, 24);
  for (int m = 1; m <= 24; m++)
    for (int n = 1; n <= 24; n++)
      for (int k = 1; k <= 24; k++) {
        int both = (m * 5 + n * 3 + k) % 4; /* all four pairs over the sweep, two a size */
        for (int more = 0; more < 2; more++, both = (both + 1) % 4)
          sgemm_against_pages(&w, both & 1, both >> 1, m, n, k,
                              (m + n + k + more) % 2 ? HOSTILE_END : HOSTILE_START);
      }
  close_pages(&w);
}

/* MEM-04. */
static void mem_04_one_row_transposed(void **state)
{
  (void)state;
  struct against_pages w;
  open_pages(&w, 64);
  for (int n = 1; n <= 64; n++)
    for (int k = 1; k <= 40; k++)
      for (int side = HOSTILE_END; side <= HOSTILE_START; side++)
        sgemm_against_pages(&w, 1, 0, 1, n, k, (enum hostile_side)side);
  close_pages(&w);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(mem_02_single_element),
      cmocka_unit_test(mem_03_all_small_sizes_against_pages),
      cmocka_unit_test(mem_04_one_row_transposed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
