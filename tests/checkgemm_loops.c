/* Backends: the CPU's loops with each kernel and 1 to 4 threads, the reference, each GPU kernel. */
#include "checkgemm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct unit {
  const struct xg_backend *backend;
  const char *kernel; /* NULL: the backend's choice */
  xgemm_type type;
  int threads; /* compare 1..threads; 1: just one */
  check_runner *run;
  long refused;
  char refusal[160];
};

struct loop_case {
  struct check_product product;
  int64_t threads; /* -p only: 0 means each */
};

static void case_fields(struct loop_case *x, struct check_field *f)
{
  int count = check_product_fields(&x->product, f);
  f[count++] = (struct check_field){"threads", 'i', &x->threads};
  f[count] = (struct check_field){NULL, 0, NULL};
}

static int run_xgemm(void *context, const xgemm_problem *p)
{
  return xgemm(p, context);
}

static void describe(const struct loop_case *x, char *text, size_t size)
{
  struct loop_case copy = *x;
  struct check_field fields[CHECK_PRODUCT_FIELDS + 2];
  case_fields(&copy, fields);
  check_format("loops", fields, text, size);
}

/* All thread counts of one case; the bits must not change. */
static void run_case(struct check *k, struct unit *u, const struct loop_case *x)
{
  char text[400], why[256];
  uint64_t first = 0, hash = 0;
  struct loop_case whole = *x;
  whole.threads = 0;
  describe(&whole, text, sizeof text);
  struct reference_rng rng = check_rng(k, text);
  int low = x->threads > 1 ? (int)x->threads : 1;
  int high = x->threads ? low : u->threads;
  if (u->backend->id != XGEMM_BACKEND_CPU) high = low;
  for (int threads = low; threads <= high; threads++) {
    xgemm_options options = XGEMM_OPTIONS_INIT;
    options.backend = u->backend->id;
    options.threads = u->backend->id == XGEMM_BACKEND_CPU ? threads : 0;
    options.kernel = u->kernel;
    k->cases++;
    struct loop_case alone = *x;
    alone.threads = threads;
    describe(&alone, text, sizeof text);
    check_running(k, u->kernel, u->backend->name, text);
    enum check_verdict verdict =
        check_product(&x->product, rng, u->run, &options, &hash, why, sizeof why);
    if (verdict == CHECK_REFUSED) {
      if (u->refused++ == 0) snprintf(u->refusal, sizeof u->refusal, "%.150s", why);
      return;
    }
    if (verdict == CHECK_WRONG) {
      check_fail(k, u->kernel, u->backend->name, text, "%s", why);
      return;
    }
    if (threads == low) first = hash;
    if (hash != first) {
      describe(&whole, text, sizeof text);
      check_fail(k, u->kernel, u->backend->name, text, "%d threads give other bits than 1",
                 threads);
      return;
    }
  }
}

/* What repeats a check that is no case of its own. */
static const char again[] = "--layer loops";

/* ---------------------------------------------------------------- which cases */

static const int64_t lengths[] = {1,  2,  3,  4,  5,  6,  7,   8,   9,   12, 13,
                                  14, 15, 16, 17, 23, 24, 27,  28,  29,  31, 32,
                                  33, 47, 48, 63, 64, 65, 100, 127, 128, 129};
static const int64_t longer[] = {191, 200, 255, 257, 300, 383, 385, 513, 700};
/* Past any block size in use along one dimension, short in the others; and ragged large ones. */
static const int64_t deep[][3] = {
    {5, 3, 5000},    {14, 32, 2049},   {3, 9001, 5},    {9001, 3, 5},
    {2000, 17, 33},  {17, 4100, 40},   {33, 37, 1201},  {400, 400, 400},
    {1, 700, 700},   {700, 1, 700},    {261, 515, 129}, {500, 613, 777},
    {1027, 130, 65}, {130, 1027, 390}, {600, 35, 300},  {35, 600, 300}};
enum {
  LENGTHS = sizeof lengths / sizeof *lengths,
  LONGER = sizeof longer / sizeof *longer,
  DEEP = sizeof deep / sizeof *deep
};

