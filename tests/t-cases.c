/* Complaints that users of other libraries filed in public, as inputs: each test is named after its
 * case. Those about one subject (NaN, memory, errors, ...) are in that subject's program. */
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "cm.h"
#include "product.h"
#include "xgemm.h"
#include "xgemm_cblas.h"

#include "../common/backend.h"

static xgemm_options cpu(int threads)
{
  xgemm_options o = XGEMM_OPTIONS_INIT;
  o.backend = XGEMM_BACKEND_CPU, o.threads = threads;
  return o;
}

static void must_run(const xgemm_problem *p, const xgemm_options *o)
{
  xgemm_status status = xgemm(p, o);
  if (status != XGEMM_OK) fprintf(stderr, "%s\n", xgemm_last_reason());
  assert_int_equal(status, XGEMM_OK);
}

/* ---- strides ---- */

static void cor_09_no_unit_stride(void **state)
{
  (void)state;
  for (int m = 200; m <= 300; m += 25)
    for (int backend = XGEMM_BACKEND_AUTO; backend <= XGEMM_BACKEND_CPU; backend++) {
      xgemm_options o = XGEMM_OPTIONS_INIT;
      struct product x;
      product_make(&x, XGEMM_F64, m, m, 8, "ggg", 1);
      o.backend = (xgemm_backend)backend;
      product_must_be_right(&x, &o);
      product_free(&x);
    }
}

static void cor_09_negative_strides(void **state)
{
  (void)state;
  static const char *const layouts[] = {"nnn", "rnc", "nrg", "gcn", "n0n"};
  static const int64_t sizes[][3] = {{1, 1, 1}, {5, 6, 7}, {31, 33, 29}, {130, 90, 270}};
  for (int type = XGEMM_F32; type <= XGEMM_F64; type++)
    for (int l = 0; l < 5; l++)
      for (int s = 0; s < 4; s++)
        for (int threads = 1; threads <= 2; threads++) {
          xgemm_options o = cpu(threads);
          struct product x;
          product_make(&x, (xgemm_type)type, sizes[s][0], sizes[s][1], sizes[s][2], layouts[l], 1);
          x.p.alpha = -1, x.p.beta = 2;
          product_must_be_right(&x, &o);
          product_free(&x);
        }
}

/* ---- A and B alias ---- */

static void cor_16_gram_matrix_in_row_major(void **state)
{
  (void)state;
  static const int sizes[][2] = {{50, 50}, {55, 165}}; /* n, k */
  for (int s = 0; s < 2; s++) {
    int n = sizes[s][0], k = sizes[s][1];
    struct product x;
    product_make(&x, XGEMM_F64, n, n, k, "crr", 3); /* A: k x n, stored by rows, transposed */
    product_fill(&x, 3, 0);
    memcpy(x.p.b.data, x.p.a.data, (size_t)(n * k) * sizeof(double));
    product_expect(&x);
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, n, n, k, 1, x.p.a.data, n, x.p.a.data, n,
                0, x.p.c.data, n);
    assert_true(product_is_right(&x, 0));
    /* x'Cx = |Ax|^2 cannot be negative by more than rounding. */
    struct reference_rng rng = {5};
    for (int trial = 0; trial < 20; trial++) {
      double form = 0, v[64];
      for (int i = 0; i < n; i++) v[i] = reference_uniform(&rng);
      for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) form += v[i] * reference_get(&x.p.c, i, j) * v[j];
      assert_true(form >= -1e-10);
    }
    product_free(&x);
  }
}

static void same_buffer_as_copied(int m, int k, xgemm_type type)
{
  struct product x;
  product_make(&x, type, m, m, k, "rcr", 4);
  product_fill(&x, 4, 0);
  memcpy(x.p.b.data, x.p.a.data, (size_t)(m * k) * (type == XGEMM_F64 ? 8 : 4));
  product_expect(&x);
  must_run(&x.p, NULL);
  assert_true(product_is_right(&x, 0));
  void *copied = product_bits(&x);
  x.p.b.data = x.p.a.data;
  reference_fill_with(&x.p.c, m, m, -1);
  must_run(&x.p, NULL);
  void *aliased = product_bits(&x);
  assert_memory_equal(copied, aliased, product_bytes(&x));
  for (int i = 0; i < m; i++)
    for (int j = 0; j < i; j++)
      assert_true(reference_get(&x.p.c, i, j) == reference_get(&x.p.c, j, i));
  free(copied), free(aliased);
  product_free(&x);
}

