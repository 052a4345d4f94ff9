/* The GPU engine's products: every registered kernel, forced in turn, on device and on host
 * operands. Exact integers are compared for equality, reals against a wider reference; a failing
 * case names the kernel. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "card.h"
#include "cm.h"

#include "../gpu/device.h"

static const double scalars[][2] = {{1, 0}, {1, 1}, {-1, 2}, {0.5, -1}, {2, 0}, {-3, 0.5}};
enum { SCALARS = sizeof scalars / sizeof scalars[0] };

static const int64_t sizes[][3] = {{1, 1, 1},    {2, 4, 3},     {17, 13, 29},   {63, 65, 33},
                                   {64, 64, 16}, {127, 129, 8}, {130, 257, 19}, {5, 300, 64},
                                   {300, 3, 7},  {256, 128, 40}};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

/* All transposes of dense and padded operands for both ways that C can lie, then strides of 0, no
 * unit stride, and negative ones. */
static const char *const layouts[] = {"rrr", "rcr", "crr", "ccr", "rrc", "rcc", "crc", "ccc",
                                      "RRR", "RCR", "CRR", "CCR", "RRC", "RCC", "CRC", "CCC",
                                      "ggg", "nnn", "grC", "rnR", "0rr", "c0C", "00g"};
enum { LAYOUTS = sizeof layouts / sizeof layouts[0] };

static xgemm_type type_of(const struct xg_gkr *kernel)
{
  return kernel->type == 'd' ? XGEMM_F64 : XGEMM_F32;
}

static void set_scalars(struct product *x, uint64_t which)
{
  x->p.alpha = scalars[which % SCALARS][0], x->p.beta = scalars[which % SCALARS][1];
  if (x->p.beta == 0) reference_fill_with(&x->p.c, x->p.m, x->p.n, NAN);
}

typedef int check(struct product *x, int shift, const char *kernel);

static int on_device(struct product *x, int shift, const char *kernel)
{
  return card_must_be_right(x, shift, kernel, 1);
}

static int on_host(struct product *x, int shift, const char *kernel)
{
  (void)shift;
  return card_staged_must_be_right(x, kernel, 1);
}

/* Half precision is not xgemm()'s yet: such kernels are the ladder's. */
static int is_for_xgemm(const struct xg_gkr *kernel)
{
  return kernel->type == 's' || kernel->type == 'd';
}

static void sweep(const char *kernel, xgemm_type type, check *f)
{
  uint64_t seed = 1;
  int done = 0;
  for (int l = 0; l < LAYOUTS; l++)
    for (int s = 0; s < SIZES; s++, seed++) {
      struct product x;
      product_make(&x, type, sizes[s][0], sizes[s][1], sizes[s][2], layouts[l], seed);
      set_scalars(&x, seed);
      done += f(&x, (int)(seed % 3), kernel); /* 0, 1 or 2 elements off a border */
      product_free(&x);
    }
  if (kernel && !done) fprintf(stderr, "%s refused every product\n", kernel);
  assert_true(done > 0);
}

static void every_kernel_on_device_operands(void **state)
{
  (void)state;
  for (int i = 0; xg_gkr_table[i]; i++)
    if (is_for_xgemm(xg_gkr_table[i]))
      sweep(xg_gkr_table[i]->name, type_of(xg_gkr_table[i]), on_device);
}

static void every_kernel_on_host_operands(void **state)
{
  (void)state;
  for (int i = 0; xg_gkr_table[i]; i++)
    if (is_for_xgemm(xg_gkr_table[i]))
      sweep(xg_gkr_table[i]->name, type_of(xg_gkr_table[i]), on_host);
}

static void the_kernel_picked(void **state)
{
  (void)state;
  for (int type = XGEMM_F32; type <= XGEMM_F64; type++) {
    sweep(NULL, (xgemm_type)type, on_device);
    sweep(NULL, (xgemm_type)type, on_host);
  }
}

/* Large, both operands contiguous along k and off their borders: one of them is turned first. */
static void large_operands_off_their_borders(void **state)
{
  (void)state;
  static const int64_t sizes[][3] = {{1030, 1100, 520}, {1201, 1025, 513}};
  for (int s = 0; s < 2; s++)
    for (int l = 0; l < 2; l++) {
      struct product x;
      product_make(&x, XGEMM_F32, sizes[s][0], sizes[s][1], sizes[s][2], l ? "RCr" : "RCC", 5);
      x.p.beta = l;
      card_must_be_right(&x, 1, NULL, 1);
      product_free(&x);
    }
}

/* Element (0,0) at the other end: strides of the same size, negative, one of them -1 or -ld. */
static void turn(struct hostile_matrix *h, xgemm_matrix *x, int rows, int cols)
{
  char *at = h->at;
  if (rows) at += (h->rows - 1) * h->rs * (int64_t)h->es, h->rs = -h->rs;
  if (cols) at += (h->cols - 1) * h->cs * (int64_t)h->es, h->cs = -h->cs;
  h->at = x->data = at;
  x->row_stride = h->rs, x->col_stride = h->cs;
}

