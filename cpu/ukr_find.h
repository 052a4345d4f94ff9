/* Which micro-kernel serves: the best of the table for this machine, or one by name. */
#ifndef XG_UKR_FIND_H
#define XG_UKR_FIND_H

#include <stdatomic.h>
#include <stddef.h>

#include "../common/backend.h"
#include "ukr.h"

/* [f64][kind]: NULL until someone has asked, then never again. */
extern _Atomic(const struct xg_ukr *) xg_ukr_chosen[2][XG_UKR_KINDS];

const struct xg_ukr *xg_ukr_choose(xgemm_type type, enum xg_ukr_kind kind);

/* The highest instruction set first, then the highest priority. Found once. NULL only for
 * stream and strip kernels, which not every set has. */
static inline const struct xg_ukr *xg_ukr_best(xgemm_type type, enum xg_ukr_kind kind)
{
  const struct xg_ukr *u =
      atomic_load_explicit(&xg_ukr_chosen[type == XGEMM_F64][kind], memory_order_acquire);
  return u ? u : xg_ukr_choose(type, kind);
}

/* A kernel by its name, PACK routines excepted, usable on this machine or not; NULL: there is none.
 */
const struct xg_ukr *xg_ukr_by_name(const char *name);

/* NULL if the kernel can run here, else why not. */
const char *xg_ukr_refusal(const struct xg_ukr *u);

static inline xgemm_type xg_ukr_type(const struct xg_ukr *u)
{
  return u->type == 'd' ? XGEMM_F64 : XGEMM_F32;
}

/* The same kernels counted and described, for backends' kernel_count and kernel_info. */
int xg_ukr_count(void);
struct xg_kernel_info xg_ukr_info(int index);

#endif
