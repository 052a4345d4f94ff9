/* What can be broken on purpose, and in which kind of unit. */
#ifndef CHECKGEMM_BROKEN_H
#define CHECKGEMM_BROKEN_H

#include "checkgemm.h"

enum fault {
  NO_FAULT,
  /* micro-kernels: another call than the one asked for */
  DROPS_LAST_K,
  DROPS_K_REMAINDER_3,
  SKIPS_FIRST_K,
  ALPHA_ON_C_TOO,
  ALPHA_WITHOUT_SIGN,
  ALPHA_0_RETURNS,
  BETA_IS_ONE,
  LEAVES_LAST_ROW,
  IGNORES_ROW_STRIDE,
  IGNORES_COLUMN_STRIDE_OF_A,
  SUMS_IN_HALVES,
  WANTS_ALIGNED_C,
  SETS_WHOLE_TILE,
  /* the right call, then something more */
  SWAPS_ROWS,
  EDGE_COLUMN_WRONG,
  READS_PAST_A,
  READS_PAST_B,
  READS_BEFORE_A,
  READS_BEFORE_B,
  READS_PAST_C,
  READS_PAST_ALPHA,
  READS_C_AT_BETA_0,
  LEAVES_A_NAN,
  WRITES_PAST_A_ROW,
  WRITES_BEFORE_C,
  WRITES_TO_A,
  LOSES_FOUR_BITS,
  K_OF_1_ADDS_NOTHING,
  /* state that belongs to the caller */
  CLOBBERS_RBX,
  CLOBBERS_RBP,
  CLOBBERS_R12,
  CLOBBERS_R13,
  CLOBBERS_R14,
  CLOBBERS_R15,
  SETS_DIRECTION_FLAG,
  SETS_FLUSH_TO_ZERO,
  ROUNDS_DOWN_FROM_NOW,
  LEAVES_X87_FULL,
  CHANGES_X87_CONTROL,
  /* packing */
  PACK_DROPS_LAST_K,
  PACK_IGNORES_STEP,
  PACK_IGNORES_SIGN,
  PACK_LEAVES_PADDING,
  PACK_READS_PAST,
  PACK_WRITES_PAST,
  PACK_QUIETS_NAN,
  PACK_SWAPS_ROWS,
  /* whole products: the runner says what it does */
  PRODUCT_FAULT
};

enum { ON_PANEL = 1, ON_MASKED = 2, ON_INPLACE = 4, ON_PACK = 8, NEEDS_X86 = 16 };

struct breakage {
  const char *name;
  enum fault fault;
  int on;
};

struct broken_product {
  struct breakage as;
  check_runner *run;
};

extern const struct breakage breakages[];             /* ends with name NULL */
extern const struct broken_product broken_products[]; /* ends with name NULL */

#endif
