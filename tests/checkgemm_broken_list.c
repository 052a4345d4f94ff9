/* The list of what is broken in the selftest, and the broken products. */
#include "checkgemm_broken.h"

#include <math.h>
#include <stdlib.h>

enum { KERNELS = ON_PANEL | ON_MASKED | ON_INPLACE, X86 = KERNELS | NEEDS_X86 };

const struct breakage breakages[] = {
    {"good", NO_FAULT, KERNELS | ON_PACK},
    {"drops the last k", DROPS_LAST_K, KERNELS},
    {"drops a k when 3 remain of 4", DROPS_K_REMAINDER_3, KERNELS},
    {"skips the first k", SKIPS_FIRST_K, KERNELS},
    {"applies alpha to beta*C too", ALPHA_ON_C_TOO, KERNELS},
    {"loses alpha's sign", ALPHA_WITHOUT_SIGN, KERNELS},
    {"alpha = 0 returns at once", ALPHA_0_RETURNS, KERNELS},
    {"takes any beta for 1", BETA_IS_ONE, KERNELS},
    {"leaves the last row of an edge", LEAVES_LAST_ROW, ON_MASKED},
    {"ignores C's row stride", IGNORES_ROW_STRIDE, KERNELS},
    {"ignores A's column stride", IGNORES_COLUMN_STRIDE_OF_A, ON_INPLACE},
    {"sums in another order", SUMS_IN_HALVES, KERNELS},
    {"wants C aligned", WANTS_ALIGNED_C, KERNELS},
    {"sets the whole tile at an edge", SETS_WHOLE_TILE, ON_MASKED},
    {"a row off", SWAPS_ROWS, KERNELS},
    {"a wrong edge column", EDGE_COLUMN_WRONG, ON_MASKED | ON_INPLACE},
    {"reads past A", READS_PAST_A, KERNELS},
    {"reads past B", READS_PAST_B, KERNELS},
    {"reads before A", READS_BEFORE_A, KERNELS},
    {"reads before B", READS_BEFORE_B, KERNELS},
    {"reads past C", READS_PAST_C, KERNELS},
    {"reads past alpha", READS_PAST_ALPHA, KERNELS},
    {"reads C at beta = 0", READS_C_AT_BETA_0, KERNELS},
    {"leaves a NaN", LEAVES_A_NAN, KERNELS},
    {"writes past a row of C", WRITES_PAST_A_ROW, KERNELS},
    {"writes before C", WRITES_BEFORE_C, KERNELS},
    {"writes to A (the same value)", WRITES_TO_A, KERNELS},
    {"loses four bits", LOSES_FOUR_BITS, KERNELS},
    {"k = 1 gives nothing", K_OF_1_ADDS_NOTHING, KERNELS},
    {"clobbers rbx", CLOBBERS_RBX, X86},
    {"clobbers rbp", CLOBBERS_RBP, X86},
    {"clobbers r12", CLOBBERS_R12, X86},
    {"clobbers r13", CLOBBERS_R13, X86},
    {"clobbers r14", CLOBBERS_R14, X86},
    {"clobbers r15", CLOBBERS_R15, X86},
    {"sets the direction flag", SETS_DIRECTION_FLAG, X86},
    {"leaves flush-to-zero on", SETS_FLUSH_TO_ZERO, X86},
    {"leaves rounding downwards on", ROUNDS_DOWN_FROM_NOW, X86},
    {"leaves something on the x87 stack", LEAVES_X87_FULL, X86},
    {"changes the x87 precision", CHANGES_X87_CONTROL, X86},
    {"drops the last k", PACK_DROPS_LAST_K, ON_PACK},
    {"takes any step for 1", PACK_IGNORES_STEP, ON_PACK},
    {"loses a stride's sign", PACK_IGNORES_SIGN, ON_PACK},
    {"leaves padding that is not zero", PACK_LEAVES_PADDING, ON_PACK},
    {"reads past the source", PACK_READS_PAST, ON_PACK},
    {"writes past the panel", PACK_WRITES_PAST, ON_PACK},
    {"changes bits of NaNs", PACK_QUIETS_NAN, ON_PACK},
    {"swaps two of seven rows", PACK_SWAPS_ROWS, ON_PACK},
    {NULL, NO_FAULT, 0}};

