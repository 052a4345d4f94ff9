/* The BLAS and CBLAS names through the shared library, as a program uses them that has its own
 * error handlers: argument positions, netlib's row-major protocol, values, letters, 64-bit names.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blas_names.h"
#include "cm.h"
#include "hostile.h"
#include "reference.h"
#include "xgemm_cblas.h"

enum { ROW = 101, COL = 102, N = 111, T = 112, C = 113 };

/* ---- the program's handlers, which must be the ones called ---- */

static struct {
  int calls, info, row_major, from_c, is_fortran;
  char name[32];
  size_t length;
} heard;

/* This program may have been compiled with hidden visibility, the library must find them still. */
#define SEEN __attribute__((visibility("default")))
SEEN void xerbla_(const char *name, const int *info, size_t length);
SEEN void cblas_xerbla(int info, const char *name, const char *format, ...);

void xerbla_(const char *name, const int *info, size_t length)
{
  heard.calls++;
  heard.is_fortran = 1;
  heard.info = *info;
  heard.length = length;
  size_t keep = length < sizeof heard.name - 1 ? length : sizeof heard.name - 1;
  memcpy(heard.name, name, keep);
  while (keep > 0 && heard.name[keep - 1] == ' ') keep--; /* Fortran pads with blanks */
  heard.name[keep] = 0;
}

/* The swap that netlib's own handler in its C test drivers makes. */
void cblas_xerbla(int info, const char *name, const char *format, ...)
{
  heard.calls++;
  heard.is_fortran = 0;
  heard.row_major = RowMajorStrg;
  heard.from_c = CBLAS_CallFromC;
  if (RowMajorStrg) {
    if (info == 4 || info == 5)
      info = 9 - info;
    else if (info == 9 || info == 11)
      info = 20 - info;
  }
  heard.info = info;
  snprintf(heard.name, sizeof heard.name, "%s", name);
  assert_non_null(format);
}

/* ---- calls into a C that nobody may touch ---- */

static struct hostile_matrix target;

static void call_and_listen(const struct blas_name *f, struct blas_call g)
{
  static double operand[4096];
  memset(&heard, 0, sizeof heard);
  g.a = operand, g.b = operand, g.c = target.at;
  g.alpha = 2, g.beta = 3;
  f->call(&g);
}

static void expect_error(const struct blas_name *f, const struct blas_call *g, int info)
{
  call_and_listen(f, *g);
  if (heard.calls != 1 || heard.info != info)
    fprintf(stderr, "%s: expected one call with %d, got %d with %d\n", f->name, info, heard.calls,
            heard.info);
  assert_int_equal(heard.calls, 1);
  assert_int_equal(heard.info, info);
  assert_string_equal(heard.name, f->reports);
  assert_int_equal(heard.is_fortran, f->fortran);
  if (f->fortran) {
    assert_true(heard.length >= 5 && heard.length <= 8);
  } else {
    assert_int_equal(heard.row_major, g->layout == ROW);
    assert_int_equal(heard.from_c, 1);
  }
  assert_int_equal(RowMajorStrg, 0);
  assert_int_equal(CBLAS_CallFromC, 0);
  assert_true(hostile_intact(&target.mem));
}

static int open_target(void **state)
{
  (void)state;
  hostile_matrix_alloc(&target, 0, 0, 1, 1, 8, HOSTILE_END);
  return 0;
}

static int close_target(void **state)
{
  (void)state;
  hostile_matrix_free(&target);
  return 0;
}

static struct blas_call good(const struct blas_name *f, int layout)
{
  struct blas_call g = {.layout = f->fortran ? 0 : layout,
                        .transa = f->fortran ? 'N' : N,
                        .transb = f->fortran ? 'N' : N,
                        .m = 4,
                        .n = 5,
                        .k = 6};
  int row = !f->fortran && layout == ROW;
  g.lda = row ? g.k : g.m, g.ldb = row ? g.n : g.k, g.ldc = row ? g.n : g.m;
  return g;
}

