/* One product in hostile memory: build, run, compare. Knows nothing of kernels or backends. */
#include "checkgemm.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Above this many multiply-adds the whole reference is too slow: then a sum over each row is
 * compared for integers, and some rows for reals. */
static const double whole_limit = 3e7;

enum { SAMPLED_ROWS = 6 };

int check_product_fields(struct check_product *x, struct check_field *f)
{
  struct check_field all[CHECK_PRODUCT_FIELDS] = {
      {"type", 'c', &x->type}, {"m", 'i', &x->m},         {"n", 'i', &x->n},
      {"k", 'i', &x->k},       {"rsa", 'i', &x->rsa},     {"csa", 'i', &x->csa},
      {"rsb", 'i', &x->rsb},   {"csb", 'i', &x->csb},     {"rsc", 'i', &x->rsc},
      {"csc", 'i', &x->csc},   {"alpha", 'd', &x->alpha}, {"beta", 'd', &x->beta},
      {"data", 'c', &x->data}, {"side", 'c', &x->side}};
  memcpy(f, all, sizeof all);
  return CHECK_PRODUCT_FIELDS;
}

void check_strides(char kind, int64_t rows, int64_t cols, int64_t pad, int64_t *rs, int64_t *cs)
{
  rows = rows > 0 ? rows : 1, cols = cols > 0 ? cols : 1;
  switch (kind) {
  case 'r':
    *rs = cols + pad, *cs = 1;
    break;
  case 'c':
    *rs = 1, *cs = rows + pad;
    break;
  case 'g':
    *rs = 2, *cs = 2 * rows + 1 + pad;
    break;
  case 'G':
    *rs = 3 * cols + pad, *cs = 3;
    break;
  case '-':
    *rs = -(cols + pad), *cs = -1;
    break;
  case 'x':
    *rs = cols + pad, *cs = -1;
    break;
  case 'X':
    *rs = -1, *cs = rows + pad;
    break;
  case 'z':
    *rs = 0, *cs = 1 + pad % 2;
    break;
  case 'y':
    *rs = 1 + pad % 2, *cs = 0;
    break;
  default:
    *rs = 0, *cs = 0;
    break;
  }
}

struct work {
  const struct check_product *x;
  struct hostile_matrix a, b, c;
  xgemm_problem p;
  check_runner *run;
  void *context;
  int status;
  /* what is right: all of it, or for large products a part */
  double *value, *size;
  struct reference_sample *sample;
  int64_t *probe, *row_sum; /* n weights; m sums over j of right C[i][j] * weight[j] */
};

static void *need(int64_t count, size_t each)
{
  void *p = malloc((size_t)(count > 0 ? count : 1) * each);
  if (!p) {
    perror("checkgemm");
    exit(99);
  }
  return p;
}

static xgemm_matrix view(const struct hostile_matrix *x, xgemm_type type)
{
  return (xgemm_matrix){x->at, type, XGEMM_SPACE_HOST, x->rs, x->cs, {0}};
}

/* A few elements that are not numbers. */
static void spoil(const xgemm_matrix *x, int64_t rows, int64_t cols, struct reference_rng *rng)
{
  static const double specials[] = {NAN, INFINITY, -INFINITY};
  if (rows <= 0 || cols <= 0) return;
  for (int i = 0; i < 2; i++)
    reference_set(x, reference_integer(rng, 0, rows - 1), reference_integer(rng, 0, cols - 1),
                  specials[reference_integer(rng, 0, 2)]);
}

static void build(struct work *w, struct reference_rng *rng)
{
  const struct check_product *x = w->x;
  xgemm_type type = x->type == 'd' ? XGEMM_F64 : XGEMM_F32;
  size_t es = x->type == 'd' ? 8 : 4;
  enum hostile_side side = x->side == 's' ? HOSTILE_START : HOSTILE_END;
  int64_t limit = x->data == 'i' ? reference_exact_limit(type, x->k) : 0;
  hostile_matrix_alloc(&w->a, x->m, x->k, x->rsa, x->csa, es, side);
  hostile_matrix_alloc(&w->b, x->k, x->n, x->rsb, x->csb, es, side);
  hostile_matrix_alloc(&w->c, x->m, x->n, x->rsc, x->csc, es, side);
  xgemm_problem *p = &w->p;
  *p = (xgemm_problem)XGEMM_PROBLEM_INIT;
  p->m = x->m, p->n = x->n, p->k = x->k, p->alpha = x->alpha, p->beta = x->beta;
  p->a = view(&w->a, type), p->b = view(&w->b, type), p->c = view(&w->c, type);
  /* alpha = 0: A and B keep the pattern, which is NaN; beta = 0: so does C. */
  if (x->alpha != 0) {
    reference_fill(&p->a, x->m, x->k, rng, limit);
    reference_fill(&p->b, x->k, x->n, rng, limit);
  }
  if (x->beta != 0) reference_fill(&p->c, x->m, x->n, rng, limit);
  if (x->data == 'n') {
    if (x->alpha != 0) spoil(&p->a, x->m, x->k, rng);
    if (x->alpha != 0) spoil(&p->b, x->k, x->n, rng);
    if (x->beta != 0) spoil(&p->c, x->m, x->n, rng);
  }
}

/* weight-sums of the right C in integers: A (B weight) costs m*k + k*n only, and every element of C
 * takes part. */