static void cor_21_a_times_its_transpose(void **state)
{
  (void)state;
  static const int sizes[][2] = {{4, 5}, {64, 33}, {33, 64}, {150, 300}};
  for (int s = 0; s < 4; s++)
    for (int type = XGEMM_F32; type <= XGEMM_F64; type++)
      same_buffer_as_copied(sizes[s][0], sizes[s][1], (xgemm_type)type);
}

/* ---- every kernel on the shape that broke one elsewhere ---- */

static void cor_17_every_kernel_on_a_tall_product(void **state)
{
  (void)state;
  for (int i = 0; i < xg_backend_cpu.kernel_count(); i++) {
    struct xg_kernel_info info = xg_backend_cpu.kernel_info(i);
    xgemm_options o = cpu(1);
    struct product x;
    if (info.reason) continue;
    o.kernel = info.name;
    product_make(&x, info.type, 55, 55, 165, "crr", 3);
    product_must_be_right(&x, &o);
    product_free(&x);
  }
}

/* ---- signals and threads ---- */

static volatile sig_atomic_t ticks;

static void on_tick(int number)
{
  (void)number;
  /* Vector registers and the red zone are used here as any handler may. */
  volatile double scratch[64];
  for (int i = 0; i < 64; i++) scratch[i] = i * 1.5;
  ticks += scratch[63] == 94.5;
}

static void cor_18_a_timer_interrupts(void **state)
{
  (void)state;
  struct sigaction action, old;
  struct itimerval every_ms = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
  struct reference_rng rng = {77};
  memset(&action, 0, sizeof action);
  action.sa_handler = on_tick;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, &old);
  setitimer(ITIMER_REAL, &every_ms, NULL);
  for (int draw = 0; draw < 150; draw++) {
    struct product x;
    int64_t m = reference_integer(&rng, 1, 300), n = reference_integer(&rng, 1, 300);
    product_make(&x, draw % 2 ? XGEMM_F64 : XGEMM_F32, m, n, reference_integer(&rng, 1, 300), "rcr",
                 (uint64_t)draw);
    product_must_be_right(&x, NULL);
    product_free(&x);
  }
  setitimer(ITIMER_REAL, &never, NULL);
  sigaction(SIGALRM, &old, NULL);
  assert_true(ticks > 0);
}

struct caller {
  struct product x;
  xgemm_options options;
  void *bits;
  int rounds, failures;
};

static void *call_repeatedly(void *argument)
{
  struct caller *c = argument;
  for (int i = 0; i < c->rounds; i++) {
    reference_fill_with(&c->x.p.c, c->x.p.m, c->x.p.n, NAN);
    if (xgemm(&c->x.p, &c->options) != XGEMM_OK) c->failures++;
    void *now = product_bits(&c->x);
    c->failures += memcmp(now, c->bits, product_bytes(&c->x)) != 0;
    free(now);
  }
  return NULL;
}

static void caller_prepare(struct caller *c, xgemm_type type, int64_t m, int64_t n, int64_t k,
                           int threads, int rounds)
{
  product_make(&c->x, type, m, n, k, "rcr", (uint64_t)(m + n + k));
  product_fill(&c->x, (uint64_t)(m * n), 0);
  c->options = cpu(threads);
  product_expect(&c->x);
  must_run(&c->x.p, &c->options);
  assert_true(product_is_right(&c->x, 0));
  c->bits = product_bits(&c->x);
  c->rounds = rounds;
  c->failures = 0;
}

static void run_callers(struct caller *callers, int count)
{
  pthread_t threads[32];
  for (int i = 0; i < count; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, call_repeatedly, &callers[i]), 0);
  for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < count; i++) {
    assert_int_equal(callers[i].failures, 0);
    free(callers[i].bits);
    product_free(&callers[i].x);
  }
}

static void cor_13_a_large_product_beside_small_ones(void **state)
{
  (void)state;
  static struct caller callers[2];
  caller_prepare(&callers[0], XGEMM_F64, 500, 400, 300, 8, 12);
  caller_prepare(&callers[1], XGEMM_F64, 64, 64, 128, 8, 50);
  run_callers(callers, 2);
}

