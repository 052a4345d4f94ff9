/* The GPU engine where offsets pass 2^31 and grids 65535: needs some 12 GB on the card, else skips.
 * Operands are made on the card by products of rank one, which are exact. */
#include <stdio.h>
#include <stdlib.h>

#include "card.h"
#include "cm.h"

static float *room(size_t elements)
{
  float *p;
  CARD_OK(cudaMalloc((void **)&p, elements * sizeof *p));
  return p;
}

/* A vector of small integers that repeat after a prime number of elements. */
static float pattern(int64_t i, int prime)
{
  return (float)(i % prime - prime / 2);
}

static float *vector(int64_t count, int prime)
{
  float *card = room((size_t)count), *host = malloc((size_t)count * sizeof *host);
  assert_non_null(host);
  for (int64_t i = 0; i < count; i++) host[i] = prime ? pattern(i, prime) : 1;
  CARD_OK(cudaMemcpy(card, host, (size_t)count * sizeof *host, cudaMemcpyHostToDevice));
  free(host);
  return card;
}

static void run(int64_t m, int64_t n, int64_t k, xgemm_matrix a, xgemm_matrix b, double beta,
                xgemm_matrix c)
{
  xgemm_options o = card_options(NULL);
  xgemm_problem p = XGEMM_PROBLEM_INIT;
  char name[64];
  p.m = m, p.n = n, p.k = k, p.beta = beta, p.a = a, p.b = b, p.c = c;
  card_plan_is(&p, &o, NULL, name);
  xgemm_status status = xgemm(&p, &o);
  if (status) fprintf(stderr, "%s\n", xgemm_last_reason());
  assert_int_equal(status, XGEMM_OK);
  CARD_OK(cudaDeviceSynchronize());
}

static xgemm_matrix matrix(const float *data, int64_t rs, int64_t cs)
{
  xgemm_matrix x = xgemm_row_major(data, XGEMM_F32, rs);
  x.col_stride = cs;
  return x;
}

static float element(const float *card, int64_t at)
{
  float x;
  CARD_OK(cudaMemcpy(&x, card + at, sizeof x, cudaMemcpyDeviceToHost));
  return x;
}

/* GPU-08: m = 35783, n = 1, k = 65133 of ones. */
static void ones_past_two_gigaelements(void **state)
{
  (void)state;
  const int64_t m = 35783, k = 65133;
  float *ones = vector(k, 0), *a = room((size_t)(m * k)), *c = room((size_t)m);
  run(m, k, 1, matrix(ones, 1, 1), matrix(ones, 1, 1), 0, matrix(a, k, 1));
  run(m, 1, k, matrix(a, k, 1), matrix(ones, 1, 1), 0, matrix(c, 1, 1));
  float *host = malloc((size_t)m * sizeof *host);
  assert_non_null(host);
  CARD_OK(cudaMemcpy(host, c, (size_t)m * sizeof *host, cudaMemcpyDeviceToHost));
  for (int64_t i = 0; i < m; i++) assert_true(host[i] == (float)k);
  free(host);
  CARD_OK(cudaFree(ones)), CARD_OK(cudaFree(a)), CARD_OK(cudaFree(c));
}

/* GPU-09: one dot product whose elements lie 127 apart. */
static void a_stride_past_two_gigaelements(void **state)
{
  (void)state;
  const int64_t k = 16909322, lda = 127;
  float *v = vector(k, 3), *one = vector(1, 0), *a = room((size_t)(k * lda)), *c = room(2);
  run(k, 1, 1, matrix(v, 1, 1), matrix(one, 1, 1), 0, matrix(a, lda, 1));
  assert_true(element(a, (k - 1) * lda) == pattern(k - 1, 3));
  double right = 0;
  for (int64_t i = 0; i < k; i++) right += pattern(i, 3) * pattern(i, 3);
  run(1, 1, k, matrix(a, 1, lda), matrix(v, 1, 1), 0, matrix(c, 1, 1));
  run(1, 1, k, matrix(v, 1, 1), matrix(a, lda, 1), 0, matrix(c + 1, 1, 1));
  assert_true(right < 1 << 24);
  assert_true(element(c, 0) == (float)right);
  assert_true(element(c, 1) == (float)right);
  CARD_OK(cudaFree(v)), CARD_OK(cudaFree(one)), CARD_OK(cudaFree(a)), CARD_OK(cudaFree(c));
}

/* GPU-10: m = 2^24, n = 128, k = 32: C has 2^31 elements. */
static void c_past_two_gigaelements(void **state)
{
  (void)state;
  const int64_t m = 16777216, n = 128, k = 32;
  float *u = vector(m, 5), *v = vector(n * k, 3), *a = room((size_t)(m * k)), *c;
  c = room((size_t)(m * n));
  run(m, k, 1, matrix(u, 1, 1), matrix(v, k, 1), 0, matrix(a, k, 1));
  run(m, n, k, matrix(a, k, 1), matrix(v, n, 1), 0, matrix(c, n, 1));
  for (int64_t s = 0; s < 1000; s++) {
    int64_t i = s == 999 ? m - 1 : s * 16777 + s % 7;
    float row[128];
    CARD_OK(cudaMemcpy(row, c + i * n, sizeof row, cudaMemcpyDeviceToHost));
    for (int64_t j = 0; j < n; j++) {
      float right = 0;
      for (int64_t p = 0; p < k; p++)
        right += pattern(i, 5) * pattern(p, 3) * pattern(p * n + j, 3);
      assert_true(row[j] == right);
    }
  }
  CARD_OK(cudaFree(u)), CARD_OK(cudaFree(v)), CARD_OK(cudaFree(a)), CARD_OK(cudaFree(c));
}

/* GPU-13: more than 65535 tiles one way; beta must be applied once. */
static void more_tiles_than_a_grid_dimension(void **state)
{
  (void)state;
  const int64_t m = 16, k = 16, n = 65535 * 128 + 1;
  float *v = vector(n, 7), *a = vector(m * k, 3), *b = room((size_t)(k * n));
  float *c = room((size_t)(m * n)), *ones = vector(k, 0);
  run(k, n, 1, matrix(ones, 1, 1), matrix(v, n, 1), 0, matrix(b, n, 1));
  for (int beta = 0; beta <= 2; beta += 2) {
    run(m, n, k, matrix(a, k, 1), matrix(b, n, 1), beta, matrix(c, n, 1));
    for (int64_t s = 0; s < 500; s++) {
      int64_t i = s % m, j = s < 16 ? n - 1 : s < 32 ? n - 2 : s * 16777 % n;
      float sum = 0;
      for (int64_t p = 0; p < k; p++) sum += pattern(i * k + p, 3) * pattern(j, 7);
      assert_true(element(c, i * n + j) == (beta ? 3 : 1) * sum);
    }
  }
  CARD_OK(cudaFree(v)), CARD_OK(cudaFree(a)), CARD_OK(cudaFree(b)), CARD_OK(cudaFree(c));
  CARD_OK(cudaFree(ones));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ones_past_two_gigaelements),
      cmocka_unit_test(a_stride_past_two_gigaelements),
      cmocka_unit_test(c_past_two_gigaelements),
      cmocka_unit_test(more_tiles_than_a_grid_dimension),
  };
  size_t left = 0, total = 0;
  int missing = card_missing();
  if (missing) return missing;
  cudaMemGetInfo(&left, &total);
  if (left < (size_t)12 << 30) {
    printf("SKIP: 12 GiB of device memory are needed, %.1f are free\n", (double)left / (1 << 30));
    return 77;
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