/* ---------------------------------------------------------------- products */

/* The good product is written here once more, so that nothing of the library is needed; and it
 * takes no memory, since a broken one may end in the middle of it. */
static int run_right(void *context, const xgemm_problem *p)
{
  (void)context;
  double alpha = p->c.type == XGEMM_F64 ? p->alpha : (float)p->alpha;
  double beta = p->c.type == XGEMM_F64 ? p->beta : (float)p->beta;
  for (int64_t i = 0; i < p->m; i++)
    for (int64_t j = 0; j < p->n; j++) {
      double sum = 0;
      for (int64_t q = 0; alpha != 0 && q < p->k; q++)
        sum += reference_get(&p->a, i, q) * reference_get(&p->b, q, j);
      double c = beta != 0 ? beta * reference_get(&p->c, i, j) : 0;
      reference_set(&p->c, i, j, alpha != 0 && p->k ? alpha * sum + c : c);
    }
  return XGEMM_OK;
}

static int run_last_row_missing(void *context, const xgemm_problem *p)
{
  xgemm_problem q = *p;
  q.m = p->m > 1 ? p->m - 1 : p->m;
  return run_right(context, &q);
}

static int run_transpose_lost(void *context, const xgemm_problem *p)
{
  xgemm_problem q = *p;
  if (p->m == p->k && p->a.row_stride == 1) q.a = xgemm_transpose(p->a);
  if (p->k > 1 && p->b.row_stride == 1) q.b.row_stride = p->b.col_stride, q.b.col_stride = 1;
  return run_right(context, &q);
}

static int run_sign_lost(void *context, const xgemm_problem *p)
{
  xgemm_problem q = *p;
  q.a.row_stride = llabs(p->a.row_stride);
  return run_right(context, &q);
}

static int run_alpha_lost(void *context, const xgemm_problem *p)
{
  xgemm_problem q = *p;
  q.alpha = p->alpha != 0;
  return run_right(context, &q);
}

static int run_c_read_at_beta_0(void *context, const xgemm_problem *p)
{
  double old = p->m && p->n ? reference_get(&p->c, 0, 0) : 0;
  int status = run_right(context, p);
  if (p->m && p->n && p->beta == 0)
    reference_set(&p->c, 0, 0, reference_get(&p->c, 0, 0) + 0 * old);
  return status;
}

static int run_a_read_at_alpha_0(void *context, const xgemm_problem *p)
{
  int status = run_right(context, p);
  if (p->m && p->n && p->k && p->alpha == 0)
    reference_set(&p->c, 0, 0, reference_get(&p->c, 0, 0) + 0 * reference_get(&p->a, 0, 0));
  return status;
}

static int run_k_0_returns(void *context, const xgemm_problem *p)
{
  return p->k == 0 ? XGEMM_OK : run_right(context, p);
}

static int run_gap_written(void *context, const xgemm_problem *p)
{
  int status = run_right(context, p);
  if (p->m > 1 && p->c.col_stride == 1 && p->c.row_stride > p->n) reference_set(&p->c, 0, p->n, 0);
  return status;
}

static int run_row_past_written(void *context, const xgemm_problem *p)
{
  int status = run_right(context, p);
  if (p->m && p->n) reference_set(&p->c, p->m, p->n - 1, 0);
  return status;
}

static int run_b_written(void *context, const xgemm_problem *p)
{
  if (p->k && p->n) reference_set(&p->b, 0, 0, 1);
  return run_right(context, p);
}

