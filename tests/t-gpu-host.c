/* The GPU engine's parts that need no GPU: its sentences, the boxes that staging copies, the choice
 * of a kernel for a card that is only described. Runs on any machine with the toolkit. */
#include <stdlib.h>
#include <string.h>

#include "cm.h"

#include "../gpu/box.h"
#include "../gpu/device.h"
#include "../gpu/pick.h"

static const char *explain(cudaError_t error, int driver)
{
  static char why[256];
  xg_gpu_explain(error, driver, 13000, why, sizeof why);
  return why;
}

static void every_obstacle_has_its_sentence(void **state)
{
  (void)state;
  assert_non_null(strstr(explain(cudaErrorInsufficientDriver, 0), "no NVIDIA driver is installed"));
  const char *old = explain(cudaErrorInsufficientDriver, 12040);
  assert_non_null(strstr(old, "too old: it supports CUDA 12.4"));
  assert_non_null(strstr(old, "CUDA 13.0 or newer is needed"));
  assert_non_null(strstr(explain(cudaErrorNoDevice, 13000), "no CUDA device"));
  assert_non_null(strstr(explain(cudaErrorInitializationError, 13000), "forked"));
  assert_non_null(strstr(explain(cudaErrorUnknown, 13000), "cudaErrorUnknown"));
}

static void old_cards_are_refused_by_name(void **state)
{
  (void)state;
  struct xg_gpu_card card = {.cc = 75, .name = "Some Card"};
  xg_gpu_judge(&card);
  assert_string_equal(card.reason,
                      "Some Card has compute capability 7.5, and the least supported is 8.0");
  card.cc = 80;
  xg_gpu_judge(&card);
  assert_string_equal(card.reason, "");
}

/* Without a driver in sight nothing is loaded, whatever is asked. */
static void no_driver_no_cuda(void **state)
{
  (void)state;
  int device = 7, on_stack = 0;
  if (!xg_gpu_available(0)) skip(); /* there is a driver here: t-gpu's business */
  assert_non_null(strstr(xg_gpu_available(1), "NVIDIA driver"));
  assert_int_equal(xg_gpu_started(), 0);
  assert_int_equal(xg_gpu_count(), 0);
  assert_int_equal(xg_gpu_classify(&on_stack, &device), XGEMM_SPACE_HOST);
  assert_int_equal(device, -1);
}

/* Gathers a box, finds each element where the card's strides say, scatters it back. */
static void box_is_right(int64_t rows, int64_t cols, int64_t rs, int64_t cs, int direct)
{
  enum { ROOM = 4096 };
  static double host[2 * ROOM], back[2 * ROOM], card[2 * ROOM];
  for (int i = 0; i < 2 * ROOM; i++) host[i] = i, back[i] = -1;
  struct xg_operand x = {host + ROOM, rs, cs}, y = {back + ROOM, rs, cs};
  struct xg_box box = xg_box_of(&x, rows, cols, XGEMM_F64);
  assert_int_equal(xg_box_is_direct(&box), direct);
  assert_true(box.lines * box.card_pitch <= 2 * ROOM);
  int64_t half = (box.lines + 1) / 2;
  xg_box_gather(&box, 0, half, card);
  xg_box_gather(&box, half, box.lines - half, card + half * box.card_pitch);
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < cols; j++)
      assert_true(card[box.first + i * box.card_rs + j * box.card_cs] ==
                  host[ROOM + i * rs + j * cs]);
  box = xg_box_of(&y, rows, cols, XGEMM_F64);
  xg_box_scatter(&box, 0, box.lines, card);
  int64_t written = 0;
  for (int i = 0; i < 2 * ROOM; i++) written += back[i] != -1;
  assert_true(written <= box.lines * box.width); /* fewer where A or B overlap themselves */
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < cols; j++)
      assert_true(back[ROOM + i * rs + j * cs] == host[ROOM + i * rs + j * cs]);
}

static void boxes(void **state)
{
  (void)state;
  box_is_right(9, 11, 13, 1, 1);
  box_is_right(9, 11, 1, 12, 1);
  box_is_right(9, 11, -13, 1, 1);
  box_is_right(9, 11, 13, -1, 1);
  box_is_right(9, 11, -1, -12, 1);
  box_is_right(9, 3, 13, 1, 0); /* lines too short to be worth a copy each */
  box_is_right(9, 11, 2, 20, 0);
  box_is_right(9, 11, -3, -40, 0);
  box_is_right(9, 11, 1, 4, 0); /* lines that overlap */
  box_is_right(9, 11, 0, 1, 1);
  box_is_right(9, 11, 1, 0, 1);
  box_is_right(9, 11, 0, 0, 1);
  box_is_right(9, 11, 0, 5, 0);
  box_is_right(1, 11, 99, 1, 1);
  box_is_right(9, 1, 1, 99, 1);
  box_is_right(9, 1, 7, 99, 0);
  box_is_right(1, 1, 3, -3, 1);
}

