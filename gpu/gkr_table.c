/* The table of GPU kernels, from the list in gpu/local.mk. */
#include "gkr.h"

#define XG_KERNEL(name) extern const struct xg_gkr name;
#include "gpu/gkr_list.h"
#undef XG_KERNEL

#define XG_KERNEL(name) &name,
const struct xg_gkr *const xg_gkr_table[] = {
#include "gpu/gkr_list.h"
    NULL};
