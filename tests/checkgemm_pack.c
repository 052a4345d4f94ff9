/* Packing routines: every remainder, any strides, bits moved exactly, padding zero. */
#include "checkgemm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pack_case {
  int64_t width, rows, k, is, ps;
  char side;
};

static void case_fields(struct pack_case *x, struct check_field *f)
{
  struct check_field all[] = {
      {"width", 'i', &x->width}, {"rows", 'i', &x->rows}, {"k", 'i', &x->k}, {"is", 'i', &x->is},
      {"ps", 'i', &x->ps},       {"side", 'c', &x->side}, {NULL, 0, NULL}};
  memcpy(f, all, sizeof all);
}

struct call {
  const struct xg_ukr *u;
  int64_t arguments[14];
  const char *clobbered;
};

static void call_pack(void *argument)
{
  struct call *c = argument;
  c->clobbered = check_call((void (*)(void))c->u->pack, c->arguments);
}

/* Any bits, NaNs of all kinds among them: packing must not look at values. */
static void fill_bits(const struct hostile_matrix *x, struct reference_rng *rng)
{
  for (int64_t i = 0; i < x->rows; i++)
    for (int64_t p = 0; p < x->cols; p++) {
      uint64_t bits = reference_next(rng);
      memcpy((char *)x->at + (i * x->rs + p * x->cs) * (int64_t)x->es, &bits, x->es);
    }
}

static int run_case(struct check *k, const struct xg_ukr *u, const struct pack_case *x)
{
  char text[200];
  struct check_field fields[7];
  struct pack_case copy = *x;
  case_fields(&copy, fields);
  check_format("pack", fields, text, sizeof text);
  struct reference_rng rng = check_rng(k, text);
  enum hostile_side side = x->side == 's' ? HOSTILE_START : HOSTILE_END;
  size_t es = u->type == 'd' ? 8 : 4;
  struct hostile_matrix source;
  struct hostile target;
  hostile_matrix_alloc(&source, x->rows, x->k, x->is, x->ps, es, side);
  fill_bits(&source, &rng);
  hostile_readonly(&source.mem);
  hostile_alloc(&target, (size_t)(x->width * x->k) * es, 64, side);

  struct call call = {
      u, {x->width, x->rows, x->k, (intptr_t)source.at, x->is, x->ps, (intptr_t)target.data}, NULL};
  struct hostile_fault fault;
  long failures = k->failures;
  k->cases++;
  check_running(k, u->name, NULL, text);
  if (hostile_catch(call_pack, &call, &fault)) {
    const unsigned char *at = fault.address;
    int near = at >= target.room - 4096 && at < target.room + target.capacity + 4096;
    const struct hostile *h = near ? &target : &source.mem;
    check_fail(k, u->name, NULL, text, "signal %d at %s%+td, which has %zu bytes", fault.signal,
               near ? "dst" : "src", at - h->data, h->bytes);
  } else {
    static const char zero[8];
    if (call.clobbered) check_fail(k, u->name, NULL, text, "does not preserve %s", call.clobbered);
    for (int64_t p = 0; p < x->k; p++)
      for (int64_t i = 0; i < x->width; i++) {
        const char *got = (const char *)target.data + (p * x->width + i) * (int64_t)es;
        const char *right = (const char *)source.at + (i * x->is + p * x->ps) * (int64_t)es;
        if (memcmp(got, i < x->rows ? right : zero, es) == 0) continue;
        check_fail(k, u->name, NULL, text, "%s at row %lld, step %lld",
                   i < x->rows ? "not the source's bits" : "padding is not zero", (long long)i,
                   (long long)p);
        p = x->k;
        break;
      }
    if (!hostile_intact(&target)) check_fail(k, u->name, NULL, text, "wrote outside the panel");
  }
  hostile_matrix_free(&source);
  hostile_close(&target);
  return k->failures == failures;
}

void check_one_pack(struct check *k, const struct xg_ukr *u)
{
  static const int64_t depths[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100};
  static const char kinds[] = "rcgG-xXzyo";
  long cases = k->cases, failures = k->failures;
  struct reference_rng rng = check_rng(k, u->name);
  check_unit_begin(k);
  if (k->problem) {
    struct pack_case x = {8, 8, 8, 1, 8, 'e'};
    struct check_field fields[7];
    case_fields(&x, fields);
    check_parse(k, fields);
    run_case(k, u, &x);
    check_unit_end(k, u->name, cases, failures, NULL);
    return;
  }
  for (int64_t width = 1; width <= 34; width++) {
    /* Every width that a kernel has, and some that none has. */
    int used = width % 8 == 3;
    for (const struct xg_ukr *const *v = xg_ukr_table; *v; v++)
      used |= (*v)->kind == XG_UKR_PANEL && ((*v)->mr == width || (*v)->nr == width);
    if (!used) continue;
    for (int64_t rows = 1; rows <= width; rows++)
      for (int kind = 0; kind < 10; kind++) {
        if (k->tier == CHECK_QUICK && (rows + kind) % 4 != 0 && rows != width) continue;
        struct pack_case x = {.width = width, .rows = rows};
        x.k = depths[reference_integer(&rng, 0, (int)(sizeof depths / sizeof *depths) - 1)];
        check_strides(kinds[kind], rows, x.k, reference_integer(&rng, 0, 3), &x.is, &x.ps);
        x.side = reference_integer(&rng, 0, 1) ? 's' : 'e';
        run_case(k, u, &x);
        if (k->silent && k->failures > failures) return;
      }
  }
  check_unit_end(k, u->name, cases, failures, NULL);
}

void check_pack(struct check *k)
{
  for (const struct xg_ukr *const *u = xg_ukr_table; *u; u++) {
    if ((*u)->kind != XG_UKR_PACK || !check_wants_kernel(k, (*u)->name)) continue;
    const char *reason = check_ukr_reason(*u);
    if (reason)
      check_skip(k, (*u)->name, reason);
    else
      check_one_pack(k, *u);
  }
}