static void reversed_rows_and_columns(void **state)
{
  (void)state;
  for (int i = 0; xg_gkr_table[i]; i++)
    for (int way = 0; is_for_xgemm(xg_gkr_table[i]) && way < 64; way++) {
      struct product x;
      product_make(&x, type_of(xg_gkr_table[i]), 70, 45, 37, way % 2 ? "RCC" : "CRR",
                   (uint64_t)way);
      turn(&x.a, &x.p.a, way & 1, way & 2);
      turn(&x.b, &x.p.b, way & 4, way & 8);
      turn(&x.c, &x.p.c, way & 16, way & 32);
      product_fill(&x, (uint64_t)way, 1);
      set_scalars(&x, (uint64_t)way);
      if (way % 2)
        card_must_be_right(&x, way % 3, xg_gkr_table[i]->name, 1);
      else
        card_staged_must_be_right(&x, xg_gkr_table[i]->name, 1);
      product_free(&x);
    }
}

static void real_data_within_the_bound(void **state)
{
  (void)state;
  static const int64_t m = 150, n = 135, depths[] = {1, 100, 1000, 5000};
  for (int i = 0; xg_gkr_table[i]; i++)
    for (int d = 0; is_for_xgemm(xg_gkr_table[i]) && d < 4; d++) {
      struct product x;
      product_make(&x, type_of(xg_gkr_table[i]), m, n, depths[d], d % 2 ? "RCC" : "CRR", 7);
      product_fill(&x, (uint64_t)d, 0);
      x.p.alpha = 1.25, x.p.beta = -0.75;
      card_must_be_right(&x, d, xg_gkr_table[i]->name, 0);
      product_free(&x);
    }
}

/* GPU-05: nothing about small or odd sizes is an error. */
static void all_sizes_to_17(void **state)
{
  (void)state;
  for (int type = XGEMM_F32; type <= XGEMM_F64; type++)
    for (int64_t m = 1; m <= 17; m++)
      for (int64_t n = 1; n <= 17; n++)
        for (int64_t k = 1; k <= 17; k += 2) {
          struct product x;
          product_make(&x, (xgemm_type)type, m, n, k, (m + n) % 2 ? "RRR" : "CCC", (uint64_t)k);
          set_scalars(&x, (uint64_t)(m + n + k));
          card_must_be_right(&x, 1, NULL, 1);
          product_free(&x);
        }
  assert_int_equal(cudaPeekAtLastError(), cudaSuccess);
}

/* alpha = 0 or k = 0: C is scaled, A and B may be anything. */
static void scaling_only(void **state)
{
  (void)state;
  static const char *const lies[] = {"rrr", "ccC", "rrg", "rrn"};
  for (int type = XGEMM_F32; type <= XGEMM_F64; type++)
    for (int l = 0; l < 4; l++)
      for (int how = 0; how < 8; how++) {
        struct product x;
        product_make(&x, (xgemm_type)type, 67, 41, how % 2 ? 0 : 5, lies[l], 3);
        x.p.alpha = how % 2 ? 1.5 : 0, x.p.beta = how & 2 ? -2 : 0;
        if (x.p.beta == 0) reference_fill_with(&x.p.c, 67, 41, NAN);
        if (!(how % 2)) reference_fill_with(&x.p.a, 67, 5, NAN);
        if (how & 4)
          card_must_be_right(&x, 1, NULL, 1);
        else
          card_staged_must_be_right(&x, NULL, 1);
        product_free(&x);
      }
}

/* 0 * NaN is NaN when alpha is not 0, and an Inf in A shows. */
static void nan_and_inf_come_through(void **state)
{
  (void)state;
  for (int i = 0; xg_gkr_table[i]; i++) {
    struct product x;
    if (!is_for_xgemm(xg_gkr_table[i])) continue;
    product_make(&x, type_of(xg_gkr_table[i]), 70, 70, 50, "Rcr", 5);
    reference_set(&x.p.a, 3, 49, NAN);
    reference_set(&x.p.a, 69, 0, INFINITY);
    reference_set(&x.p.b, 0, 69, 0);
    x.p.beta = 1;
    card_must_be_right(&x, 0, xg_gkr_table[i]->name, 1);
    product_free(&x);
  }
}

/* GPU-20: the same bits every time. */
static void again_and_again(struct product *x, int shift, const struct xg_gkr *kernel)
{
  void *first = NULL;
  for (int again = 0; again < 5; again++) {
    if (!card_must_be_right(x, shift, kernel->name, 0)) break;
    void *bits = product_bits(x);
    if (!first) first = bits;
    assert_int_equal(memcmp(first, bits, product_bytes(x)), 0);
    if (bits != first) free(bits);
  }
  free(first);
}