static int64_t draw_length(struct reference_rng *rng)
{
  int64_t r = reference_integer(rng, 0, 99);
  if (r < 2) return 0;
  if (r < 14) return longer[reference_integer(rng, 0, LONGER - 1)];
  return lengths[reference_integer(rng, 0, LENGTHS - 1)];
}

static void draw_strides(struct check_product *x, struct reference_rng *rng)
{
  static const char read[] = "rcrcrcrcrcgG-xXzyo", written[] = "rcrcrcrcrcgG-xX";
  int64_t pad = reference_integer(rng, 0, 1) ? reference_integer(rng, 0, 9) : 0;
  check_strides(read[reference_integer(rng, 0, 17)], x->m, x->k, pad, &x->rsa, &x->csa);
  check_strides(read[reference_integer(rng, 0, 17)], x->k, x->n, pad, &x->rsb, &x->csb);
  check_strides(written[reference_integer(rng, 0, 14)], x->m, x->n, pad, &x->rsc, &x->csc);
}

static struct loop_case draw_case(struct reference_rng *rng, xgemm_type type)
{
  static const double exact[] = {1, 1, 0, -1, 3}, real[] = {1, 1, 0, -1, 0.7};
  struct loop_case x = {{.type = xg_letter(type)}, 0};
  struct check_product *p = &x.product;
  do {
    p->m = draw_length(rng), p->n = draw_length(rng), p->k = draw_length(rng);
  } while (p->m * p->n * p->k > 4000000);
  draw_strides(p, rng);
  int64_t kind = reference_integer(rng, 0, 9);
  p->data = kind < 5 ? 'i' : kind < 9 ? 'r' : 'n';
  const double *s = p->data == 'i' ? exact : real;
  p->alpha = s[reference_integer(rng, 0, 4)];
  p->beta = s[reference_integer(rng, 0, 4)];
  p->side = reference_integer(rng, 0, 1) ? 's' : 'e';
  return x;
}

static void check_drawn(struct check *k, struct unit *u, int count, int deep_count)
{
  char stream[120];
  snprintf(stream, sizeof stream, "loops %s %s", u->backend->name, u->kernel ? u->kernel : "-");
  struct reference_rng rng = check_rng(k, stream);
  long failures = k->failures;
  for (int i = 0; i < count; i++) {
    struct loop_case x = draw_case(&rng, u->type);
    run_case(k, u, &x);
    if (k->silent && k->failures > failures) return;
  }
  for (int i = 0; i < deep_count; i++) {
    struct loop_case x = draw_case(&rng, u->type);
    const int64_t *d = deep[i % DEEP];
    x.product.m = d[0], x.product.n = d[1], x.product.k = d[2];
    if (x.product.alpha == 0) x.product.alpha = 1;
    draw_strides(&x.product, &rng);
    run_case(k, u, &x);
    if (k->silent && k->failures > failures) return;
  }
}

/* ---------------------------------------------------------------- blocks of one array */

