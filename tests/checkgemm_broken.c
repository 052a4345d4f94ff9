/* The selftest: micro-kernels and packing routines that are broken on purpose, each a wrapper
 * around a good one, must all be reported; the good ones must not. */
#include "checkgemm.h"
#include "checkgemm_broken.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A wrapper has no room for a closure. */
static const struct xg_ukr *good;
static const struct breakage *broken;

static double scalar_get(const void *x)
{
  return good->type == 'd' ? *(const double *)x : *(const float *)x;
}

/* The operands of a call, PANEL and INPLACE alike. */
struct operands {
  int64_t m, n, k, rs_a, cs_a, rs_b, rs_c;
  const void *a, *b;
  void *c;
  double alpha, beta;
};

static xgemm_matrix matrix(const void *x, int64_t rs, int64_t cs)
{
  return (xgemm_matrix){(void *)(uintptr_t)x,
                        good->type == 'd' ? XGEMM_F64 : XGEMM_F32,
                        XGEMM_SPACE_HOST,
                        rs,
                        cs,
                        {0}};
}

static const void *offset(const void *x, int64_t elements)
{
  return (const char *)x + elements * (good->type == 'd' ? 8 : 4);
}

static void run_good(const struct operands *o)
{
  double d[2] = {o->alpha, o->beta};
  float s[2] = {(float)o->alpha, (float)o->beta};
  const void *alpha = good->type == 'd' ? (void *)&d[0] : (void *)&s[0];
  const void *beta = good->type == 'd' ? (void *)&d[1] : (void *)&s[1];
  if (o->k < 1) return;
  if (good->kind == XG_UKR_PANEL)
    good->panel(o->m, o->n, o->k, alpha, o->a, o->b, beta, o->c, o->rs_c);
  else
    good->inplace(o->m, o->n, o->k, alpha, o->a, o->rs_a, o->cs_a, o->b, o->rs_b, beta, o->c,
                  o->rs_c);
}

static volatile double sink;

static void read_element(const void *x, int64_t at)
{
  xgemm_matrix v = matrix(x, 1, 1);
  sink = reference_get(&v, at, 0);
}

/* Highest offset of A and of B that may be read. A's lowest is 0 except for negative strides. */
static int64_t last_of_a(const struct operands *o)
{
  if (good->kind == XG_UKR_PANEL) return o->k * good->mr - 1;
  return (o->rs_a > 0 ? (o->m - 1) * o->rs_a : 0) + (o->cs_a > 0 ? (o->k - 1) * o->cs_a : 0);
}

static int64_t last_of_b(const struct operands *o)
{
  if (good->kind == XG_UKR_PANEL) return o->k * good->nr - 1;
  return (o->rs_b > 0 ? (o->k - 1) * o->rs_b : 0) + o->n - 1;
}

/* k steps from `from` on, into C as it is when `more`. */
static void run_steps(const struct operands *o, int64_t from, int64_t count, int more)
{
  struct operands part = *o;
  part.k = count;
  part.a = offset(o->a, from * o->cs_a);
  part.b = offset(o->b, from * o->rs_b);
  if (more) part.beta = 1;
  run_good(&part);
}

/* The faults that are a change of the call. Returns 1 if it has run the kernel. */
static int run_changed(struct operands *o)
{
  switch (broken->fault) {
  case DROPS_LAST_K:
    o->k--;
    return run_good(o), 1;
  case DROPS_K_REMAINDER_3:
    o->k -= o->k % 4 == 3;
    return run_good(o), 1;
  case SKIPS_FIRST_K:
    return run_steps(o, 1, o->k - 1, 0), 1;
  case ALPHA_ON_C_TOO:
    o->beta *= o->alpha;
    return run_good(o), 1;
  case ALPHA_WITHOUT_SIGN:
    o->alpha = fabs(o->alpha);
    return run_good(o), 1;
  case BETA_IS_ONE:
    o->beta = o->beta != 0;
    return run_good(o), 1;
  case ALPHA_0_RETURNS:
    if (o->alpha != 0) run_good(o);
    return 1;
  case LEAVES_LAST_ROW:
    o->m = o->m > 1 && good->flags & XG_UKR_MASKED ? o->m - 1 : o->m;
    return run_good(o), 1;
  case IGNORES_ROW_STRIDE:
    o->rs_c = good->kind == XG_UKR_PANEL ? good->nr : o->n;
    return run_good(o), 1;
  case IGNORES_COLUMN_STRIDE_OF_A:
    o->cs_a = 1;
    return run_good(o), 1;
  case SUMS_IN_HALVES:
    run_steps(o, o->k / 2, o->k - o->k / 2, 0);
    if (o->k / 2) run_steps(o, 0, o->k / 2, 1);
    return 1;
  case WANTS_ALIGNED_C:
    if ((uintptr_t)o->c % 16) __builtin_trap();
    return run_good(o), 1;
  case SETS_WHOLE_TILE:
    if (good->flags & XG_UKR_MASKED) o->m = good->mr, o->n = good->nr;
    return run_good(o), 1;
  default:
    return 0;
  }
}