static void thr_05_twenty_callers(void **state)
{
  (void)state;
  for (int threads = 0; threads <= 1; threads++) {
    static struct caller callers[20];
    struct reference_rng rng = {5};
    for (int i = 0; i < 20; i++)
      caller_prepare(&callers[i], i % 2 ? XGEMM_F64 : XGEMM_F32, reference_integer(&rng, 1, 300),
                     reference_integer(&rng, 1, 300), reference_integer(&rng, 1, 300), threads, 12);
    run_callers(callers, 20);
  }
}

/* ---- sizes ---- */

static void edg_15_one_long_side(void **state)
{
  (void)state;
  const int64_t size = (1 << 23) + 1;
  double *ones = malloc((size_t)size * 4 * sizeof *ones), *c = calloc((size_t)size, sizeof *c);
  assert_true(ones && c);
  for (int64_t i = 0; i < 4 * size; i++) ones[i] = 1;
  for (int variant = 0; variant < 6; variant++) {
    int tall = variant % 2;
    xgemm_options o = cpu(variant / 2 * 2); /* default, 2, 4 threads */
    xgemm_problem p = XGEMM_PROBLEM_INIT;
    p.m = tall ? size : 1, p.n = tall ? 1 : size, p.k = 4, p.beta = 1;
    p.a = xgemm_col_major(ones, XGEMM_F64, p.m);
    p.b = xgemm_col_major(ones, XGEMM_F64, 4);
    p.c = xgemm_col_major(c, XGEMM_F64, p.m);
    for (int64_t i = 0; i < size; i++) c[i] = 0;
    must_run(&p, &o);
    int64_t wrong = 0;
    for (int64_t i = 0; i < size; i++) wrong += !(c[i] == 4);
    assert_true(wrong == 0);
  }
  free(ones), free(c);
}

/* A or C spans more than 2^31 elements, though little of it is touched: 4 rows of each column. */
enum { LONG_LD = 65537, LONG_COUNT = 32769 };

static void wide_a(double *wide, const double *ones, const xgemm_options *o)
{
  xgemm_problem p = XGEMM_PROBLEM_INIT;
  double c[16] = {0};
  p.m = p.n = 4, p.k = LONG_COUNT;
  p.a = xgemm_col_major(wide, XGEMM_F64, LONG_LD);
  p.b = xgemm_col_major(ones, XGEMM_F64, LONG_COUNT);
  p.c = xgemm_col_major(c, XGEMM_F64, 4);
  must_run(&p, o);
  for (int i = 0; i < 16; i++) assert_true(c[i] == LONG_COUNT);
}

static void wide_c(double *wide, const double *ones, const xgemm_options *o)
{
  xgemm_problem p = XGEMM_PROBLEM_INIT;
  int64_t wrong = 0;
  p.m = p.k = 4, p.n = LONG_COUNT, p.beta = 1;
  p.a = p.b = xgemm_col_major(ones, XGEMM_F64, 4);
  p.c = xgemm_col_major(wide, XGEMM_F64, LONG_LD);
  must_run(&p, o);
  for (int64_t j = 0; j < LONG_COUNT; j++)
    for (int i = 0; i < 4; i++) {
      wrong += !(wide[j * LONG_LD + i] == 5);
      wide[j * LONG_LD + i] = 1;
    }
  assert_true(wrong == 0);
  assert_true(wide[(int64_t)(LONG_COUNT - 1) * LONG_LD + 4] == 0);
}

static void wide_by_the_fortran_name(double *wide, const double *ones)
{
  const int ld = LONG_LD, count = LONG_COUNT, four = 4;
  const double one = 1, zero = 0;
  double c[16];
  int64_t wrong = 0;
  dgemm_("N", "N", &four, &four, &count, &one, wide, &ld, ones, &count, &zero, c, &four);
  for (int i = 0; i < 16; i++) assert_true(c[i] == LONG_COUNT);
  dgemm_("N", "N", &four, &count, &four, &one, ones, &four, ones, &four, &zero, wide, &ld);
  for (int64_t j = 0; j < LONG_COUNT; j++)
    for (int i = 0; i < 4; i++) wrong += !(wide[j * LONG_LD + i] == 4);
  assert_true(wrong == 0);
}