static void expect_sums(struct work *w, struct reference_rng *rng)
{
  const xgemm_problem *p = &w->p;
  w->probe = need(p->n, sizeof(int64_t));
  w->row_sum = need(p->m, sizeof(int64_t));
  int64_t *bw = need(p->k, sizeof(int64_t));
  int use = p->alpha != 0, alpha = (int)p->alpha, beta = (int)p->beta;
  for (int64_t j = 0; j < p->n; j++) w->probe[j] = 2 * reference_integer(rng, -512, 511) + 1;
  for (int64_t q = 0; q < p->k; q++) {
    bw[q] = 0;
    for (int64_t j = 0; use && j < p->n; j++)
      bw[q] += (int64_t)reference_get(&p->b, q, j) * w->probe[j];
  }
  for (int64_t i = 0; i < p->m; i++) {
    int64_t sum = 0, old = 0;
    for (int64_t q = 0; use && q < p->k; q++) sum += (int64_t)reference_get(&p->a, i, q) * bw[q];
    for (int64_t j = 0; beta && j < p->n; j++)
      old += (int64_t)reference_get(&p->c, i, j) * w->probe[j];
    w->row_sum[i] = alpha * sum + beta * old;
  }
  free(bw);
}

static void expect(struct work *w, struct reference_rng *rng)
{
  const xgemm_problem *p = &w->p;
  if (xg_sizeof(p->c.type) && (double)p->m * (double)p->n * (double)p->k <= whole_limit) {
    w->value = need(p->m * p->n, sizeof(double));
    w->size = need(p->m * p->n, sizeof(double));
    reference_gemm(p, w->value, w->size);
  } else if (w->x->data == 'i') {
    expect_sums(w, rng);
  } else {
    w->sample = reference_sample_take(p, SAMPLED_ROWS, rng);
    if (!w->sample) exit(99);
  }
}

static int compare_sums(const struct work *w, char *why, size_t size)
{
  const xgemm_problem *p = &w->p;
  for (int64_t i = 0; i < p->m; i++) {
    int64_t sum = 0;
    int whole = 1;
    for (int64_t j = 0; j < p->n; j++) {
      double c = reference_get(&p->c, i, j);
      if (!(fabs(c) <= 0x1p53 && c == floor(c)))
        whole = 0;
      else
        sum += (int64_t)c * w->probe[j];
    }
    if (!whole || sum != w->row_sum[i]) {
      snprintf(why, size, "row %" PRId64 " is wrong (weighted sum)", i);
      return 0;
    }
  }
  return 1;
}

static int compare(const struct work *w, char *why, size_t size)
{
  struct reference_miss miss;
  int64_t bad;
  if (w->row_sum) return compare_sums(w, why, size);
  if (w->sample)
    bad = reference_sample_check(w->sample, &w->p, &miss, NULL);
  else
    bad = reference_check(&w->p, w->value, w->size, w->x->data == 'i', &miss, NULL);
  if (bad)
    snprintf(why, size,
             "%" PRId64 " elements wrong, first C[%" PRId64 "][%" PRId64
             "] = %.9g, not %.9g (off %.3g, "
             "bound %.3g)",
             bad, miss.i, miss.j, miss.got, miss.expected, miss.error, miss.bound);
  return bad == 0;
}

static uint64_t digest(const struct hostile *h)
{
  uint64_t hash = 14695981039346656037u;
  const uint32_t *word = (const uint32_t *)(const void *)h->room;
  for (size_t i = 0; i < h->capacity / 4; i++) hash = (hash ^ word[i]) * 1099511628211u;
  return hash;
}

static void call_runner(void *argument)
{
  struct work *w = argument;
  w->status = w->run(w->context, &w->p);
}

static void where(const struct work *w, const unsigned char *at, char *text, size_t size)
{
  const struct hostile *all[] = {&w->a.mem, &w->b.mem, &w->c.mem};
  snprintf(text, size, "address %p", (const void *)at);
  for (int i = 0; i < 3; i++)
    if (at >= all[i]->room - 4096 && at < all[i]->room + all[i]->capacity + 4096)
      snprintf(text, size, "%c%+td, which has %zu bytes", "ABC"[i], at - all[i]->data,
               all[i]->bytes);
}

static enum check_verdict judge(struct work *w, const struct hostile_fault *fault, uint64_t before,
                                char *why, size_t size)
{
  if (fault->signal) {
    char place[96];
    where(w, fault->address, place, sizeof place);
    snprintf(why, size, "signal %d at %s", fault->signal, place);
    return CHECK_WRONG;
  }
  if (w->status != XGEMM_OK) {
    snprintf(why, size, "%s: %s", xgemm_strerror((xgemm_status)w->status), xgemm_last_reason());
    if (digest(&w->c.mem) == before)
      return w->status == XGEMM_UNSUPPORTED ? CHECK_REFUSED : CHECK_WRONG;
    snprintf(why, size, "refused, but C has changed");
    return CHECK_WRONG;
  }
  if (!compare(w, why, size)) return CHECK_WRONG;
  if (!hostile_matrix_gaps_intact(&w->c)) {
    snprintf(why, size, "wrote to memory between or around C's elements");
    return CHECK_WRONG;
  }
  return CHECK_RIGHT;
}

enum check_verdict check_product(const struct check_product *x, struct reference_rng rng,
                                 check_runner *run, void *context, uint64_t *hash, char *why,
                                 size_t size)
{
  struct work w = {.x = x, .run = run, .context = context};
  struct hostile_fault fault;
  if (size) why[0] = 0;
  build(&w, &rng);
  expect(&w, &rng);
  uint64_t before = digest(&w.c.mem);
  hostile_readonly(&w.a.mem);
  hostile_readonly(&w.b.mem);
  hostile_catch(call_runner, &w, &fault);
  enum check_verdict verdict = judge(&w, &fault, before, why, size);
  if (hash) *hash = digest(&w.c.mem);
  hostile_matrix_free(&w.a);
  hostile_matrix_free(&w.b);
  hostile_matrix_free(&w.c);
  free(w.value);
  free(w.size);
  free(w.probe);
  free(w.row_sum);
  reference_sample_free(w.sample);
  return verdict;
}