/* The faults that follow a good call. */
static void run_spoiled(const struct operands *o)
{
  xgemm_matrix c = matrix(o->c, o->rs_c, 1), a = matrix(o->a, 1, 1);
  double old = broken->fault == READS_C_AT_BETA_0 ? reference_get(&c, 0, o->n - 1) : 0;
  run_good(o);
  double u = good->type == 'd' ? 0x1p-53 : 0x1p-24;
  int64_t i = o->m - 1, j = o->n - 1;
  switch (broken->fault) {
  case SWAPS_ROWS:
    for (int64_t l = 0; l <= j; l++) {
      double first = reference_get(&c, 0, l), last = reference_get(&c, i, l);
      reference_set(&c, 0, l, last), reference_set(&c, i, l, first);
    }
    break;
  case EDGE_COLUMN_WRONG:
    if (o->n % 4 == 3) reference_set(&c, i, j, reference_get(&c, i, j - 1));
    break;
  case READS_PAST_A:
    read_element(o->a, last_of_a(o) + 1);
    break;
  case READS_PAST_B:
    read_element(o->b, last_of_b(o) + 1);
    break;
  case READS_BEFORE_A:
    read_element(o->a, good->kind == XG_UKR_PANEL
                           ? -1
                           : last_of_a(o) - hostile_span(o->m, o->k, o->rs_a, o->cs_a));
    break;
  case READS_BEFORE_B:
    read_element(o->b, last_of_b(o) - (good->kind == XG_UKR_PANEL
                                           ? o->k * good->nr
                                           : hostile_span(o->k, o->n, o->rs_b, 1)));
    break;
  case READS_PAST_C:
    read_element(o->c, (o->rs_c > 0 ? i * o->rs_c : 0) + o->n);
    break;
  case READS_C_AT_BETA_0:
    reference_set(&c, 0, j, reference_get(&c, 0, j) + 0 * old);
    break;
  case LEAVES_A_NAN:
    reference_set(&c, i, j, NAN);
    break;
  case WRITES_PAST_A_ROW:
    reference_set(&c, i, o->n, 0);
    break;
  case WRITES_BEFORE_C:
    reference_set(&c, 0, -1, 0);
    break;
  case WRITES_TO_A:
    reference_set(&a, 0, 0, reference_get(&a, 0, 0));
    break;
  case LOSES_FOUR_BITS:
    reference_set(&c, i, j, reference_get(&c, i, j) * (1 + 16 * u));
    break;
  case K_OF_1_ADDS_NOTHING:
    if (o->k == 1) reference_set(&c, i, j, 0);
    break;
  default:
    break;
  }
}

static void run_broken(struct operands *o)
{
  if (!run_changed(o)) run_spoiled(o);
#if defined(__x86_64__)
  /* Nothing below tells the compiler what it changes: that is the point. */
  switch (broken->fault) {
  case SETS_FLUSH_TO_ZERO: {
    uint32_t mxcsr;
    __asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
    mxcsr |= 0x8000;
    __asm__ volatile("ldmxcsr %0" : : "m"(mxcsr));
    break;
  }
  case ROUNDS_DOWN_FROM_NOW: {
    uint32_t mxcsr;
    __asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
    mxcsr |= 0x2000;
    __asm__ volatile("ldmxcsr %0" : : "m"(mxcsr));
    break;
  }
  case LEAVES_X87_FULL:
    __asm__ volatile("fldz");
    break;
  case CHANGES_X87_CONTROL: {
    uint16_t cw = 0x027f;
    __asm__ volatile("fldcw %0" : : "m"(cw));
    break;
  }
  default:
    break;
  }
#endif
}

