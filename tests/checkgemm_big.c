/* --big: index arithmetic beyond 2^31 elements, long thin products, blocks that outgrow a guess.
 * All entries are ones (or small integers), so every element of the result is known exactly. */
#include "checkgemm.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "xgemm_cblas.h"

/* Zeros that take memory only where they are touched. */
static void *reserve(size_t bytes)
{
  void *p =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? NULL : p;
}

static double memory_bytes(void)
{
  return (double)sysconf(_SC_AVPHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
}

struct big {
  const char *name;
  char type;
  int64_t m, n, k;
  int64_t lda, ldb, ldc; /* column-major; 0: the least */
  int threads;           /* 0: the default, through the Fortran name; else xgemm() on the CPU */
};

/* MEM-07, MEM-08: the last six. */
static const struct big bigs[] = {
    {"dgemm_ A spans 2^31 elements", 'd', 4, 4, 32769, 65537, 0, 0, 0},
    {"dgemm_ B spans 2^31 elements", 'd', 4, 32769, 4, 0, 65537, 0, 0},
    {"dgemm_ C spans 2^31 elements", 'd', 4, 32769, 4, 0, 0, 65537, 0},
    {"sgemm_ A spans 2^31 elements", 's', 40, 40, 32769, 65537, 0, 0, 0},
    {"dgemm_ long column", 'd', 8388609, 1, 4, 0, 0, 0, 0},
    {"dgemm_ long row", 'd', 1, 8388609, 4, 0, 0, 0, 0},
    {"sgemm_ long sum", 's', 8, 8, 300000, 0, 0, 0, 0},
    {"dgemm_ long sum", 'd', 8, 8, 300000, 0, 0, 0, 0},
    {"dgemm_ long sides", 'd', 300000, 8, 8, 0, 0, 0, 0},
    {"dgemm 4000, 1 thread", 'd', 4000, 4000, 4000, 0, 0, 0, 1},
    {"sgemm 8000, 2 threads", 's', 8000, 8000, 8000, 0, 0, 0, 2},
    {"sgemm 23000 x 23000 x 64, 2 threads", 's', 23000, 23000, 64, 0, 0, 0, 2},
    {"sgemm 23000 x 23000 x 64, 3 threads", 's', 23000, 23000, 64, 0, 0, 0, 3},
    {"sgemm 23000 x 23000 x 64, 5 threads", 's', 23000, 23000, 64, 0, 0, 0, 5}};

struct shape {
  xgemm_type type;
  int64_t rows, cols, ld;
  size_t bytes;
  double touched;
  xgemm_matrix x;
};

static int make(struct shape *s, xgemm_type type, int64_t rows, int64_t cols, int64_t ld)
{
  size_t es = xg_sizeof(type);
  s->type = type, s->rows = rows, s->cols = cols, s->ld = ld ? ld : rows;
  s->bytes = (size_t)(s->ld * (cols - 1) + rows) * es;
  double column = (double)s->ld * (double)es >= 4096 ? 8192 + (double)rows * (double)es : 0;
  s->touched = column ? column * (double)cols : (double)s->bytes;
  if (s->touched > (double)s->bytes) s->touched = (double)s->bytes;
  void *data = reserve(s->bytes);
  s->x = xgemm_col_major(data, type, s->ld);
  s->x.space = XGEMM_SPACE_HOST;
  return data != NULL;
}

static void drop(struct shape *s)
{
  if (s->x.data) munmap(s->x.data, s->bytes);
}

static void fill_ones(struct shape *s)
{
  for (int64_t j = 0; j < s->cols; j++)
    for (int64_t i = 0; i < s->rows; i++) reference_set(&s->x, i, j, 1);
}

static int run(const struct big *g, const struct shape *a, const struct shape *b,
               const struct shape *c)
{
  int m = (int)g->m, n = (int)g->n, k = (int)g->k;
  int lda = (int)a->ld, ldb = (int)b->ld, ldc = (int)c->ld;
  if (g->threads) {
    xgemm_problem p = XGEMM_PROBLEM_INIT;
    xgemm_options options = XGEMM_OPTIONS_INIT;
    p.m = m, p.n = n, p.k = k, p.beta = 1, p.a = a->x, p.b = b->x, p.c = c->x;
    options.backend = XGEMM_BACKEND_CPU, options.threads = g->threads;
    return xgemm(&p, &options);
  }
  if (g->type == 'd') {
    const double one = 1;
    dgemm_("N", "N", &m, &n, &k, &one, a->x.data, &lda, b->x.data, &ldb, &one, c->x.data, &ldc);
  } else {
    const float one = 1;
    sgemm_("N", "N", &m, &n, &k, &one, a->x.data, &lda, b->x.data, &ldb, &one, c->x.data, &ldc);
  }
  return XGEMM_OK;
}

static void check_one(struct check *k, const struct big *g)
{
  xgemm_type type = g->type == 'd' ? XGEMM_F64 : XGEMM_F32;
  struct shape a = {0}, b = {0}, c = {0};
  long cases = k->cases, failures = k->failures;
  check_unit_begin(k);
  if (!make(&a, type, g->m, g->k, g->lda) || !make(&b, type, g->k, g->n, g->ldb) ||
      !make(&c, type, g->m, g->n, g->ldc)) {
    check_skip(k, g->name, strerror(errno));
  } else if (1.3 * (a.touched + b.touched + c.touched) > memory_bytes()) {
    check_skip(k, g->name, "not enough free memory");
  } else {
    fill_ones(&a);
    fill_ones(&b);
    k->cases++;
    int status = run(g, &a, &b, &c);
    if (status != XGEMM_OK)
      check_fail(k, g->name, NULL, "--big", "%s: %s", xgemm_strerror((xgemm_status)status),
                 xgemm_last_reason());
    int64_t bad = 0;
    for (int64_t j = 0; j < g->n && status == XGEMM_OK; j++)
      for (int64_t i = 0; i < g->m; i++)
        if (!(reference_get(&c.x, i, j) == (double)g->k) && bad++ == 0)
          check_fail(k, g->name, NULL, "--big", "C[%lld][%lld] = %.9g, not %lld", (long long)i,
                     (long long)j, reference_get(&c.x, i, j), (long long)g->k);
    check_unit_end(k, g->name, cases, failures, NULL);
  }
  drop(&a);
  drop(&b);
  drop(&c);
}

void check_big(struct check *k)
{
  for (size_t i = 0; i < sizeof bigs / sizeof *bigs; i++)
    if (check_wants_kernel(k, bigs[i].name)) check_one(k, &bigs[i]);
}
