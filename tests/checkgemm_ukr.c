/* Micro-kernels against the contract in cpu/ukr.h: hostile memory, registers, values, order. */
#include "checkgemm.h"
#include "cpu/cpuid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ukr_case {
  int64_t m, n, k;
  int64_t rsa, csa, rsb; /* PANEL: with an rsa the kernel's `strided`, with an rsb its `packing` */
  int64_t rsc;
  double alpha, beta;
  char data;    /* i integers, r reals */
  char side;    /* e, s */
  char way;     /* INPLACE: p plain, t `turned` (rsb from column to column of B), d `dot` */
  int64_t csb;  /* d: B's other stride */
  int64_t half; /* xg_ukr_half_units */
};

enum { FIELDS = 15 };

static void case_fields(struct ukr_case *x, struct check_field *f)
{
  struct check_field all[] = {
      {"m", 'i', &x->m},       {"n", 'i', &x->n},         {"k", 'i', &x->k},
      {"rsa", 'i', &x->rsa},   {"csa", 'i', &x->csa},     {"rsb", 'i', &x->rsb},
      {"rsc", 'i', &x->rsc},   {"alpha", 'd', &x->alpha}, {"beta", 'd', &x->beta},
      {"data", 'c', &x->data}, {"side", 'c', &x->side},   {"way", 'c', &x->way},
      {"csb", 'i', &x->csb},   {"half", 'i', &x->half},   {NULL, 0, NULL}};
  memcpy(f, all, sizeof all);
}

/* The memory of one kernel's cases, opened once for the largest. */
struct rig {
  const struct xg_ukr *u;
  xgemm_type type;
  size_t es;
  struct hostile_matrix a, b, c;
  struct hostile packed; /* B, by `packing` */
  struct hostile alpha, beta;
  double *value, *size;
  int64_t values;
  int orders; /* orders of rounding that explain all results so far: bit 0 fused, bit 1 not */
};

static void rig_need(struct hostile *h, size_t bytes)
{
  if (h->capacity >= bytes && h->room) return;
  hostile_close(h);
  if (hostile_open(h, bytes) != 0) {
    perror("checkgemm");
    exit(99);
  }
}

static void rig_open(struct rig *r, const struct xg_ukr *u)
{
  memset(r, 0, sizeof *r);
  r->u = u;
  r->type = u->type == 'd' ? XGEMM_F64 : XGEMM_F32;
  r->es = u->type == 'd' ? 8 : 4;
  r->orders = 3;
  rig_need(&r->alpha, 8);
  rig_need(&r->beta, 8);
}

/* A new k: memory that fits, so that filling it with the pattern stays cheap. */
static void rig_resize(struct rig *r)
{
  hostile_close(&r->a.mem);
  hostile_close(&r->b.mem);
  hostile_close(&r->c.mem);
  hostile_close(&r->packed);
}

static void rig_close(struct rig *r)
{
  rig_resize(r);
  hostile_close(&r->alpha);
  hostile_close(&r->beta);
  free(r->value);
  free(r->size);
}

struct call {
  void (*function)(void);
  int64_t arguments[14];
  const char *clobbered;
};

static void call_kernel(void *argument)
{
  struct call *c = argument;
  c->clobbered = check_call(c->function, c->arguments);
}

static void set_scalar(struct rig *r, struct hostile *h, double value)
{
  hostile_place(h, r->es, r->es, HOSTILE_END);
  xgemm_matrix x = xgemm_row_major(h->data, r->type, 1);
  reference_set(&x, 0, 0, value);
  hostile_readonly(h);
}

static xgemm_matrix view(const struct rig *r, const struct hostile_matrix *x)
{
  return (xgemm_matrix){x->at, r->type, XGEMM_SPACE_HOST, x->rs, x->cs, {0}};
}

