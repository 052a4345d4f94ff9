/* Products with one of m and n at most 16 through xgemm(): every width, both directions of the long
 * matrix, ragged ends, C by row, by column and with gaps; bits equal for 1 to 3 threads. */
#include "checkgemm.h"

#include <stdio.h>

static int run_xgemm(void *context, const xgemm_problem *p)
{
  return xgemm(p, context);
}

/* 1 if the case is right on every number of threads. */
int check_threads_of(struct check *k, const struct check_product *x)
{
  char text[400], why[256];
  struct check_product copy = *x;
  struct check_field fields[CHECK_PRODUCT_FIELDS + 1];
  uint64_t first = 0, hash = 0;
  fields[check_product_fields(&copy, fields)] = (struct check_field){NULL, 0, NULL};
  check_format("loops", fields, text, sizeof text);
  for (int threads = 1; threads <= 3; threads++) {
    xgemm_options options = XGEMM_OPTIONS_INIT;
    options.backend = XGEMM_BACKEND_CPU;
    options.threads = threads;
    k->cases++;
    check_running(k, NULL, "cpu", text);
    if (check_product(x, check_rng(k, text), run_xgemm, &options, &hash, why, sizeof why) !=
        CHECK_RIGHT) {
      check_fail(k, NULL, "cpu", text, "%s", why);
      return 0;
    }
    if (threads == 1) first = hash;
    if (hash != first) {
      check_fail(k, NULL, "cpu", text, "%d threads give other bits than 1", threads);
      return 0;
    }
  }
  return 1;
}

/* The long matrix is B if `wide`, else A; it runs along k if `dot`. */
static struct check_product thin(char type, int wide, int dot, int64_t s, int64_t l, int64_t k)
{
  struct check_product x = {.type = type, .k = k, .alpha = 1, .side = 'e'};
  x.m = wide ? s : l, x.n = wide ? l : s;
  check_strides(wide || dot ? 'r' : 'c', x.m, k, 3, &x.rsa, &x.csa);
  check_strides(wide && dot ? 'c' : 'r', k, x.n, 1, &x.rsb, &x.csb);
  return x;
}

static void check_type(struct check *k, char type)
{
  static const int64_t lengths[] = {64, 131, 257, 1000}, depths[] = {65, 300, 1031};
  static const double betas[] = {0, 1, -0.75}, exact[] = {0, 1, 3};
  const int step = k->tier == CHECK_QUICK ? 5 : 1;
  int turn = 0;
  for (int form = 0; form < 4; form++)
    for (int64_t s = 1 + (step > 1 ? form : 0); s <= XG_STREAM_S; s += step)
      for (int i = 0; i < 4; i++, turn++) {
        struct check_product x =
            thin(type, form & 1, form & 2, s, lengths[i], depths[(turn + i) % 3]);
        check_strides("rcgR"[turn % 3], x.m, x.n, turn % 4, &x.rsc, &x.csc);
        x.data = turn & 1 ? 'r' : turn % 8 == 4 ? 'n' : 'i';
        x.beta = x.data == 'i' ? exact[turn / 2 % 3] : betas[turn / 2 % 3];
        if (turn % 5 == 0) x.alpha = x.data == 'i' ? -1 : 0.7;
        if (turn % 3 == 0) x.side = 's';
        check_threads_of(k, &x);
      }
  /* Past the stretch of l whose sums are kept, and past several pieces of k. */
  for (int form = 0; form < 4; form++) {
    struct check_product x = thin(type, form & 1, form & 2, form & 2 ? 7 : 16, 5003, 90);
    check_strides(form & 1 ? 'r' : 'c', x.m, x.n, 0, &x.rsc, &x.csc);
    x.data = 'i';
    check_threads_of(k, &x);
    x = thin(type, form & 1, form & 2, 6, 97, 5003);
    check_strides(form & 1 ? 'c' : 'r', x.m, x.n, 0, &x.rsc, &x.csc);
    x.data = 'r', x.beta = 1;
    check_threads_of(k, &x);
    x = thin(type, form & 1, form & 2, 13, 131, 5003);
    x.data = 'r', x.beta = 0.5;
    check_strides(form & 1 ? 'c' : 'r', x.m, x.n, 1, &x.rsc, &x.csc);
    check_threads_of(k, &x);
  }
}

/* S lies as packing would lay it, and is read in place; threads get a few rows each. */
static void check_flush(struct check *k, char type)
{
  static const int64_t widths[] = {1, 5, 8, 16};
  int turn = 0;
  for (int form = 0; form < 4; form++)
    for (int i = 0; i < 4; i++)
      for (int few = 0; few < 2; few++, turn++) {
        const int64_t s = widths[i], l = few ? 5 + 2 * s : 300;
        struct check_product x = thin(type, form & 1, form & 2, s, l, few ? 9001 : 1031);
        if (form & 1)
          x.rsa = 1, x.csa = s;
        else
          x.rsb = s, x.csb = 1;
        check_strides("rcg"[turn % 3], x.m, x.n, turn % 4, &x.rsc, &x.csc);
        x.data = 'r', x.beta = turn % 2;
        check_threads_of(k, &x);
      }
}

/* Too small to stream: the long matrix along k, the other by row, by column and with gaps. */
static void check_small(struct check *k, char type)
{
  static const int64_t lengths[] = {1, 3, 4, 6, 33, 130}, depths[] = {31, 32, 47, 200, 256, 300};
  static const double betas[] = {0, 1, -0.75};
  int turn = 0;
  for (int64_t s = 1; s <= 5; s++)
    for (int i = 0; i < 36; i++, turn++) {
      struct check_product x = thin(type, turn & 1, 2, s, lengths[i / 6], depths[i % 6]);
      if (turn & 1)
        check_strides("rcgz"[turn / 2 % 4], x.m, x.k, 2, &x.rsa, &x.csa);
      else
        check_strides("rcgz"[turn / 2 % 4], x.k, x.n, 2, &x.rsb, &x.csb);
      check_strides("rcg"[turn % 3], x.m, x.n, turn % 4, &x.rsc, &x.csc);
      x.data = turn % 5 < 2 ? 'i' : 'r';
      x.beta = x.data == 'i' ? turn % 3 : betas[turn % 3];
      if (turn % 4 == 0) x.alpha = x.data == 'i' ? 3 : 0.7;
      if (turn % 3 == 0) x.side = 's';
      check_threads_of(k, &x);
    }
}

void check_thin(struct check *k)
{
  long cases = k->cases, failures = k->failures;
  if (k->problem || k->kernel || !check_wants_backend(k, "cpu")) return;
  check_unit_begin(k);
  check_type(k, 's');
  check_type(k, 'd');
  check_flush(k, 's');
  check_flush(k, 'd');
  check_small(k, 's');
  check_small(k, 'd');
  check_unit_end(k, "thin products", cases, failures, NULL);
}