static void each_position(const struct blas_name *f, int layout)
{
  int shift = f->fortran ? 0 : 1; /* CBLAS counts the layout first */
  int row = !f->fortran && layout == ROW;
  for (int ta = 0; ta < 2; ta++)
    for (int tb = 0; tb < 2; tb++) {
      struct blas_call g = good(f, layout), bad;
      if (ta) g.transa = f->fortran ? 'T' : T, g.lda = row ? g.m : g.k;
      if (tb) g.transb = f->fortran ? 'c' : C, g.ldb = row ? g.k : g.n;
      bad = g, bad.transa = f->fortran ? 'X' : 999, expect_error(f, &bad, 1 + shift);
      bad = g, bad.transb = f->fortran ? '/' : -1, expect_error(f, &bad, 2 + shift);
      bad = g, bad.m = -1, expect_error(f, &bad, 3 + shift);
      bad = g, bad.n = -1, expect_error(f, &bad, 4 + shift);
      bad = g, bad.k = -1, expect_error(f, &bad, 5 + shift);
      bad = g, bad.lda--, expect_error(f, &bad, 8 + shift);
      bad = g, bad.ldb--, expect_error(f, &bad, 10 + shift);
      bad = g, bad.ldc--, expect_error(f, &bad, 13 + shift);
      bad = g, bad.lda = 0, expect_error(f, &bad, 8 + shift);
      bad = g, bad.ldb = -7, expect_error(f, &bad, 10 + shift);
    }
}

static void positions_in_every_spelling(void **state)
{
  (void)state;
  for (int i = 0; i < BLAS_NAMES; i++) {
    each_position(&blas_names[i], COL);
    if (!blas_names[i].fortran) each_position(&blas_names[i], ROW);
  }
}

/* Make the arguments bad from the last to the first: the earliest must always be the one heard. */
static void the_first_bad_argument_wins(void **state)
{
  (void)state;
  for (int i = 0; i < BLAS_NAMES; i++)
    for (int layout = ROW; layout <= COL; layout++) {
      const struct blas_name *f = &blas_names[i];
      struct blas_call g = good(f, layout);
      int shift = f->fortran ? 0 : 1;
      if (f->fortran && layout == ROW) continue;
      g.ldc = 0, expect_error(f, &g, 13 + shift);
      g.ldb = 0, expect_error(f, &g, 10 + shift);
      g.lda = 0, expect_error(f, &g, 8 + shift);
      g.k = -1, expect_error(f, &g, 5 + shift);
      /* In row-major the handler speaks of n first, as the swapped column-major call does: position
       * 4 and 5 are not compared together. */
      g.transb = 0, expect_error(f, &g, 2 + shift);
      g.transa = 0, expect_error(f, &g, 1 + shift);
      if (!f->fortran) g.layout = 7, expect_error(f, &g, 1);
    }
}

/* EDG-09, EDG-12. */
static void edg_09_edg_12_unknown_enums(void **state)
{
  (void)state;
  static const int bad[] = {0, -1, 1, 110, 114, 999, 'N'};
  for (int i = 0; i < BLAS_NAMES; i++)
    for (int j = 0; j < 7; j++) {
      const struct blas_name *f = &blas_names[i];
      if (f->fortran) continue;
      for (int layout = ROW; layout <= COL; layout++) {
        struct blas_call g = good(f, layout);
        g.transa = bad[j], expect_error(f, &g, 2);
        g.transa = N, g.transb = bad[j], expect_error(f, &g, 3);
        g.layout = bad[j], expect_error(f, &g, 1);
      }
    }
}

static void every_letter_but_ntc_is_refused(void **state)
{
  (void)state;
  for (int letter = 1; letter < 256; letter++) {
    const struct blas_name *f = &blas_names[1];
    struct blas_call g = good(f, COL);
    if (strchr("NnTtCc", letter)) continue;
    g.transa = letter, expect_error(f, &g, 1);
    g.transa = 'N', g.transb = letter, expect_error(f, &g, 2);
  }
}

/* EDG-06, EDG-13: nothing to compute, but the arguments are still checked; and no handler hears of
 * good calls. */
static void edg_06_edg_13_leading_dimensions(void **state)
{
  (void)state;
  for (int i = 0; i < 4; i++) {
    const struct blas_name *f = &blas_names[i];
    struct blas_call g = good(f, COL);
    g.m = 0, g.n = 3, g.k = 2, g.lda = 1, g.ldb = 2, g.ldc = 0;
    expect_error(f, &g, 13);
    g.ldc = 1, call_and_listen(f, g);
    assert_int_equal(heard.calls, 0);
    assert_true(hostile_intact(&target.mem));
    g = good(f, COL), g.n = 0, g.ldb = 5, expect_error(f, &g, 10);
    g = good(f, COL), g.k = 0, g.ldb = 0, expect_error(f, &g, 10);
    g = good(f, COL), g.transa = 'T', g.m = 1, g.n = 1, g.k = 7, g.lda = 6, g.ldb = 7, g.ldc = 1;
    expect_error(f, &g, 8);
  }
}