/* Places and fills the operands; *p is then the problem that the kernel is to compute. */
static void build(struct rig *r, const struct ukr_case *x, struct reference_rng *rng,
                  xgemm_problem *p)
{
  const struct xg_ukr *u = r->u;
  enum hostile_side side = x->side == 's' ? HOSTILE_START : HOSTILE_END;
  int64_t limit = x->data == 'i' ? reference_exact_limit(r->type, x->k) : 0;
  size_t es = r->es;
  rig_need(&r->c.mem, (size_t)hostile_span(x->m, x->n, x->rsc, 1) * es);
  hostile_matrix_place(&r->c, x->m, x->n, x->rsc, 1, es, side);
  if (u->kind == XG_UKR_PANEL) {
    size_t bytes_a = (size_t)(x->k * u->mr) * es, bytes_b = (size_t)(x->k * u->nr) * es;
    if (x->rsa) {
      rig_need(&r->a.mem, (size_t)hostile_span(x->m, x->k, x->rsa, x->csa) * es);
      hostile_matrix_place(&r->a, x->m, x->k, x->rsa, x->csa, es, side);
    } else {
      rig_need(&r->a.mem, bytes_a + 64);
      r->a.at = hostile_place(&r->a.mem, bytes_a, 64, side), r->a.rs = 1, r->a.cs = u->mr;
      memset(r->a.at, 0, bytes_a);
    }
    struct hostile *packed = x->rsb ? &r->packed : &r->b.mem;
    rig_need(packed, bytes_b + 64);
    r->b.at = hostile_place(packed, bytes_b, 64, side), r->b.rs = u->nr, r->b.cs = 1;
    memset(r->b.at, 0, bytes_b);
    if (x->rsb) {
      rig_need(&r->b.mem, (size_t)hostile_span(x->k, x->n, x->rsb, 1) * es);
      hostile_matrix_place(&r->b, x->k, x->n, x->rsb, 1, es, side);
    }
  } else {
    rig_need(&r->a.mem, (size_t)hostile_span(x->m, x->k, x->rsa, x->csa) * es);
    const int64_t rs = x->way == 't' ? 1 : x->rsb;
    const int64_t cs = x->way == 't' ? x->rsb : x->way == 'd' ? x->csb : 1;
    rig_need(&r->b.mem, (size_t)hostile_span(x->k, x->n, rs, cs) * es);
    hostile_matrix_place(&r->a, x->m, x->k, x->rsa, x->csa, es, side);
    hostile_matrix_place(&r->b, x->k, x->n, rs, cs, es, side);
  }
  *p = (xgemm_problem)XGEMM_PROBLEM_INIT;
  p->m = x->m, p->n = x->n, p->k = x->k, p->alpha = x->alpha, p->beta = x->beta;
  p->a = view(r, &r->a), p->b = view(r, &r->b), p->c = view(r, &r->c);
  reference_fill(&p->a, p->m, p->k, rng, limit);
  reference_fill(&p->b, p->k, p->n, rng, limit);
  /* beta = 0: C keeps the pattern, which is NaN. */
  if (p->beta != 0) reference_fill(&p->c, p->m, p->n, rng, limit);
  set_scalar(r, &r->alpha, x->alpha);
  set_scalar(r, &r->beta, x->beta);
}

/* Narrows r->orders by this result; 0 when none is left. `before` is C as it was. */
static int order_holds(struct rig *r, const xgemm_problem *p, int lanes, const double *before)
{
  const int64_t run = r->u->kind == XG_UKR_PANEL ? xg_run(p->k) : p->k;
  for (int64_t i = 0; i < p->m; i++)
    for (int64_t j = 0; j < p->n; j++) {
      double got = reference_get(&p->c, i, j);
      double c = p->beta != 0 ? before[i * p->n + j] : 0;
      if ((r->orders & 1) && got != reference_in_order(p, run, lanes, i, j, c, 1)) r->orders &= ~1;
      if ((r->orders & 2) && got != reference_in_order(p, run, lanes, i, j, c, 0)) r->orders &= ~2;
      if (!r->orders) return 0;
    }
  return 1;
}

