/* Products that strip kernels take, through xgemm(): small k with a large C, and large k with a
 * small one. Every direction of A and B, ragged ends, C by row, by column and with gaps, on and off
 * cache lines, smaller and larger than the last cache; bits equal for 1 to 3 threads. */
#include "../cpu/loops_deep.h"
#include "../cpu/loops_flat.h"
#include "../cpu/topo.h"
#include "../cpu/ukr_find.h"
#include "checkgemm.h"

/* What varies from case to case. */
static void dress(struct check_product *x, int turn)
{
  static const double betas[] = {0, 1, -0.75}, exact[] = {0, 1, 3};
  static const char read[] = "rrccgrcXr", pads[] = {0, 1, 16, 5};
  check_strides(read[turn % 9], x->m, x->k, pads[turn % 4], &x->rsa, &x->csa);
  check_strides(read[turn / 2 % 9], x->k, x->n, pads[turn / 2 % 4], &x->rsb, &x->csb);
  check_strides("rcrc"[turn % 4], x -> m, x -> n, pads[turn / 3 % 4], &x -> rsc, &x -> csc);
  x->data = turn & 1 ? 'r' : turn % 8 == 4 ? 'n' : 'i';
  x->beta = x->data == 'i' ? exact[turn / 2 % 3] : betas[turn / 2 % 3];
  x->alpha = turn % 5 ? 1 : x->data == 'i' ? -1 : 0.7;
  x->side = turn % 3 ? 'e' : 's';
}

static void check_flat(struct check *k, char type)
{
  static const int64_t lengths[] = {131, 257, 600, 4111}, depths[] = {1, 2, 7, 16, 31, 32};
  const int step = k->tier == CHECK_QUICK ? 3 : 1;
  for (int turn = 0; turn < 48; turn += step) {
    struct check_product x = {.type = type, .k = depths[turn % 6]};
    x.m = lengths[turn / 6 % 4] + turn % 8, x.n = (1 << 20) / 4 / x.m + 1 + turn % 19;
    dress(&x, turn);
    check_threads_of(k, &x);
  }
}

/* Past the last cache, in whole lines and around them. */
static void check_past(struct check *k, char type)
{
  const int64_t e = type == 'd' ? 8 : 4, l3 = xg_topo()->l3, n = 4096;
  if (l3 > 64 << 20) return; /* no such C in a test */
  for (int shift = 0; shift < 2; shift++) {
    struct check_product x = {.type = type, .n = n + 3, .k = 5, .alpha = 1, .data = 'i'};
    x.m = l3 / (n * e) + 9;
    x.side = shift ? 'e' : 's';
    check_strides('r', x.m, x.k, 0, &x.rsa, &x.csa);
    check_strides('r', x.k, x.n, 0, &x.rsb, &x.csb);
    check_strides('r', x.m, x.n, 13, &x.rsc, &x.csc);
    check_threads_of(k, &x);
  }
}

static void check_deep(struct check *k, char type)
{
  static const int64_t sides[] = {17, 24, 48, 65, 64, 100, 35, 130, 256};
  const int step = k->tier == CHECK_QUICK ? 5 : 1;
  for (int turn = 0; turn < 36; turn += step) {
    struct check_product x = {.type = type};
    x.m = sides[turn % 9], x.n = sides[turn * 4 / 3 % 9];
    x.k = 4096 + turn * 331;
    if (x.m * x.n > 10000) x.k = 4096 + turn;
    dress(&x, turn);
    if (turn % 3 == 2) { /* rows too far apart to be read in place */
      check_strides("cr"[turn % 2], x.m, x.k, 300, &x.rsa, &x.csa);
      check_strides("cr"[turn / 2 % 2], x.k, x.n, 300, &x.rsb, &x.csb);
    }
    check_threads_of(k, &x);
  }
}

/* The shapes above go where they are meant to, if there is a kernel. */
static void check_taken(struct check *k, xgemm_type type)
{
  const struct xg_ukr *u = xg_ukr_best(type, XG_UKR_STRIP);
  struct xg_problem flat = {.type = type, .m = 131, .n = 2048, .k = 32};
  struct xg_problem deep = {.type = type, .m = 17, .n = 24, .k = 4096};
  flat.c.cs = 1;
  if (u && (!xg_is_flat(&flat, u) || !xg_is_deep(&deep, u)))
    check_fail(k, u->name, "cpu", "--layer loops", "strip kernels are not reached");
}

void check_strip(struct check *k)
{
  long cases = k->cases, failures = k->failures;
  if (k->problem || k->kernel || !check_wants_backend(k, "cpu")) return;
  check_unit_begin(k);
  for (int t = 0; t < 2; t++) {
    check_taken(k, t ? XGEMM_F64 : XGEMM_F32);
    check_flat(k, "sd"[t]);
    check_deep(k, "sd"[t]);
    if (k->tier != CHECK_QUICK) check_past(k, "sd"[t]);
  }
  check_unit_end(k, "strips", cases, failures, NULL);
}