/* LU's update: C, A and B lie interleaved in one matrix; all around C must stay as it was. */
static void check_interleaved(struct check *k, struct unit *u)
{
  enum { N = 97, J = 37 };
  for (int layout = 0; layout < 2; layout++) {
    char text[80];
    snprintf(text, sizeof text, "blocks of one %s-major array", layout ? "row" : "column");
    struct reference_rng rng = check_rng(k, text);
    struct hostile_matrix x;
    int64_t rs = layout ? N + 3 : 1, cs = layout ? 1 : N + 3;
    hostile_matrix_alloc(&x, N, N, rs, cs, xg_sizeof(u->type), HOSTILE_END);
    xgemm_matrix all = {x.at, u->type, XGEMM_SPACE_HOST, rs, cs, {0}};
    reference_fill(&all, N, N, &rng, reference_exact_limit(u->type, J));
    xgemm_problem p = XGEMM_PROBLEM_INIT;
    p.m = p.n = N - J, p.k = J, p.alpha = -1, p.beta = 1;
    p.a = p.b = p.c = all;
    p.a.data = (char *)x.at + J * rs * (int64_t)x.es;
    p.b.data = (char *)x.at + J * cs * (int64_t)x.es;
    p.c.data = (char *)x.at + J * (rs + cs) * (int64_t)x.es;
    double *value = malloc(sizeof(double) * N * N), *size = malloc(sizeof(double) * N * N);
    double *before = malloc(sizeof(double) * N * N);
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++) before[i * N + j] = reference_get(&all, i, j);
    reference_gemm(&p, value, size);
    xgemm_options options = XGEMM_OPTIONS_INIT;
    options.backend = u->backend->id, options.kernel = u->kernel;
    int status = u->run(&options, &p);
    k->cases++;
    if (status == XGEMM_UNSUPPORTED)
      u->refused++;
    else if (status != XGEMM_OK)
      check_fail(k, u->kernel, u->backend->name, again, "%s: %s: %s", text,
                 xgemm_strerror((xgemm_status)status), xgemm_last_reason());
    else if (reference_check(&p, value, size, 1, NULL, NULL))
      check_fail(k, u->kernel, u->backend->name, again, "%s: wrong values", text);
    int changed = !hostile_matrix_gaps_intact(&x);
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++)
        changed |= (i < J || j < J) && before[i * N + j] != reference_get(&all, i, j);
    if (changed)
      check_fail(k, u->kernel, u->backend->name, again, "%s: wrote outside C's block", text);
    free(value), free(size), free(before);
    hostile_matrix_free(&x);
  }
}

/* A and B may be one matrix: C = A A^T. */
static void check_shared_operand(struct check *k, struct unit *u)
{
  enum { M = 53, K = 41 };
  const char *text = "A and B the same memory";
  struct reference_rng rng = check_rng(k, text);
  struct hostile_matrix a, c;
  hostile_matrix_alloc(&a, M, K, K, 1, xg_sizeof(u->type), HOSTILE_END);
  hostile_matrix_alloc(&c, M, M, 1, M + 2, xg_sizeof(u->type), HOSTILE_START);
  xgemm_problem p = XGEMM_PROBLEM_INIT;
  p.m = p.n = M, p.k = K;
  p.a = (xgemm_matrix){a.at, u->type, XGEMM_SPACE_HOST, a.rs, a.cs, {0}};
  p.b = xgemm_transpose(p.a);
  p.c = (xgemm_matrix){c.at, u->type, XGEMM_SPACE_HOST, c.rs, c.cs, {0}};
  reference_fill(&p.a, M, K, &rng, reference_exact_limit(u->type, K));
  double value[M * M], size[M * M];
  reference_gemm(&p, value, size);
  hostile_readonly(&a.mem);
  xgemm_options options = XGEMM_OPTIONS_INIT;
  options.backend = u->backend->id, options.kernel = u->kernel;
  int status = u->run(&options, &p);
  k->cases++;
  if (status == XGEMM_UNSUPPORTED)
    u->refused++;
  else if (status != XGEMM_OK || reference_check(&p, value, size, 1, NULL, NULL) ||
           !hostile_matrix_gaps_intact(&c))
    check_fail(k, u->kernel, u->backend->name, again, "%s: wrong result or status %d", text,
               status);
  hostile_matrix_free(&a);
  hostile_matrix_free(&c);
}

/* ---------------------------------------------------------------- units */

/* The plan of a forced kernel names it: nothing else ran in its place. */
static void check_named(struct check *k, const struct unit *u)
{
  float memory[3] = {1, 2, 0};
  double wide[3] = {1, 2, 0};
  char text[512] = "";
  xgemm_problem p = XGEMM_PROBLEM_INIT;
  xgemm_options options = XGEMM_OPTIONS_INIT;
  xgemm_plan *plan = NULL;
  p.m = p.n = p.k = 1;
  void *at = u->type == XGEMM_F64 ? (void *)wide : (void *)memory;
  p.a = p.b = p.c = xgemm_row_major(at, u->type, 1);
  p.a.space = p.b.space = p.c.space = XGEMM_SPACE_HOST;
  p.c.data = (char *)at + 2 * xg_sizeof(u->type);
  options.backend = u->backend->id, options.kernel = u->kernel;
  xgemm_status status = xgemm_plan_create(&plan, &p, &options);
  if (status == XGEMM_UNSUPPORTED) return;
  if (status == XGEMM_OK) xgemm_plan_describe(plan, 0, text, sizeof text);
  xgemm_plan_destroy(plan);
  if (status != XGEMM_OK || !strstr(text, u->kernel))
    check_fail(k, u->kernel, u->backend->name, again, "plan says \"%s\" (%s), not the kernel", text,
               xgemm_strerror(status));
}