/* "A + 128 of 96 bytes" and the like. */
static void where(const struct rig *r, const void *address, char *text, size_t size)
{
  const struct {
    const char *name;
    const struct hostile *h;
  } all[] = {{"A", &r->a.mem},
             {"B", &r->b.mem},
             {"C", &r->c.mem},
             {"alpha", &r->alpha},
             {"beta", &r->beta}};
  const unsigned char *at = address;
  snprintf(text, size, "address %p", address);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (at >= all[i].h->room - 4096 && at < all[i].h->room + all[i].h->capacity + 4096)
      snprintf(text, size, "%s%+td, which has %zu bytes", all[i].name, at - all[i].h->data,
               all[i].h->bytes);
}

/* Whether `packing` has packed B. */
static int packed_holds(const struct rig *r, const struct ukr_case *x)
{
  const char *from = r->b.at, *to = (const char *)r->packed.data;
  for (int64_t p = 0; p < x->k; p++)
    if (memcmp(from + (size_t)(p * x->rsb) * r->es, to + (size_t)(p * r->u->nr) * r->es,
               (size_t)x->n * r->es) != 0)
      return 0;
  return 1;
}

static void set_call(const struct rig *r, const struct ukr_case *x, struct call *call)
{
  static struct xg_fetch fetch;
  const struct xg_ukr *u = r->u;
  const int panel = u->kind == XG_UKR_PANEL;
  int64_t *next = call->arguments;
  *next++ = x->m, *next++ = x->n, *next++ = x->k;
  *next++ = (intptr_t)r->alpha.data;
  *next++ = (intptr_t)r->a.at;
  if (x->rsa || !panel) *next++ = x->rsa;
  if ((x->rsa || !panel) && x->way != 'd') *next++ = x->csa;
  *next++ = (intptr_t)r->b.at;
  if (x->rsb || !panel) *next++ = x->rsb;
  if (x->way == 'd') *next++ = x->csb;
  if (x->rsb && panel) *next++ = (intptr_t)r->packed.data;
  *next++ = (intptr_t)r->beta.data;
  *next++ = (intptr_t)r->c.at;
  *next++ = x->rsc;
  fetch = (struct xg_fetch){r->a.mem.room, 8 * x->k, 4096};
  if (x->rsa && panel) *next++ = (intptr_t)&fetch;
  call->function = x->way == 't'   ? (void (*)(void))u->turned
                   : x->way == 'd' ? (void (*)(void))u->dot
                   : !panel        ? (void (*)(void))u->inplace
                   : x->rsb        ? (void (*)(void))u->packing
                   : x->rsa        ? (void (*)(void))u->strided
                                   : (void (*)(void))u->panel;
}