static const struct xg_gkr *picked(xgemm_type type, int64_t size, const char *name)
{
  const struct xg_gkr *kernel = NULL;
  struct xg_gpu_cost cost = {.seconds = -1};
  struct xg_gpu_card card = {.cc = 90,
                             .sms = 132,
                             .bandwidth = 4.8e12,
                             .peak_s = 67e12,
                             .peak_d = 33e12,
                             .peak_tensor_d = 67e12};
  struct xg_problem p = {.type = type, .m = size, .n = size, .k = size, .alpha = 1};
  p.a = p.b = p.c = (struct xg_operand){NULL, size, 1};
  if (xg_gpu_pick(&p, &card, name, &kernel, &cost) != XGEMM_OK) return NULL;
  assert_true(cost.seconds > 0);
  return kernel;
}

static void kernels_are_picked_by_cost_or_by_name(void **state)
{
  (void)state;
  for (int type = XGEMM_F32; type <= XGEMM_F64; type++) {
    const struct xg_gkr *small = picked((xgemm_type)type, 512, NULL);
    const struct xg_gkr *large = picked((xgemm_type)type, 8192, NULL);
    assert_non_null(small);
    assert_non_null(large);
    assert_true(small->bm * small->bn < large->bm * large->bn);
    assert_string_not_equal(small->family, "ladder");
    assert_string_not_equal(large->family, "ladder");
  }
  assert_string_equal(picked(XGEMM_F32, 100, "sgemm_ladder_1_naive")->name, "sgemm_ladder_1_naive");
  assert_null(picked(XGEMM_F64, 100, "sgemm_ladder_1_naive"));
  assert_non_null(strstr(xgemm_last_reason(), "another element type"));
  assert_null(picked(XGEMM_F64, 100, "no_such_kernel"));
}

/* What is picked for a shape on a card of this compute capability. */
static const char *name_picked(int cc, xgemm_type type, int64_t m, int64_t n, int64_t k)
{
  const struct xg_gkr *kernel = NULL;
  struct xg_gpu_cost cost;
  struct xg_gpu_card card = {.cc = cc,
                             .sms = cc == 90 ? 132 : 108,
                             .bandwidth = cc == 90 ? 4.8e12 : 2e12,
                             .peak_s = cc == 90 ? 67e12 : 19.5e12,
                             .peak_d = cc == 90 ? 33.5e12 : 9.7e12,
                             .peak_tensor_d = cc == 90 ? 67e12 : 19.5e12};
  struct xg_problem p = {.type = type, .m = m, .n = n, .k = k, .alpha = 1};
  p.a = (struct xg_operand){NULL, k, 1};
  p.b = (struct xg_operand){NULL, n, 1};
  p.c = (struct xg_operand){NULL, n, 1};
  assert_int_equal(xg_gpu_pick(&p, &card, NULL, &kernel, &cost), XGEMM_OK);
  assert_true(cost.seconds > 0 && cost.tiles >= 1 && cost.waves > 0);
  assert_true(cost.edge_waste >= 0 && cost.edge_waste < 1);
  return kernel->name;
}

static void a_kernel_is_picked_for_what_it_is_for(void **state)
{
  (void)state;
  assert_string_equal(name_picked(90, XGEMM_F32, 4096, 4096, 4096), "sgemm_sm90_128x256x32");
  assert_string_equal(name_picked(90, XGEMM_F32, 128, 128, 128), "sgemm_sm90_sliced_16x32x128");
  assert_string_equal(name_picked(90, XGEMM_F64, 4096, 4096, 4096), "dgemm_sm90_mma_128x128x16");
  for (int type = XGEMM_F32; type <= XGEMM_F64; type++)
    for (int wide = 0; wide < 2; wide++) {
      int64_t m = wide ? 1 : 20000, n = wide ? 20000 : 1;
      assert_non_null(strstr(name_picked(90, (xgemm_type)type, m, n, 20000), "gemv"));
    }
  static const int64_t sizes[] = {1, 31, 300, 1001, 4096};
  for (int s = 0; s < 125; s++)
    for (int type = XGEMM_F32; type <= XGEMM_F64; type++) /* code for Hopper runs on no other */
      for (int cc = 80; cc <= 100; cc += 20)
        assert_null(
            strstr(name_picked(cc, (xgemm_type)type, sizes[s % 5], sizes[s / 5 % 5], sizes[s / 25]),
                   "sm90"));
}

