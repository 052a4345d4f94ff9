/* The BLAS names: each against the reference, and against OpenBLAS where that can be loaded. */
#include "checkgemm.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xgemm_cblas.h"

/* One call as BLAS sees it. */
struct blas_case {
  char type, layout, ta, tb; /* layout: C column-major, R row-major; ta, tb: N T C */
  int64_t m, n, k, pad;      /* leading dimensions: the least plus pad (plus 1 for B, 2 for C) */
  double alpha, beta;
  char data, side;
};

static void case_fields(struct blas_case *x, struct check_field *f)
{
  struct check_field all[] = {
      {"type", 'c', &x->type}, {"layout", 'c', &x->layout}, {"ta", 'c', &x->ta},
      {"tb", 'c', &x->tb},     {"m", 'i', &x->m},           {"n", 'i', &x->n},
      {"k", 'i', &x->k},       {"pad", 'i', &x->pad},       {"alpha", 'd', &x->alpha},
      {"beta", 'd', &x->beta}, {"data", 'c', &x->data},     {"side", 'c', &x->side},
      {NULL, 0, NULL}};
  memcpy(f, all, sizeof all);
}

typedef void sgemm_cblas(CBLAS_LAYOUT, CBLAS_TRANSPOSE, CBLAS_TRANSPOSE, int, int, int, float,
                         const float *, int, const float *, int, float, float *, int);
typedef void dgemm_cblas(CBLAS_LAYOUT, CBLAS_TRANSPOSE, CBLAS_TRANSPOSE, int, int, int, double,
                         const double *, int, const double *, int, double, double *, int);

static sgemm_cblas *peer_s;
static dgemm_cblas *peer_d;

/* What a name is called with, whatever its convention. */
struct blas_call {
  const struct blas_case *x;
  int64_t lda, ldb, ldc;
  const void *a, *b;
  void *c;
};

static CBLAS_TRANSPOSE transpose(char t)
{
  return t == 'N' ? CblasNoTrans : t == 'T' ? CblasTrans : CblasConjTrans;
}

#define CBLAS_CALL(function, type, integer)                                                        \
  function(q->x->layout == 'R' ? CblasRowMajor : CblasColMajor, transpose(q->x->ta),               \
           transpose(q->x->tb), (integer)q->x->m, (integer)q->x->n, (integer)q->x->k,              \
           (type)q->x->alpha, (const type *)q->a, (integer)q->lda, (const type *)q->b,             \
           (integer)q->ldb, (type)q->x->beta, (type *)q->c, (integer)q->ldc)

static void call_cblas(const struct blas_call *q)
{
  if (q->x->type == 'd')
    CBLAS_CALL(cblas_dgemm, double, int);
  else
    CBLAS_CALL(cblas_sgemm, float, int);
}

static void call_cblas_64(const struct blas_call *q)
{
  if (q->x->type == 'd')
    CBLAS_CALL(cblas_dgemm_64, double, int64_t);
  else
    CBLAS_CALL(cblas_sgemm_64, float, int64_t);
}

static void call_cblas64_(const struct blas_call *q)
{
  if (q->x->type == 'd')
    CBLAS_CALL(cblas_dgemm64_, double, int64_t);
  else
    CBLAS_CALL(cblas_sgemm64_, float, int64_t);
}

static void call_peer(const struct blas_call *q)
{
  if (q->x->type == 'd')
    CBLAS_CALL(peer_d, double, int);
  else
    CBLAS_CALL(peer_s, float, int);
}

static void call_fortran(const struct blas_call *q)
{
  int m = (int)q->x->m, n = (int)q->x->n, k = (int)q->x->k;
  int lda = (int)q->lda, ldb = (int)q->ldb, ldc = (int)q->ldc;
  float alpha = (float)q->x->alpha, beta = (float)q->x->beta;
  /* Either case is allowed. */
  char ta = (char)(q->x->ta | (q->x->m & 1 ? 32 : 0)),
       tb = (char)(q->x->tb | (q->x->n & 1 ? 32 : 0));
  if (q->x->type == 'd')
    dgemm_(&ta, &tb, &m, &n, &k, &q->x->alpha, q->a, &lda, q->b, &ldb, &q->x->beta, q->c, &ldc);
  else
    sgemm_(&ta, &tb, &m, &n, &k, &alpha, q->a, &lda, q->b, &ldb, &beta, q->c, &ldc);
}