static int run_nan_lost(void *context, const xgemm_problem *p)
{
  int status = run_right(context, p);
  for (int64_t i = 0; i < p->m; i++)
    for (int64_t j = 0; j < p->n; j++)
      if (isnan(reference_get(&p->c, i, j))) reference_set(&p->c, i, j, 0);
  return status;
}

static int run_threads_differ(void *context, const xgemm_problem *p)
{
  const xgemm_options *options = context;
  int status = run_right(context, p);
  if (options->threads != 3 || !p->m || !p->n) return status;
  double c = reference_get(&p->c, 0, 0), next = nextafter(c, 1e9);
  /* Integers stay as they are: this is about bits, and right within the bound. */
  if (p->c.type == XGEMM_F32) next = nextafterf((float)c, 1e9f);
  if (c != floor(c)) reference_set(&p->c, 0, 0, next);
  return status;
}

static int run_two_threads_race(void *context, const xgemm_problem *p)
{
  const xgemm_options *options = context;
  int status = run_right(context, p);
  if (options->threads > 1 && p->m > 64 && p->n)
    reference_set(&p->c, p->m / 2, 0, 2 * reference_get(&p->c, p->m / 2, 0) + 1);
  return status;
}

static int run_refuses_late(void *context, const xgemm_problem *p)
{
  int status = run_right(context, p);
  return p->m == 17 ? XGEMM_UNSUPPORTED : status;
}

static int run_half_precision(void *context, const xgemm_problem *p)
{
  int status = run_right(context, p);
  double step = p->c.type == XGEMM_F64 ? 0x1p-24 : 0x1p-11;
  for (int64_t i = 0; i < p->m; i++)
    for (int64_t j = 0; j < p->n; j++) {
      double c = reference_get(&p->c, i, j);
      if (isfinite(c) && c != floor(c)) reference_set(&p->c, i, j, c * (1 + step));
    }
  return status;
}

static int run_block_edge_twice(void *context, const xgemm_problem *p)
{
  int status = run_right(context, p);
  if (p->k > 128 && p->n > 1)
    reference_set(&p->c, p->m - 1, p->n - 1, reference_get(&p->c, p->m - 1, p->n - 1) + 1);
  return status;
}

const struct broken_product broken_products[] = {
    {{"good", NO_FAULT, 0}, run_right},
    {{"leaves the last row", PRODUCT_FAULT, 0}, run_last_row_missing},
    {{"loses a transpose", PRODUCT_FAULT, 0}, run_transpose_lost},
    {{"loses the sign of a stride", PRODUCT_FAULT, 0}, run_sign_lost},
    {{"ignores alpha", PRODUCT_FAULT, 0}, run_alpha_lost},
    {{"reads C at beta = 0", PRODUCT_FAULT, 0}, run_c_read_at_beta_0},
    {{"reads A at alpha = 0", PRODUCT_FAULT, 0}, run_a_read_at_alpha_0},
    {{"k = 0 leaves C", PRODUCT_FAULT, 0}, run_k_0_returns},
    {{"writes to a gap of C", PRODUCT_FAULT, 0}, run_gap_written},
    {{"writes a row too many", PRODUCT_FAULT, 0}, run_row_past_written},
    {{"writes to B", PRODUCT_FAULT, 0}, run_b_written},
    {{"loses NaNs", PRODUCT_FAULT, 0}, run_nan_lost},
    {{"three threads, other bits", PRODUCT_FAULT, 0}, run_threads_differ},
    {{"two threads, one wrong element", PRODUCT_FAULT, 0}, run_two_threads_race},
    {{"refuses after writing", PRODUCT_FAULT, 0}, run_refuses_late},
    {{"half the precision", PRODUCT_FAULT, 0}, run_half_precision},
    {{"wrong past k = 128", PRODUCT_FAULT, 0}, run_block_edge_twice},
    {{NULL, NO_FAULT, 0}, NULL}};