static void check_unit(struct check *k, struct unit *u, int count, int deep_count)
{
  char name[120], remark[200] = "";
  long cases = k->cases, failures = k->failures;
  snprintf(name, sizeof name, "loops %s %c %s", u->backend->name, xg_letter(u->type),
           u->kernel ? u->kernel : "(its choice)");
  check_unit_begin(k);
  if (k->problem) {
    struct loop_case x = {{.type = xg_letter(u->type),
                           .m = 7,
                           .n = 5,
                           .k = 3,
                           .rsa = 3,
                           .csa = 1,
                           .rsb = 5,
                           .csb = 1,
                           .rsc = 5,
                           .csc = 1,
                           .alpha = 1,
                           .data = 'i',
                           .side = 'e'},
                          0};
    struct check_field fields[CHECK_PRODUCT_FIELDS + 2];
    case_fields(&x, fields);
    check_parse(k, fields);
    if (x.product.type != xg_letter(u->type)) return;
    run_case(k, u, &x);
  } else {
    if (u->kernel) check_named(k, u);
    check_drawn(k, u, count, deep_count);
    check_interleaved(k, u);
    check_shared_operand(k, u);
  }
  long done = k->cases - cases;
  if (u->refused) snprintf(remark, sizeof remark, "%ld refused (%s)", u->refused, u->refusal);
  if (u->refused == done && !k->problem)
    check_fail(k, u->kernel, u->backend->name, again, "every case was refused: %s", u->refusal);
  check_unit_end(k, name, cases, failures, remark);
}

static void check_backend(struct check *k, const struct xg_backend *b)
{
  char name[64];
  snprintf(name, sizeof name, "loops %s", b->name);
  const char *reason = b->available(1);
  if (reason) {
    check_skip(k, name, reason);
    return;
  }
  int quick = k->tier == CHECK_QUICK, ref = b->id == XGEMM_BACKEND_REF;
  int count = quick ? 60 : ref ? 200 : 700, deep_count = quick ? 3 : ref ? 8 : DEEP;
  for (int t = 0; t < 2 && !k->kernel; t++) {
    struct unit u = {
        .backend = b, .type = t ? XGEMM_F64 : XGEMM_F32, .threads = 4, .run = run_xgemm};
    check_unit(k, &u, count, deep_count);
  }
  for (int i = 0; i < b->kernel_count(); i++) {
    struct xg_kernel_info info = b->kernel_info(i);
    if (ref || !check_wants_kernel(k, info.name)) continue;
    struct unit u = {
        .backend = b, .kernel = info.name, .type = info.type, .threads = 4, .run = run_xgemm};
    snprintf(name, sizeof name, "loops %s %s", b->name, info.name);
    if (info.reason)
      check_skip(k, name, info.reason);
    else
      check_unit(k, &u, quick ? 30 : 250, quick ? 0 : DEEP);
  }
}

void check_loops(struct check *k)
{
  for (const struct xg_backend *const *b = xg_backends; *b; b++)
    if (check_wants_backend(k, (*b)->name)) check_backend(k, *b);
}

/* Selftest: the drawn cases through another product. */
void check_one_runner(struct check *k, xgemm_type type, check_runner *run)
{
  struct unit u = {.backend = &xg_backend_cpu, .type = type, .threads = 3, .run = run};
  long failures = k->failures;
  check_drawn(k, &u, 200, 0);
  if (k->failures == failures) check_interleaved(k, &u);
}