static void call_fortran_64(const struct blas_call *q)
{
  const struct blas_case *x = q->x;
  float alpha = (float)x->alpha, beta = (float)x->beta;
  if (x->type == 'd')
    dgemm_64_(&x->ta, &x->tb, &x->m, &x->n, &x->k, &x->alpha, q->a, &q->lda, q->b, &q->ldb,
              &x->beta, q->c, &q->ldc);
  else
    sgemm_64_(&x->ta, &x->tb, &x->m, &x->n, &x->k, &alpha, q->a, &q->lda, q->b, &q->ldb, &beta,
              q->c, &q->ldc);
}

static const struct blas_name {
  const char *name; /* with ? for the type */
  void (*call)(const struct blas_call *);
  int fortran; /* column-major only */
} names[] = {{"cblas_?gemm", call_cblas, 0},
             {"?gemm_", call_fortran, 1},
             {"cblas_?gemm_64", call_cblas_64, 0},
             {"cblas_?gemm64_", call_cblas64_, 0},
             {"?gemm_64_", call_fortran_64, 1}};
enum { NAMES = sizeof names / sizeof *names };

/* ---------------------------------------------------------------- one case */

struct session {
  const struct blas_name *name;
  struct blas_call call;
  float *other_s; /* OpenBLAS's result */
  double *other_d;
  int compared, disagree;
  double apart;
};

/* As strides: where element (i,j) of op(X) is. */
static void op_strides(char layout, char t, int64_t ld, int64_t *rs, int64_t *cs)
{
  int contiguous_columns = (layout == 'C') == (t == 'N');
  *rs = contiguous_columns ? 1 : ld;
  *cs = contiguous_columns ? ld : 1;
}

/* The least leading dimension of op(X), r x c after op. */
static int64_t least_ld(char layout, char t, int64_t r, int64_t c)
{
  int64_t least = (layout == 'C') == (t == 'N') ? r : c;
  return least > 1 ? least : 1;
}

/* OpenBLAS computes in a copy of C first; ours then in place. */
static int run_names(void *context, const xgemm_problem *p)
{
  struct session *s = context;
  struct blas_call q = s->call;
  q.a = p->a.data, q.b = p->b.data, q.c = p->c.data;
  /* alpha = 0, beta = 0 and NaN are where OpenBLAS is known to depart from the definition. */
  int compare = peer_s && peer_d && q.x->alpha != 0 && q.x->beta != 0 && q.x->data != 'n' &&
                p->m > 0 && p->n > 0 && p->k > 0;
  void *copy = NULL;
  size_t es = q.x->type == 'd' ? 8 : 4;
  size_t span = (size_t)hostile_span(p->m, p->n, p->c.row_stride, p->c.col_stride);
  if (compare) {
    copy = malloc(span * es);
    memcpy(copy, q.c, span * es);
    struct blas_call other = q;
    other.c = copy;
    call_peer(&other);
  }
  s->name->call(&q);
  if (compare) {
    xgemm_matrix theirs = p->c;
    theirs.data = copy;
    s->compared++;
    for (int64_t i = 0; i < p->m; i++)
      for (int64_t j = 0; j < p->n; j++) {
        double difference = fabs(reference_get(&p->c, i, j) - reference_get(&theirs, i, j));
        /* Each is within the bound of the exact result; entries are below 1, so size <= k + 1. */
        double bound = q.x->data == 'i' ? 0 : 2 * reference_bound(p, (double)p->k + 1);
        if (!(difference <= bound)) s->disagree = 1, s->apart = difference;
      }
    free(copy);
  }
  return XGEMM_OK;
}

static void run_case(struct check *k, const struct blas_name *name, const struct blas_case *x,
                     struct session *s)
{
  char text[300], why[256];
  struct check_field fields[13];
  struct blas_case copy = *x;
  case_fields(&copy, fields);
  check_format("blas", fields, text, sizeof text);
  s->name = name;
  s->call =
      (struct blas_call){.x = x,
                         .lda = least_ld(x->layout, x->ta, x->m, x->k) + x->pad,
                         .ldb = least_ld(x->layout, x->tb, x->k, x->n) + (x->pad ? x->pad + 1 : 0),
                         .ldc = least_ld(x->layout, 'N', x->m, x->n) + (x->pad ? x->pad + 2 : 0)};
  s->disagree = 0;
  struct check_product p = {.type = x->type,
                            .m = x->m,
                            .n = x->n,
                            .k = x->k,
                            .alpha = x->alpha,
                            .beta = x->beta,
                            .data = x->data,
                            .side = x->side};
  op_strides(x->layout, x->ta, s->call.lda, &p.rsa, &p.csa);
  op_strides(x->layout, x->tb, s->call.ldb, &p.rsb, &p.csb);
  op_strides(x->layout, 'N', s->call.ldc, &p.rsc, &p.csc);
  k->cases++;
  check_running(k, name->name, NULL, text);
  if (check_product(&p, check_rng(k, text), run_names, s, NULL, why, sizeof why) != CHECK_RIGHT)
    check_fail(k, name->name, NULL, text, "%s", why);
  else if (s->disagree)
    check_fail(k, name->name, NULL, text, "differs from OpenBLAS by %.3g", s->apart);
}