/* EDG-08. */
static void edg_08_row_major_leading_dimensions(void **state)
{
  (void)state;
  for (int i = 4; i < BLAS_NAMES; i++) {
    const struct blas_name *f = &blas_names[i];
    struct blas_call g = good(f, ROW);
    g.m = 2, g.n = 3, g.k = 4, g.lda = 2, g.ldb = 3, g.ldc = 3;
    expect_error(f, &g, 9);
    g.lda = 4, g.ldb = 2, expect_error(f, &g, 11);
    g.ldb = 3, g.ldc = 2, expect_error(f, &g, 14);
    g.layout = COL, g.lda = 2, g.ldb = 4, g.ldc = 1, expect_error(f, &g, 14);
    g.lda = 1, g.ldc = 2, expect_error(f, &g, 9);
    g.lda = 2, g.ldb = 3, expect_error(f, &g, 11);
    g.lda = 0, expect_error(f, &g, 9); /* API-02 */
  }
}

/* C[m x n], ldc = 2 < 5: the process lives, C keeps every byte (EDG-10). */
static void edg_10_short_ldc(void **state)
{
  (void)state;
  struct blas_call g = good(&blas_names[1], COL);
  g.m = 5, g.n = 2, g.k = 3, g.lda = 5, g.ldb = 3, g.ldc = 2;
  expect_error(&blas_names[1], &g, 13);
  expect_error(&blas_names[3], &g, 13);
}

static void quick_returns_take_null_pointers(void **state)
{
  (void)state;
  for (int i = 0; i < BLAS_NAMES; i++) {
    struct blas_call g = good(&blas_names[i], COL);
    memset(&heard, 0, sizeof heard);
    g.m = 0, blas_names[i].call(&g);
    g.m = 4, g.n = 0, blas_names[i].call(&g);
    g.n = 5, g.alpha = 0, g.beta = 1, blas_names[i].call(&g);
    g.k = 0, g.alpha = 1, blas_names[i].call(&g);
    assert_int_equal(heard.calls, 0);
  }
}

/* ---- values ---- */

/* How many 64-bit lines lie between, in memory of its own with a page that faults behind it. */
struct operand {
  struct hostile_matrix h;
  xgemm_matrix x; /* as the product sees it: op applied */
  int64_t ld;
};

static void operand_make(struct operand *o, int single, int64_t rows, int64_t cols, int transposed,
                         int row, int64_t pad, struct reference_rng *rng)
{
  int64_t stored_rows = transposed ? cols : rows, stored_cols = transposed ? rows : cols;
  int64_t line = row ? stored_cols : stored_rows;
  o->ld = (line > 0 ? line : 1) + pad;
  int by_rows = row != transposed;
  hostile_matrix_alloc(&o->h, rows, cols, by_rows ? o->ld : 1, by_rows ? 1 : o->ld, single ? 4 : 8,
                       HOSTILE_END);
  memset(&o->x, 0, sizeof o->x);
  o->x.data = o->h.at;
  o->x.type = single ? XGEMM_F32 : XGEMM_F64;
  o->x.row_stride = o->h.rs, o->x.col_stride = o->h.cs;
  reference_fill(&o->x, rows, cols, rng, 5);
}

struct request {
  int layout, ta, tb; /* 'N' 'n' 'T' ... whatever the spelling */
  int64_t m, n, k, pad;
  double alpha, beta;
};

static int cblas_number(int letter)
{
  return letter == 'N' || letter == 'n' ? N : letter == 'T' || letter == 't' ? T : C;
}