/* Runs one case; 1 if it is right. */
static int run_case(struct check *k, struct rig *r, const struct ukr_case *x)
{
  const struct xg_ukr *u = r->u;
  char text[256];
  struct check_field fields[FIELDS];
  struct ukr_case copy = *x;
  case_fields(&copy, fields);
  check_format("ukr", fields, text, sizeof text);
  struct reference_rng rng = check_rng(k, text);
  xgemm_problem p;
  build(r, x, &rng, &p);
  if (r->values < x->m * x->n) {
    free(r->value);
    free(r->size);
    r->values = x->m * x->n;
    r->value = malloc((size_t)r->values * sizeof(double));
    r->size = malloc((size_t)r->values * sizeof(double));
  }
  double before[64 * 64];
  int check_order = x->data == 'r' && (x->k <= 100 || u->kind == XG_UKR_PANEL || x->way == 'd') &&
                    x->m * x->n <= 64 * 64;
  if (check_order && x->beta != 0)
    for (int64_t i = 0; i < x->m; i++)
      for (int64_t j = 0; j < x->n; j++) before[i * x->n + j] = reference_get(&p.c, i, j);
  reference_gemm(&p, r->value, r->size);
  hostile_readonly(&r->a.mem);
  hostile_readonly(&r->b.mem);

  struct call call = {0};
  set_call(r, x, &call);
  struct hostile_fault fault;
  long failures = k->failures;
  k->cases++;
  check_running(k, u->name, NULL, text);
  atomic_store(&xg_ukr_half_units, (int)x->half);
  if (hostile_catch(call_kernel, &call, &fault)) {
    char place[96];
    where(r, fault.address, place, sizeof place);
    check_fail(k, u->name, NULL, text, "signal %d at %s", fault.signal, place);
    return 0;
  }
  if (call.clobbered) check_fail(k, u->name, NULL, text, "does not preserve %s", call.clobbered);
  struct reference_miss miss;
  int64_t bad = reference_check(&p, r->value, r->size, x->data == 'i', &miss, NULL);
  if (bad)
    check_fail(k, u->name, NULL, text,
               "%lld of %lld elements wrong, first C[%lld][%lld] = %.9g, not %.9g", (long long)bad,
               (long long)(x->m * x->n), (long long)miss.i, (long long)miss.j, miss.got,
               miss.expected);
  if (!hostile_matrix_gaps_intact(&r->c))
    check_fail(k, u->name, NULL, text, "wrote to memory between or around C's elements");
  if (u->kind == XG_UKR_PANEL && x->rsb && !packed_holds(r, x))
    check_fail(k, u->name, NULL, text, "B is not packed as it should be");
  if (!bad && check_order && !order_holds(r, &p, x->way == 'd' ? u->nr / 2 : 1, before)) {
    check_fail(k, u->name, NULL, text, "additions are not in the contract's order");
    r->orders = 3;
  }
  return k->failures == failures;
}

/* ---------------------------------------------------------------- which cases */

static const double scalars_exact[] = {0, 1, -1, 3}, scalars_real[] = {0, 1, -1, 0.703125};

/* Sixteen pairs of scalars; the last of each is rounded in neither type. */
static void set_scalars(struct ukr_case *x, unsigned pair)
{
  const double *s = x->data == 'i' ? scalars_exact : scalars_real;
  x->alpha = s[pair & 3];
  x->beta = (pair >> 2 & 3) == 3 ? -s[3] : s[pair >> 2 & 3];
}

/* k around the unroll factors in use (4 and 8), multiples that fill whole cache lines, and long. */
static const int64_t depths[] = {1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 25, 33, 64};
enum { DEPTHS = sizeof depths / sizeof *depths };

static void strided_case(struct check *k, struct rig *r, struct ukr_case x, unsigned turn)
{
  if (!r->u->strided) return;
  const int64_t pad = turn / 8 % 3;
  check_strides("rcg-xz"[turn % 6], x.m, x.k, pad, &x.rsa, &x.csa);
  run_case(k, r, &x);
  if (!r->u->packing || x.m < r->u->mr || x.rsa == 0) return;
  x.rsb = x.n + turn / 3 % 3 * 5;
  run_case(k, r, &x);
}

static void panel_cases(struct check *k, struct rig *r)
{
  const struct xg_ukr *u = r->u;
  int masked = u->flags & XG_UKR_MASKED, quick = k->tier == CHECK_QUICK;
  long failures = k->failures;
  unsigned turn = 0;
  for (int d = 0; d < DEPTHS; d++) {
    struct ukr_case x = {.k = depths[d], .way = 'p'};
    rig_resize(r);
    for (x.m = masked ? 1 : u->mr; x.m <= u->mr; x.m++)
      for (x.n = masked ? 1 : u->nr; x.n <= u->nr; x.n++) {
        int whole = x.m == u->mr && x.n == u->nr;
        /* Every pair of scalars for the whole tile, a changing one for each of the others. */
        for (unsigned t = 0; t < (whole ? 64u : quick ? 1u : 4u); t++, turn++) {
          if (quick && !whole && (x.m * 31 + x.n * 7 + d) % 5 != 0) continue;
          x.side = turn & 1 ? 's' : 'e';
          x.data = turn & 2 ? 'r' : 'i';
          x.rsc = x.n + (int64_t[]){0, 1, 5, u->nr}[turn / 4 % 4];
          set_scalars(&x, turn * 7 / 4);
          run_case(k, r, &x);
          strided_case(k, r, x, turn);
          if (k->silent && k->failures > failures) return;
        }
      }
  }
  rig_resize(r);
  static const int64_t runs[] = {256, 257, 300, 512, 1000, 1001, 513, 1003};
  for (int t = 0; t < 8; t++) { /* long sums */
    struct ukr_case x = {.m = u->mr, .n = u->nr, .k = runs[t], .rsc = u->nr + t, .way = 'p'};
    x.side = t & 1 ? 's' : 'e', x.data = t & 2 ? 'r' : 'i';
    set_scalars(&x, t == 0 ? 1 : 13);
    run_case(k, r, &x);
    strided_case(k, r, x, (unsigned)t);
  }
}