static void broken_panel(int64_t m, int64_t n, int64_t k, const void *alpha, const void *a,
                         const void *b, const void *beta, void *c, int64_t rs_c)
{
  struct operands o = {m,    n, k, 1, good->mr,          good->nr,
                       rs_c, a, b, c, scalar_get(alpha), scalar_get(beta)};
  if (broken->fault == READS_PAST_ALPHA) read_element(alpha, 1);
  run_broken(&o);
}

static void broken_inplace(int64_t m, int64_t n, int64_t k, const void *alpha, const void *a,
                           int64_t rs_a, int64_t cs_a, const void *b, int64_t rs_b,
                           const void *beta, void *c, int64_t rs_c)
{
  struct operands o = {
      m, n, k, rs_a, cs_a, rs_b, rs_c, a, b, c, scalar_get(alpha), scalar_get(beta)};
  if (broken->fault == READS_PAST_ALPHA) read_element(alpha, 1);
  run_broken(&o);
}

#if defined(__x86_64__)
/* What a compiler would restore must be broken in assembly: call the good kernel (the arguments
 * pass through untouched), then change a register. Stack arguments sit 8 bytes further for the
 * callee, so this jumps there through a trampoline that keeps the return address aside. */
static uintptr_t return_to[2];
static void (*good_entry)(void);
#define CLOBBERS(name, instruction)                                                                \
  void name(void);                                                                                 \
  __asm__(".text\n.hidden " #name "\n.globl " #name "\n.type " #name ", @function\n" #name ":\n"   \
          "  mov check_broken_return(%rip), %r10\n  pop (%r10)\n"                                  \
          "  mov check_broken_entry(%rip), %r10\n  call *(%r10)\n"                                 \
          "  mov check_broken_return(%rip), %r10\n  push (%r10)\n  " instruction "\n  ret\n"       \
          ".size " #name ", .-" #name "\n");
uintptr_t *check_broken_return __attribute__((visibility("hidden"))) = return_to;
void (**check_broken_entry)(void) __attribute__((visibility("hidden"))) = &good_entry;
CLOBBERS(check_clobbers_rbx, "not %rbx")
CLOBBERS(check_clobbers_rbp, "xor %ebp, %ebp")
CLOBBERS(check_clobbers_r12, "inc %r12")
CLOBBERS(check_clobbers_r13, "mov %rax, %r13")
CLOBBERS(check_clobbers_r14, "shl %r14")
CLOBBERS(check_clobbers_r15, "mov $1, %r15d")
CLOBBERS(check_sets_direction, "std")

static void (*clobberer(enum fault fault))(void)
{
  switch (fault) {
  case CLOBBERS_RBX:
    return check_clobbers_rbx;
  case CLOBBERS_RBP:
    return check_clobbers_rbp;
  case CLOBBERS_R12:
    return check_clobbers_r12;
  case CLOBBERS_R13:
    return check_clobbers_r13;
  case CLOBBERS_R14:
    return check_clobbers_r14;
  case CLOBBERS_R15:
    return check_clobbers_r15;
  case SETS_DIRECTION_FLAG:
    return check_sets_direction;
  default:
    return NULL;
  }
}
#endif

/* ---------------------------------------------------------------- packing */

static void broken_pack(int64_t width, int64_t rows, int64_t k, const void *src, int64_t is,
                        int64_t ps, void *dst)
{
  xgemm_matrix d = matrix(dst, 1, width), s = matrix(src, is, ps);
  int64_t rs = is, cs = ps;
  switch (broken->fault) {
  case PACK_DROPS_LAST_K:
    k--;
    break;
  case PACK_IGNORES_STEP:
    cs = cs > 1 ? 1 : cs;
    break;
  case PACK_IGNORES_SIGN:
    rs = rs < 0 ? -rs : rs;
    break;
  default:
    break;
  }
  if (k > 0) good->pack(width, rows, k, src, rs, cs, dst);
  switch (broken->fault) {
  case PACK_LEAVES_PADDING:
    if (rows < width) reference_set(&d, width - 1, k - 1, 1);
    break;
  case PACK_READS_PAST:
    sink = reference_get(&s, rows, k - 1);
    break;
  case PACK_WRITES_PAST:
    reference_set(&d, width, k - 1, 0);
    break;
  case PACK_QUIETS_NAN: {
    uint32_t *word = (uint32_t *)dst;
    for (int64_t i = 0; good->type == 's' && i < width * k; i++)
      if ((word[i] & 0x7f800000u) == 0x7f800000u && (word[i] & 0x7fffffu)) word[i] |= 0x400000u;
    if (good->type == 'd') ((uint64_t *)dst)[0] ^= 1;
    break;
  }
  case PACK_SWAPS_ROWS:
    if (rows == 7) {
      double x = reference_get(&d, 5, 0);
      reference_set(&d, 5, 0, reference_get(&d, 6, 0)), reference_set(&d, 6, 0, x);
    }
    break;
  default:
    break;
  }
}

/* ---------------------------------------------------------------- the table */

/* Runs the unit's cases on a copy of `unit` with the breakage in; 1 if something was reported. */
static int reported(const struct check *k, const struct xg_ukr *unit, const struct breakage *b,
                    char *by, size_t size)
{
  struct xg_ukr bad = *unit;
  struct check quiet = *k;
  quiet.silent = 1, quiet.failures = 0, quiet.first[0] = 0, quiet.problem = NULL;
  quiet.tier = CHECK_FULL;
  good = unit, broken = b;
  if (unit->kind == XG_UKR_PACK) {
    bad.pack = broken_pack;
    check_one_pack(&quiet, &bad);
  } else {
    bad.panel = broken_panel, bad.inplace = broken_inplace;
#if defined(__x86_64__)
    void (*clobber)(void) = clobberer(b->fault);
    if (clobber) {
      good_entry =
          unit->kind == XG_UKR_PANEL ? (void (*)(void))unit->panel : (void (*)(void))unit->inplace;
      bad.panel = (xg_panel_fn *)clobber, bad.inplace = (xg_inplace_fn *)clobber;
    }
#endif
    check_one_ukr(&quiet, &bad);
  }
  snprintf(by, size, "%s", quiet.first);
  return quiet.failures > 0;
}

static int applies(const struct breakage *b, const struct xg_ukr *u)
{
  int bit = u->kind == XG_UKR_PACK      ? ON_PACK
            : u->kind == XG_UKR_INPLACE ? ON_INPLACE
            : u->flags & XG_UKR_MASKED  ? ON_MASKED
                                        : ON_PANEL;
#if !defined(__x86_64__)
  if (b->on & NEEDS_X86) return 0;
#endif
  return b->on & bit;
}

static int judge(struct check *k, const char *unit, const struct breakage *b, int found,
                 const char *by)
{
  int right = found == (b->fault != NO_FAULT);
  k->cases++;
  if (!right) k->failures++;
  if (!right || k->verbose || b->fault == NO_FAULT)
    printf("%-4s %-24s %-34s %s\n", right ? "ok" : "FAIL", unit, b->name,
           found ? by : "not reported");
  return right;
}

int check_selftest(struct check *k)
{
  for (const struct xg_ukr *const *u = xg_ukr_table; *u; u++) {
    if ((*u)->kind >= XG_UKR_STREAM || !check_wants_kernel(k, (*u)->name) || check_ukr_reason(*u))
      continue;
    int right = 0, all = 0;
    for (const struct breakage *b = breakages; b->name; b++) {
      char by[256];
      if (!applies(b, *u)) continue;
      int found = reported(k, *u, b, by, sizeof by);
      all++, right += judge(k, (*u)->name, b, found, by);
    }
    printf("%-4s %-24s %d of %d\n", right == all ? "ok" : "FAIL", (*u)->name, right, all);
  }
  for (const struct broken_product *b = broken_products; b->as.name; b++)
    for (int type = 0; type < 2; type++) {
      struct check quiet = *k;
      quiet.silent = 1, quiet.failures = 0, quiet.first[0] = 0, quiet.problem = NULL;
      check_one_runner(&quiet, type ? XGEMM_F64 : XGEMM_F32, b->run);
      judge(k, type ? "product f64" : "product f32", &b->as, quiet.failures > 0, quiet.first);
    }
  printf("checkgemm: %ld broken or good units, %ld misjudged\n", k->cases, k->failures);
  return k->failures > 0 || k->cases == 0;
}