/* ---------------------------------------------------------------- which cases */

static const int64_t sizes[][3] = {{1, 1, 1},    {8, 8, 8},     {3, 5, 7},     {17, 1, 9},
                                   {1, 19, 6},   {32, 33, 1},   {23, 23, 23},  {48, 47, 50},
                                   {64, 64, 65}, {101, 7, 130}, {5, 140, 33},  {0, 4, 3},
                                   {4, 0, 3},    {6, 5, 0},     {129, 131, 67}};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void scalars(struct blas_case *x, int pair)
{
  static const double exact[] = {0, 1, -1, 2}, real[] = {0, 1, -1, 0.7};
  const double *s = x->data == 'i' ? exact : real;
  x->alpha = s[pair & 3], x->beta = s[pair >> 2];
}

static void check_name(struct check *k, const struct blas_name *name)
{
  static const char transposes[] = "NTC";
  int sizes_used = k->tier == CHECK_QUICK ? 9 : SIZES;
  struct session s = {0};
  long cases = k->cases, failures = k->failures;
  unsigned turn = 0;
  check_unit_begin(k);
  for (int layout = 0; layout < (name->fortran ? 1 : 2); layout++)
    for (int t = 0; t < 9; t++)
      for (int pair = 0; pair < 16; pair++)
        for (int z = 0; z < sizes_used; z++)
          for (int type = 0; type < 2; type++, turn++) {
            struct blas_case x = {.type = "sd"[type],
                                  .layout = "CR"[layout],
                                  .ta = transposes[t / 3],
                                  .tb = transposes[t % 3],
                                  .m = sizes[z][0],
                                  .n = sizes[z][1],
                                  .k = sizes[z][2]};
            struct reference_rng rng = {turn};
            uint64_t r = reference_next(&rng);
            if (k->tier == CHECK_QUICK && r % 4 != 0) continue;
            if (z == SIZES - 1 && r / 4 % 4 != 0) continue;
            x.pad = (int64_t[]){0, 1, 3, 16}[r >> 8 & 3];
            x.data = "iirrrrn"[(r >> 16) % 7];
            x.side = "es"[r >> 40 & 1];
            scalars(&x, pair);
            run_case(k, name, &x, &s);
          }
  char remark[64];
  snprintf(remark, sizeof remark, "%d compared with OpenBLAS", s.compared);
  check_unit_end(k, name->name, cases, failures, peer_s ? remark : "no OpenBLAS");
}

static void load_peer(struct check *k)
{
  void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    check_skip(k, "comparison with OpenBLAS", dlerror());
    return;
  }
  peer_s = (sgemm_cblas *)dlsym(library, "cblas_sgemm");
  peer_d = (dgemm_cblas *)dlsym(library, "cblas_dgemm");
  void (*threads)(int) = (void (*)(int))dlsym(library, "openblas_set_num_threads");
  if (threads) threads(1);
}

void check_blas(struct check *k)
{
  load_peer(k);
  for (int i = 0; i < NAMES; i++) {
    if (!check_wants_kernel(k, names[i].name)) continue;
    if (!k->problem) {
      check_name(k, &names[i]);
      continue;
    }
    struct blas_case x = {'s', 'C', 'N', 'N', 7, 5, 3, 0, 1, 0, 'i', 'e'};
    struct check_field fields[13];
    struct session s = {0};
    long cases = k->cases, failures = k->failures;
    case_fields(&x, fields);
    check_parse(k, fields);
    if (names[i].fortran && x.layout == 'R') continue;
    check_unit_begin(k);
    run_case(k, &names[i], &x, &s);
    check_unit_end(k, names[i].name, cases, failures, NULL);
  }
}