static struct xg_gkr_args awkward(int64_t m, int64_t n, int64_t k, int64_t pad)
{
  return (struct xg_gkr_args){.m = m,
                              .n = n,
                              .k = k,
                              .alpha = 1,
                              .rs_a = k + pad,
                              .cs_a = 1,
                              .rs_b = 1,
                              .cs_b = k + pad,
                              .rs_c = n,
                              .cs_c = 1};
}

static void operands_are_copied_where_it_pays(void **state)
{
  (void)state;
  struct xg_gkr_args x = awkward(2000, 2100, 2001, 0), y = x;
  struct xg_gather g = xg_gather_plan(&x, sizeof(float)); /* the smaller is turned */
  assert_true(g.a && !g.b);
  assert_true(x.rs_a == 1 && x.cs_a == 2000 && x.rs_b == y.rs_b && x.cs_b == y.cs_b);
  assert_int_equal(g.bytes % 256, 0);
  assert_true(g.bytes >= 2000 * 2001 * sizeof(float) && g.moved == 2.0 * 2000 * 2001 * 4);
  x = awkward(2000, 1900, 2001, 0);
  g = xg_gather_plan(&x, sizeof(float));
  assert_true(!g.a && g.b && g.at_b == 0 && x.cs_b == 1 && x.rs_b == 1900);
  x = awkward(2000, 2100, 2000, 0); /* on their borders */
  assert_int_equal(xg_gather_plan(&x, sizeof(float)).bytes, 0);
  x = awkward(2000, 2100, 2001, 0); /* f64 kernels take rows of k as they are */
  assert_int_equal(xg_gather_plan(&x, sizeof(double)).bytes, 0);
  x = awkward(200, 2100, 2001, 0); /* too few uses */
  assert_int_equal(xg_gather_plan(&x, sizeof(float)).bytes, 0);

  x = awkward(500, 600, 700, 0); /* no unit stride: dense along the nearer dimension */
  x.cs_a = 2, x.rs_a = 1500, x.rs_b = 3000, x.cs_b = -5;
  g = xg_gather_plan(&x, sizeof(double));
  assert_true(g.a && g.b && x.cs_a == 1 && x.rs_a == 700 && x.cs_b == 1 && x.rs_b == 600);
  assert_true(g.at_b >= 500 * 700 * sizeof(double) && g.at_b % 256 == 0);
  x = awkward(64, 600, 700, 0); /* B is read for one row of tiles only */
  x.rs_b = 3000, x.cs_b = 5;
  assert_int_equal(xg_gather_plan(&x, sizeof(float)).bytes, 0);
  x = awkward(3000, 600, 3000, 0); /* lines overlap: the copy would be larger than the operand */
  x.rs_a = 2, x.cs_a = 4;
  assert_int_equal(xg_gather_plan(&x, sizeof(float)).bytes, 0);
  x = awkward(500, 600, 700, 0); /* 0 and 1 are read well */
  x.rs_a = 0, x.cs_a = 7;
  assert_int_equal(xg_gather_plan(&x, sizeof(float)).bytes, 0);
}

static void every_kernel_is_described(void **state)
{
  (void)state;
  int count[2] = {0, 0};
  for (int i = 0; xg_gkr_table[i]; i++) {
    const struct xg_gkr *x = xg_gkr_table[i];
    assert_non_null(strchr("sdhb", x->type));
    assert_true(x->bm > 0 && x->bn > 0 && x->bk > 0 && x->threads >= 32 && x->threads <= 1024);
    assert_true(x->efficiency > 0 && x->efficiency <= 1);
    assert_true(x->min_cc >= XG_LEAST_CC && x->blocks > 0 && x->ok && x->function && x->launch);
    assert_true(x->name[0] == x->type);
    if (x->type == 's' || x->type == 'd') count[x->type == 'd']++;
  }
  assert_true(count[0] >= 3 && count[1] >= 3);
  int all = 0;
  while (xg_gkr_table[all]) all++;
  assert_true(all <= 256); /* the cost model's numbers are kept for so many */
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_obstacle_has_its_sentence),
      cmocka_unit_test(old_cards_are_refused_by_name),
      cmocka_unit_test(no_driver_no_cuda),
      cmocka_unit_test(boxes),
      cmocka_unit_test(kernels_are_picked_by_cost_or_by_name),
      cmocka_unit_test(a_kernel_is_picked_for_what_it_is_for),
      cmocka_unit_test(operands_are_copied_where_it_pays),
      cmocka_unit_test(every_kernel_is_described),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