static void api_07_leading_dimension_beyond_2_31(void **state)
{
  (void)state;
  const size_t bytes = (size_t)LONG_LD * LONG_COUNT * sizeof(double);
  double *ones = malloc((size_t)LONG_COUNT * 4 * sizeof *ones);
  double *wide =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  assert_non_null(ones);
  if (wide == MAP_FAILED) skip();
  madvise(wide, bytes, MADV_NOHUGEPAGE); /* 4 kB for each column, not 2 MB */
  for (int i = 0; i < 4 * LONG_COUNT; i++) ones[i] = 1;
  for (int64_t j = 0; j < LONG_COUNT; j++)
    for (int i = 0; i < 4; i++) wide[j * LONG_LD + i] = 1;
  for (int i = 0; i < xg_backend_cpu.kernel_count(); i++) {
    struct xg_kernel_info info = xg_backend_cpu.kernel_info(i);
    xgemm_options o = cpu(1);
    if (info.reason || info.type != XGEMM_F64) continue;
    o.kernel = info.name;
    wide_a(wide, ones, &o);
    wide_c(wide, ones, &o);
  }
  wide_by_the_fortran_name(wide, ones);
  munmap(wide, bytes);
  free(ones);
}

static void mem_07_one_size_much_larger(void **state)
{
  (void)state;
  static const int64_t sizes[][3] = {{8, 8, 300000},  {300000, 8, 8},  {8, 300000, 8},
                                     {1, 1, 1000000}, {3000, 3, 2000}, {2, 2000, 3000}};
  for (int s = 0; s < 6; s++)
    for (int threads = 1; threads <= 3; threads += 2) {
      xgemm_options o = cpu(threads);
      struct product x;
      product_make(&x, XGEMM_F64, sizes[s][0], sizes[s][1], sizes[s][2], s % 2 ? "ccc" : "rrr", 3);
      x.p.beta = threads - 3; /* -2 and 0 */
      product_must_be_right(&x, &o);
      product_free(&x);
    }
}

static void api_12_small_with_all_scalars(void **state)
{
  (void)state;
  static const double scalars[] = {-1, 0.5, 2, 0, 1};
  for (int type = XGEMM_F32; type <= XGEMM_F64; type++)
    for (int size = 1; size <= 32; size++)
      for (int s = 0; s < 25; s++) {
        struct product x;
        product_make(&x, (xgemm_type)type, size, 1 + (size * 7) % 32, 1 + (size * 5) % 32,
                     s % 2 ? "rrr" : "ccc", 3);
        x.p.alpha = scalars[s / 5], x.p.beta = scalars[s % 5];
        product_must_be_right(&x, NULL);
        product_free(&x);
      }
}

/* ---- memory: the pages behind (and in a second pass before) each operand fault ---- */

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

/* ---- the same bits ---- */

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

/* Eight equal problems, equal rows and equal columns give equal bits. */
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

/* The order of additions knows nothing of addresses: any alignment, the same bits. */
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
      cmocka_unit_test(cor_09_no_unit_stride),
      cmocka_unit_test(cor_09_negative_strides),
      cmocka_unit_test(cor_13_a_large_product_beside_small_ones),
      cmocka_unit_test(cor_16_gram_matrix_in_row_major),
      cmocka_unit_test(cor_17_every_kernel_on_a_tall_product),
      cmocka_unit_test(cor_18_a_timer_interrupts),
      cmocka_unit_test(cor_21_a_times_its_transpose),
      cmocka_unit_test(thr_05_twenty_callers),
      cmocka_unit_test(edg_15_one_long_side),
      cmocka_unit_test(api_07_leading_dimension_beyond_2_31),
      cmocka_unit_test(api_12_small_with_all_scalars),
      cmocka_unit_test(mem_02_single_element),
      cmocka_unit_test(mem_03_all_small_sizes_against_pages),
      cmocka_unit_test(mem_04_one_row_transposed),
      cmocka_unit_test(mem_07_one_size_much_larger),
      cmocka_unit_test(num_14_bits_do_not_depend_on_threads),
      cmocka_unit_test(num_16_equal_rows_and_columns),
      cmocka_unit_test(num_17_alignment_does_not_matter),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