static void the_same_bits_again(void **state)
{
  (void)state;
  static const int64_t sizes[][3] = {{64, 64, 4099}, {200, 150, 700}, {16, 300, 1001}};
  for (int i = 0; xg_gkr_table[i]; i++)
    for (int s = 0; is_for_xgemm(xg_gkr_table[i]) && s < 3; s++) {
      struct product x;
      product_make(&x, type_of(xg_gkr_table[i]), sizes[s][0], sizes[s][1], sizes[s][2], "RCr", 11);
      product_fill(&x, 12, 0);
      again_and_again(&x, s % 2, xg_gkr_table[i]);
      product_free(&x);
    }
}

/* What the runtime says of the function that a product would start: nothing in local memory, and at
 * least as many resident blocks as the cost model believes (it never weighs a rung). Returns how
 * many. */
static int function_is_as_described(const struct xg_gkr *x, const struct xg_gkr_args *args)
{
  struct cudaFuncAttributes f;
  const void *function = x->function(args);
  int blocks = 0, dynamic;
  CARD_OK(cudaFuncGetAttributes(&f, function));
  dynamic = x->shared - (int)f.sharedSizeBytes;
  if (dynamic < 0) dynamic = 0;
  CARD_OK(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, dynamic));
  CARD_OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, x->threads,
                                                        (size_t)dynamic));
  int counts = xg_gpu_card(0)->cc == 90 && strcmp(x->family, "ladder") != 0;
  int good = f.localSizeBytes == 0 && (blocks >= x->blocks || !counts);
  if (!good)
    fprintf(stderr, "%s: %d blocks (described: %d), %d registers, %zu bytes of local memory\n",
            x->name, blocks, x->blocks, f.numRegs, f.localSizeBytes);
  assert_true(good);
  return blocks;
}

static void functions_are_as_described(void **state)
{
  (void)state;
  static const int64_t sizes[] = {4096, 1001, 300, 16};
  for (int i = 0; xg_gkr_table[i]; i++) {
    const struct xg_gkr *x = xg_gkr_table[i];
    int least = 0; /* over the layouts */
    for (int s = 0; s < 16; s++) {
      int64_t n = sizes[s / 4];
      struct xg_gkr_args args = {.m = n, .n = n, .k = n, .alpha = 1, .rs_c = n, .cs_c = 1};
      args.rs_a = s & 1 ? 1 : n, args.cs_a = s & 1 ? n : 1;
      args.rs_b = s & 2 ? 1 : n, args.cs_b = s & 2 ? n : 1;
      args.sms = xg_gpu_card(0)->sms;
      if (x->ok(&args)) continue;
      int blocks = function_is_as_described(x, &args);
      if (!least || blocks < least) least = blocks;
    }
    if (!least || xg_gpu_card(0)->cc != 90 || !strcmp(x->family, "ladder")) continue;
    if (least != x->blocks)
      fprintf(stderr, "%s: %d blocks, described: %d\n", x->name, least, x->blocks);
    assert_int_equal(least, x->blocks);
  }
}

/* Every kernel's line, with its cost or the reason against it. */
static void a_plan_explains_what_was_weighed(void **state)
{
  (void)state;
  static char text[16384];
  xgemm_options o = card_options(NULL);
  xgemm_problem p = XGEMM_PROBLEM_INIT;
  p.m = 500, p.n = 300, p.k = 400;
  p.a = xgemm_row_major(NULL, XGEMM_F32, 400);
  p.b = xgemm_row_major(NULL, XGEMM_F32, 300);
  p.c = xgemm_row_major(NULL, XGEMM_F32, 300);
  xgemm_plan *plan = NULL;
  assert_int_equal(xgemm_plan_create(&plan, &p, &o), XGEMM_OK);
  int length = xgemm_plan_describe(plan, 1, text, sizeof text);
  assert_in_range(length, 1, sizeof text - 1);
  for (int i = 0; xg_gkr_table[i]; i++)
    if (xg_gkr_table[i]->type == 's' && strcmp(xg_gkr_table[i]->family, "ladder"))
      assert_non_null(strstr(text, xg_gkr_table[i]->name));
  assert_non_null(strstr(text, "waves"));
  assert_int_equal(xgemm_plan_describe(plan, 1, NULL, 0), length);
  xgemm_plan_destroy(plan);
}

int main(int argc, char **argv)
{
  if (argc > 1) cmocka_set_test_filter(argv[1]); /* a pattern: some of them only */
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_kernel_on_device_operands),
      cmocka_unit_test(every_kernel_on_host_operands),
      cmocka_unit_test(the_kernel_picked),
      cmocka_unit_test(large_operands_off_their_borders),
      cmocka_unit_test(reversed_rows_and_columns),
      cmocka_unit_test(real_data_within_the_bound),
      cmocka_unit_test(all_sizes_to_17),
      cmocka_unit_test(scaling_only),
      cmocka_unit_test(nan_and_inf_come_through),
      cmocka_unit_test(the_same_bits_again),
      cmocka_unit_test(functions_are_as_described),
      cmocka_unit_test(a_plan_explains_what_was_weighed),
  };
  int missing = card_missing();
  return missing ? missing : cmocka_run_group_tests(tests, NULL, NULL);
}