static int64_t pick(struct reference_rng *rng, const int64_t *list, int count)
{
  return list[reference_integer(rng, 0, count - 1)];
}

static void inplace_strides(struct ukr_case *x, struct reference_rng *rng)
{
  static const char kinds[] = "rcgrc-xzyo";
  int64_t pad = reference_integer(rng, 0, 3), ignored;
  check_strides(kinds[reference_integer(rng, 0, 9)], x->m, x->k, pad, &x->rsa, &x->csa);
  check_strides("rrr-z"[reference_integer(rng, 0, 4)], x -> k, x -> n, pad, &x -> rsb, &ignored);
  if (x->rsb < 0) x->rsb = -(x->n + pad);
  x->rsc = x->n + reference_integer(rng, 0, 5);
  if (reference_integer(rng, 0, 9) == 0) x->rsc = -x->rsc;
}

/* The same product by the kernel's other entries, with an A and a B that lie as those want it. */
static void inplace_ways(struct check *k, struct rig *r, struct ukr_case x,
                         struct reference_rng *rng)
{
  const struct xg_ukr *u = r->u;
  const int64_t pad = reference_integer(rng, 0, 3);
  if (u->turned) {
    x.way = 't', x.rsb = x.k + pad;
    run_case(k, r, &x);
  }
  if (!u->dot) return;
  x.way = 'd', x.n = 1 + x.n % (u->nr / 8), x.rsa = x.k + pad, x.csa = 1;
  x.rsc = x.rsc < 0 ? -x.n - pad : x.n + pad;
  check_strides("rcg-"[reference_integer(rng, 0, 3)], x.k, x.n, pad, &x.rsb, &x.csb);
  run_case(k, r, &x);
}

/* A few rows, which may be so long that they go their own way. */
static void inplace_long_rows(struct check *k, struct rig *r, struct reference_rng *rng)
{
  const int64_t vector = (r->u->nr + 1) / 2;
  for (unsigned t = 0; t < 48; t++) {
    const int64_t n = vector * (12 + 2 * (t / 8)) + reference_integer(rng, 0, 2 * vector);
    struct ukr_case x = {.m = 1 + t % 4, .n = n, .k = 1 + t / 4 % 6, .way = 'p'};
    x.side = t & 1 ? 's' : 'e', x.data = t & 2 ? 'r' : 'i';
    inplace_strides(&x, rng);
    set_scalars(&x, t % 3 ? 1 : (unsigned)reference_integer(rng, 0, 15));
    run_case(k, r, &x);
  }
}

