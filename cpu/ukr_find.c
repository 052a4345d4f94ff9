#include "ukr_find.h"

#include <string.h>

#include "cpuid.h"
#include "loops.h"

enum { TYPES = 2, KINDS = XG_UKR_KINDS };

/* Filled from a local copy by whoever comes first; a second writer stores the same pointers. */
_Atomic(const struct xg_ukr *) xg_ukr_chosen[TYPES][KINDS];

atomic_int xg_ukr_half_units;

static int better(const struct xg_ukr *u, const struct xg_ukr *than)
{
  if (!than) return 1;
  if (u->isa != than->isa) return u->isa > than->isa;
  return u->priority > than->priority;
}

/* Whether the loops' edge buffer holds its tile. */
static int fits(const struct xg_ukr *u)
{
  return u->mr * u->nr * (int)xg_sizeof(xg_ukr_type(u)) <= XG_TILE_BYTES;
}

/* All but the PACK routines, which no product chooses, and the strips, which go with the shape. */
static int named(const struct xg_ukr *u)
{
  return u->kind != XG_UKR_PACK && u->kind != XG_UKR_STRIP;
}

static void choose_all(void)
{
  atomic_store_explicit(&xg_ukr_half_units, xg_cpu_has_half_units(), memory_order_relaxed);
  const struct xg_ukr *best[TYPES][KINDS] = {{NULL}};
  const enum xg_isa isa = xg_cpu_isa();
  for (const struct xg_ukr *const *u = xg_ukr_table; *u; u++) {
    const struct xg_ukr **place = &best[(*u)->type == 'd'][(*u)->kind];
    if ((*u)->isa <= isa && fits(*u) && better(*u, *place)) *place = *u;
  }
  for (int t = 0; t < TYPES; t++)
    for (int k = 0; k < KINDS; k++)
      atomic_store_explicit(&xg_ukr_chosen[t][k], best[t][k], memory_order_release);
}

const struct xg_ukr *xg_ukr_choose(xgemm_type type, enum xg_ukr_kind kind)
{
  choose_all();
  return atomic_load_explicit(&xg_ukr_chosen[type == XGEMM_F64][kind], memory_order_acquire);
}

const struct xg_ukr *xg_ukr_by_name(const char *name)
{
  for (const struct xg_ukr *const *u = xg_ukr_table; *u; u++)
    if (named(*u) && strcmp((*u)->name, name) == 0) return *u;
  return NULL;
}

const char *xg_ukr_refusal(const struct xg_ukr *u)
{
  static const char *const lacks[XG_ISA_COUNT] = {
      "", "this CPU or operating system lacks AVX2 with FMA",
      "this CPU or operating system lacks AVX-512 F, VL, BW and DQ"};
  if (!fits(u)) return "its register tile is larger than the loops allow";
  if (u->isa <= xg_cpu_isa()) return NULL;
  return u->isa <= xg_cpu_isa_hardware() ? "XGEMM_CPU excludes its instruction set" : lacks[u->isa];
}

int xg_ukr_count(void)
{
  int count = 0;
  for (const struct xg_ukr *const *u = xg_ukr_table; *u; u++) count += named(*u);
  return count;
}

struct xg_kernel_info xg_ukr_info(int index)
{
  const struct xg_ukr *const *u = xg_ukr_table;
  while (!named(*u) || index-- > 0) u++;
  return (struct xg_kernel_info){.name = (*u)->name,
                                 .family = xg_isa_name((*u)->isa),
                                 .type = xg_ukr_type(*u),
                                 .mr = (*u)->mr,
                                 .nr = (*u)->nr,
                                 .reason = xg_ukr_refusal(*u)};
}