static void value_is_right(const struct blas_name *f, const struct request *q)
{
  struct reference_rng rng = {42};
  struct operand a, b, c;
  int row = !f->fortran && q->layout == ROW;
  int ta = cblas_number(q->ta) != N, tb = cblas_number(q->tb) != N;
  operand_make(&a, f->single, q->m, q->k, ta, row, q->pad, &rng);
  operand_make(&b, f->single, q->k, q->n, tb, row, q->pad ? q->pad + 1 : 0, &rng);
  operand_make(&c, f->single, q->m, q->n, 0, row, q->pad ? q->pad + 2 : 0, &rng);
  xgemm_problem p = {.m = q->m,
                     .n = q->n,
                     .k = q->k,
                     .alpha = q->alpha,
                     .beta = q->beta,
                     .a = a.x,
                     .b = b.x,
                     .c = c.x};
  double *value = calloc((size_t)(q->m * q->n) + 1, sizeof *value);
  assert_non_null(value);
  reference_gemm(&p, value, NULL);
  struct blas_call g = {.layout = q->layout,
                        .transa = f->fortran ? q->ta : cblas_number(q->ta),
                        .transb = f->fortran ? q->tb : cblas_number(q->tb),
                        .m = q->m,
                        .n = q->n,
                        .k = q->k,
                        .lda = a.ld,
                        .ldb = b.ld,
                        .ldc = c.ld,
                        .alpha = q->alpha,
                        .beta = q->beta,
                        .a = a.h.at,
                        .b = b.h.at,
                        .c = c.h.at};
  memset(&heard, 0, sizeof heard);
  f->call(&g);
  assert_int_equal(heard.calls, 0);
  if (reference_check(&p, value, NULL, 1, NULL, NULL) != 0)
    fprintf(stderr, "%s %s %c %c m=%d n=%d k=%d alpha=%g beta=%g is wrong\n", f->name,
            row ? "row" : "col", q->ta, q->tb, (int)q->m, (int)q->n, (int)q->k, q->alpha, q->beta);
  assert_int_equal(reference_check(&p, value, NULL, 1, NULL, NULL), 0);
  assert_true(hostile_matrix_gaps_intact(&a.h) && hostile_matrix_gaps_intact(&b.h));
  assert_true(hostile_matrix_gaps_intact(&c.h));
  assert_int_equal(CBLAS_CallFromC, 0);
  assert_int_equal(RowMajorStrg, 0);
  free(value);
  hostile_matrix_free(&a.h), hostile_matrix_free(&b.h), hostile_matrix_free(&c.h);
}

static void values_in_every_spelling(void **state)
{
  (void)state;
  static const char letters[] = "NnTtCc";
  static const int64_t sizes[][3] = {{1, 1, 1}, {3, 5, 2}, {17, 9, 33}, {70, 65, 40}};
  static const double scalars[][2] = {{1, 0}, {1, 1}, {-1, 2}, {0, 2}, {0.5, 0}};
  for (int i = 0; i < BLAS_NAMES; i++)
    for (int s = 0; s < 4; s++)
      for (int x = 0; x < 5; x++)
        for (int ta = 0; ta < 6; ta++)
          for (int tb = 0; tb < 6; tb++)
            for (int layout = ROW; layout <= COL; layout++) {
              struct request q = {layout,        letters[ta],   letters[tb],
                                  sizes[s][0],   sizes[s][1],   sizes[s][2],
                                  (ta + tb) % 3, scalars[x][0], scalars[x][1]};
              if (blas_names[i].fortran && layout == ROW) continue;
              if (!blas_names[i].fortran && (ta % 2 || tb % 2)) continue;
              value_is_right(&blas_names[i], &q);
            }
}

/* COR-03. */
static void cor_03_k_zero_row_major(void **state)
{
  (void)state;
  float a[4] = {1, 2, 3, 4}, b[4] = {1, 2, 3, 4}, c[2] = {0.266733f, 7};
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 1, 1, 0, 1, a, 2, b, 1, 0, c, 2);
  assert_true(c[0] == 0 && c[1] == 7);
}

/* COR-04. */
static void cor_04_k_zero_padded(void **state)
{
  (void)state;
  float a[10], b[2], c[20];
  int m = 9, n = 2, k = 0, lda = 10, ldb = 1, ldc = 10;
  float alpha = 1, beta = 0;
  memset(a, 0, sizeof a), memset(b, 0, sizeof b);
  for (int i = 0; i < 20; i++) c[i] = 1e10f;
  sgemm_("N", "N", &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc);
  for (int i = 0; i < 20; i++) assert_true(c[i] == (i % 10 == 9 ? 1e10f : 0));
}

/* COR-07. */
static void cor_07_small_integers(void **state)
{
  (void)state;
  static const float right[16] = {56,  62,  68,  74,  152, 174, 196, 218,
                                  248, 286, 324, 362, 344, 398, 452, 506};
  float a[16], b[16], c[16];
  for (int i = 0; i < 16; i++) a[i] = b[i] = (float)i, c[i] = -1;
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 4, 4, 4, 1, a, 4, b, 4, 0, c, 4);
  for (int i = 0; i < 16; i++) assert_true(c[i] == right[i]);
}

/* COR-08. */
static void cor_08_two_by_n(void **state)
{
  (void)state;
  static const double a[4] = {1, .1, -.1, 1};
  for (int n = 1; n <= 40; n++)
    for (int ldc = n; ldc <= 100; ldc += 100 - n) {
      double b[200], c[200];
      for (int j = 0; j < 200; j++) b[j] = j < 100 ? 1 : 0, c[j] = 5;
      cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 2, n, 2, 1, a, 2, b, 100, 0, c, ldc);
      for (int j = 0; j < n; j++) assert_true(c[j] == 1 && c[ldc + j] == -.1);
      for (int j = ldc + n; j < 200; j++) assert_true(c[j] == 5);
    }
}