static void inplace_cases(struct check *k, struct rig *r)
{
  const struct xg_ukr *u = r->u;
  int64_t most_m = 2 * u->mr + 3, most_n = 2 * u->nr + 3;
  long failures = k->failures;
  struct reference_rng rng = check_rng(k, u->name);
  unsigned turn = 0;
  int step = k->tier == CHECK_QUICK ? 5 : 1;
  for (int64_t m = 1; m <= most_m; m++)
    for (int64_t n = 1 + m % step; n <= most_n; n += step, turn++) {
      struct ukr_case x = {.m = m, .n = n, .k = pick(&rng, depths, DEPTHS), .way = 'p'};
      x.side = turn & 1 ? 's' : 'e', x.data = turn & 2 ? 'r' : 'i';
      inplace_strides(&x, &rng);
      set_scalars(&x, (unsigned)reference_integer(&rng, 0, 15));
      x.half = turn / 4 & 1;
      if (turn % 64 == 0) rig_resize(r);
      run_case(k, r, &x);
      inplace_ways(k, r, x, &rng);
      if (k->silent && k->failures > failures) return;
    }
  for (int t = 0; t < 4; t++) {
    struct ukr_case x = {.m = 23 + t, .n = 40 - t, .k = 1000 + t, .way = 'p'};
    x.side = t & 1 ? 's' : 'e', x.data = t & 2 ? 'r' : 'i';
    inplace_strides(&x, &rng);
    set_scalars(&x, 13);
    run_case(k, r, &x);
    x.k = XG_RUN - t;
    inplace_ways(k, r, x, &rng);
  }
  inplace_long_rows(k, r, &rng);
}

void check_one_ukr(struct check *k, const struct xg_ukr *u)
{
  const long cases = k->cases, failures = k->failures, half = atomic_load(&xg_ukr_half_units);
  struct rig r;
  check_unit_begin(k);
  rig_open(&r, u);
  if (k->problem) {
    struct check_field fields[FIELDS];
    const int packed = u->kind == XG_UKR_PANEL;
    struct ukr_case x = {
        u->mr, u->nr, 8, packed ? 0 : 1, packed ? 0 : u->mr, u->nr, u->nr, 1, 0, 'i', 'e',
        'p',   1,     0};
    case_fields(&x, fields);
    check_parse(k, fields);
    if (u->kind == XG_UKR_PANEL && (x.m > u->mr || x.n > u->nr || x.k < 1))
      check_skip(k, u->name, "the case is larger than the tile");
    else if (packed &&
             ((x.rsa && !u->strided) || (x.rsb && (!u->packing || x.m < u->mr || !x.rsa))))
      check_skip(k, u->name, "the kernel reads packed panels only");
    else if ((x.way == 't' && !u->turned) || (x.way == 'd' && !u->dot))
      check_skip(k, u->name, "the kernel has no such entry");
    else
      run_case(k, &r, &x);
  } else if (u->kind == XG_UKR_PANEL) {
    panel_cases(k, &r);
  } else {
    inplace_cases(k, &r);
  }
  check_unit_end(k, u->name, cases, failures,
                 r.orders == 1   ? "in order, fused"
                 : r.orders == 2 ? "in order, not fused"
                                 : NULL);
  atomic_store(&xg_ukr_half_units, (int)half);
  rig_close(&r);
}

const char *check_ukr_reason(const struct xg_ukr *u)
{
  static const char *const lacks[] = {NULL, "this CPU has no AVX2 and FMA",
                                      "this CPU has no AVX-512"};
  return u->isa <= xg_cpu_isa_hardware() ? NULL : lacks[u->isa];
}

/* What the CPU backend lists is what info, bench and XGEMM_KERNEL know. */
static void check_listed(struct check *k, const struct xg_ukr *u)
{
  for (int i = 0; i < xg_backend_cpu.kernel_count(); i++)
    if (strcmp(xg_backend_cpu.kernel_info(i).name, u->name) == 0) return;
  check_fail(k, u->name, NULL, "--layer ukr", "the CPU backend does not list it");
}

void check_ukr(struct check *k)
{
  for (const struct xg_ukr *const *u = xg_ukr_table; *u; u++) {
    if ((*u)->kind == XG_UKR_PACK || (*u)->kind == XG_UKR_STRIP ||
        !check_wants_kernel(k, (*u)->name))
      continue;
    const char *reason = check_ukr_reason(*u);
    if (reason)
      check_skip(k, (*u)->name, reason);
    else if ((*u)->kind == XG_UKR_STREAM)
      check_one_stream(k, *u);
    else
      check_one_ukr(k, *u);
    check_listed(k, *u);
  }
}
