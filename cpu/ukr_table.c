/* The table of CPU micro-kernels, from the lists in cpu/local.mk. */
#include "ukr.h"

#include <stddef.h>

#define XG_KERNEL(name) extern const struct xg_ukr name;
#include "cpu/ukr_list.h"
#undef XG_KERNEL

#define XG_KERNEL(name) &name,
const struct xg_ukr *const xg_ukr_table[] = {
#include "cpu/ukr_list.h"
    NULL};