/* API-04: a caller compiled for 64-bit integers by mistake: the low halves count. */
static void api_04_garbage_in_the_upper_halves(void **state)
{
  (void)state;
  typedef void wide(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, double, const double *,
                    int64_t, const double *, int64_t, double, double *, int64_t);
  wide *f = (wide *)(void (*)(void))cblas_dgemm;
  const int64_t junk = (int64_t)(UINT64_C(0xDEADBEEF) << 32);
  double a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {7, 8, 9, 10, 11, 12}, c[4] = {0, 0, 0, 0};
  f(junk | ROW, junk | N, junk | N, junk | 2, junk | 2, junk | 3, 1, a, junk | 3, b, junk | 2, 0, c,
    junk | 2);
  assert_true(c[0] == 58 && c[1] == 64 && c[2] == 139 && c[3] == 154);

  int64_t two = junk | 2, three = junk | 3; /* little endian: an int at the same address is right */
  int64_t plain_two = 2, plain_three = 3;
  double one = 1, zero = 0, d[4] = {0, 0, 0, 0}, e[4] = {0, 0, 0, 0};
  dgemm_("T", "T", (int *)&two, (int *)&two, (int *)&three, &one, a, (int *)&three, b, (int *)&two,
         &zero, d, (int *)&two);
  dgemm_64_("T", "T", &plain_two, &plain_two, &plain_three, &one, a, &plain_three, b, &plain_two,
            &zero, e, &plain_two);
  assert_true(d[0] == 58 && d[1] == 139 && d[2] == 64 && d[3] == 154);
  assert_memory_equal(d, e, sizeof d);
}

/* Leading dimensions whose byte count no address can hold are bad arguments. */
static void wide_names_refuse_spans_that_overflow(void **state)
{
  (void)state;
  const int64_t far = INT64_C(1) << 61;
  double x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, c[4] = {-1, -1, -1, -1};
  memset(&heard, 0, sizeof heard);
  cblas_dgemm_64(CblasRowMajor, CblasNoTrans, CblasNoTrans, 2, 2, 2, 1, x, far, x, 2, 0, c, 2);
  assert_true(heard.calls == 1 && c[0] == -1 && c[3] == -1);
  cblas_dgemm_64(CblasColMajor, CblasNoTrans, CblasNoTrans, 2, 2, 2, 1, x, 2, x, far, 0, c, 2);
  cblas_dgemm_64(CblasColMajor, CblasNoTrans, CblasNoTrans, 2, 2, 2, 1, x, 2, x, 2, 0, c, far);
  assert_true(heard.calls == 3 && heard.info == 14 && c[0] == -1 && c[3] == -1);
}

/* Sizes that an int cannot hold must be seen whole by the 64-bit names. */
static void wide_names_see_64_bits(void **state)
{
  (void)state;
  for (int i = 0; i < BLAS_NAMES; i++) {
    const struct blas_name *f = &blas_names[i];
    struct blas_call g = good(f, COL);
    if (!strstr(f->name, "64")) continue;
    g.m = INT64_C(1) << 32, g.n = 0;         /* low half 0 */
    expect_error(f, &g, f->fortran ? 8 : 9); /* lda = 4 is far too short for so many rows */
    g.lda = g.ldc = (INT64_C(1) << 32) + 4;
    call_and_listen(f, g);
    assert_int_equal(heard.calls, 0);
    g = good(f, COL), g.m = -(INT64_C(1) << 32), expect_error(f, &g, f->fortran ? 3 : 4);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(positions_in_every_spelling),
      cmocka_unit_test(the_first_bad_argument_wins),
      cmocka_unit_test(edg_09_edg_12_unknown_enums),
      cmocka_unit_test(every_letter_but_ntc_is_refused),
      cmocka_unit_test(edg_06_edg_13_leading_dimensions),
      cmocka_unit_test(edg_08_row_major_leading_dimensions),
      cmocka_unit_test(edg_10_short_ldc),
      cmocka_unit_test(quick_returns_take_null_pointers),
      cmocka_unit_test(values_in_every_spelling),
      cmocka_unit_test(cor_03_k_zero_row_major),
      cmocka_unit_test(cor_04_k_zero_padded),
      cmocka_unit_test(cor_07_small_integers),
      cmocka_unit_test(cor_08_two_by_n),
      cmocka_unit_test(api_04_garbage_in_the_upper_halves),
      cmocka_unit_test(wide_names_refuse_spans_that_overflow),
      cmocka_unit_test(wide_names_see_64_bits),
  };
  return cmocka_run_group_tests(tests, open_target, close_target);
}
