#include "product.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm.h"

static size_t element(xgemm_type type)
{
  return type == XGEMM_F64 ? sizeof(double) : sizeof(float);
}

static void strides(char letter, int64_t rows, int64_t cols, int64_t *rs, int64_t *cs)
{
  int64_t r = rows > 0 ? rows : 1, c = cols > 0 ? cols : 1;
  *rs = *cs = 0;
  if (letter == 'r') *rs = c, *cs = 1;
  if (letter == 'c') *rs = 1, *cs = r;
  if (letter == 'R') *rs = c + 3, *cs = 1;
  if (letter == 'C') *rs = 1, *cs = r + 3;
  if (letter == 'g') *rs = 2, *cs = 2 * r + 3;
  if (letter == 'n') *rs = -3, *cs = -(3 * r + 1);
}

static void make(struct hostile_matrix *h, xgemm_matrix *x, char letter, xgemm_type type,
                 int64_t rows, int64_t cols)
{
  int64_t rs, cs;
  strides(letter, rows, cols, &rs, &cs);
  hostile_matrix_alloc(h, rows, cols, rs, cs, element(type), HOSTILE_END);
  x->data = h->at;
  x->type = type;
  x->row_stride = rs;
  x->col_stride = cs;
}

void product_make(struct product *x, xgemm_type type, int64_t m, int64_t n, int64_t k,
                  const char *layout, uint64_t seed)
{
  xgemm_problem p = XGEMM_PROBLEM_INIT;
  memset(x, 0, sizeof *x);
  p.m = m, p.n = n, p.k = k;
  make(&x->a, &p.a, layout[0], type, m, k);
  make(&x->b, &p.b, layout[1], type, k, n);
  make(&x->c, &p.c, layout[2], type, m, n);
  x->p = p;
  product_fill(x, seed, 1);
}

void product_fill(struct product *x, uint64_t seed, int exact)
{
  struct reference_rng rng = {seed};
  int64_t limit = exact ? reference_exact_limit(x->p.a.type, x->p.k) : 0;
  reference_fill(&x->p.a, x->p.m, x->p.k, &rng, limit);
  reference_fill(&x->p.b, x->p.k, x->p.n, &rng, limit);
  reference_fill(&x->p.c, x->p.m, x->p.n, &rng, limit);
}

void product_free(struct product *x)
{
  hostile_matrix_free(&x->a);
  hostile_matrix_free(&x->b);
  hostile_matrix_free(&x->c);
  free(x->value), free(x->size), free(x->first);
  memset(x, 0, sizeof *x);
}

void product_expect(struct product *x)
{
  size_t count = (size_t)(x->p.m > 0 && x->p.n > 0 ? x->p.m * x->p.n : 0) + 1;
  free(x->value), free(x->size), free(x->first);
  x->value = calloc(count, sizeof(double));
  x->size = calloc(count, sizeof(double));
  assert_true(x->value && x->size);
  reference_gemm(&x->p, x->value, x->size);
  x->first = product_bits(x);
}

size_t product_bytes(const struct product *x)
{
  return (size_t)(x->c.rows * x->c.cols) * element(x->p.c.type);
}

/* Between C's place and a tight copy; bytes, so that a NaN keeps its payload. */
static void move(const struct product *x, unsigned char *tight, int back)
{
  size_t e = element(x->p.c.type);
  for (int64_t i = 0; i < x->c.rows; i++)
    for (int64_t j = 0; j < x->c.cols; j++) {
      unsigned char *c = (unsigned char *)x->c.at + (i * x->c.rs + j * x->c.cs) * (int64_t)e;
      unsigned char *t = tight + (size_t)(i * x->c.cols + j) * e;
      memcpy(back ? c : t, back ? t : c, e);
    }
}

void *product_bits(const struct product *x)
{
  unsigned char *tight = malloc(product_bytes(x) + 1);
  assert_non_null(tight);
  move(x, tight, 0);
  return tight;
}

void product_rewind(struct product *x)
{
  move(x, x->first, 1);
}

static int surroundings_whole(const struct product *x)
{
  const struct hostile_matrix *operands[3] = {&x->a, &x->b, &x->c};
  for (int i = 0; i < 3; i++)
    if (!hostile_matrix_gaps_intact(operands[i])) {
      fprintf(stderr, "written beside the elements of %c\n", "ABC"[i]);
      return 0;
    }
  return 1;
}

int product_is_right(const struct product *x, int exact)
{
  struct reference_miss miss;
  int64_t bad = reference_check(&x->p, x->value, x->size, exact, &miss, NULL);
  if (bad)
    fprintf(stderr,
            "%lld wrong elements of %lld x %lld (k %lld, alpha %g, beta %g), first (%lld,%lld): "
            "%.17g, right is %.17g\n",
            (long long)bad, (long long)x->p.m, (long long)x->p.n, (long long)x->p.k, x->p.alpha,
            x->p.beta, (long long)miss.i, (long long)miss.j, miss.got, miss.expected);
  return bad == 0 && surroundings_whole(x);
}

int product_is_untouched(const struct product *x)
{
  void *now = product_bits(x);
  int same = memcmp(now, x->first, product_bytes(x)) == 0;
  free(now);
  return same && surroundings_whole(x);
}

void product_must_be_right(struct product *x, const xgemm_options *options)
{
  product_expect(x);
  xgemm_status status = xgemm(&x->p, options);
  if (status != XGEMM_OK) fprintf(stderr, "%s: %s\n", xgemm_strerror(status), xgemm_last_reason());
  assert_int_equal(status, XGEMM_OK);
  assert_true(product_is_right(x, 1));
}

void product_must_fail(struct product *x, const xgemm_options *options, xgemm_status status)
{
  void *before = product_bits(x), *after;
  assert_int_equal(xgemm(&x->p, options), status);
  assert_true(xgemm_last_reason()[0] != 0);
  after = product_bits(x);
  assert_int_equal(memcmp(before, after, product_bytes(x)), 0);
  assert_true(surroundings_whole(x));
  free(before), free(after);
}
