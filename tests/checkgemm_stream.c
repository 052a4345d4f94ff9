/* STREAM kernels against the contract in cpu/ukr.h, each form by itself: hostile memory, registers,
 * exact integers over two steps of k; of axpy as well over two groups of steps with a total. */
#include "checkgemm.h"

#include <stdio.h>
#include <string.h>

enum form { DOT, SPREAD, AXPY, FORMS };

struct stream_case {
  enum form form;
  int64_t l, s, k, first; /* steps of k in the first call */
  double beta;
  int total; /* axpy: each step is a group */
};

struct rig {
  const struct xg_ukr *u;
  struct stream_case x;
  int64_t d, ld; /* elements of packed S for a step of spread; W's stride */
  struct hostile_matrix w, c;
  struct hostile small, sums, total;
  double s[XG_STREAM_S * 300]; /* S, unpacked */
  const char *clobbered;
};

static double get(const struct rig *r, const void *base, int64_t i)
{
  return r->u->type == 'd' ? ((const double *)base)[i] : ((const float *)base)[i];
}

static void set(const struct rig *r, void *base, int64_t i, double value)
{
  if (r->u->type == 'd')
    ((double *)base)[i] = value;
  else
    ((float *)base)[i] = (float)value;
}

static int64_t up(int64_t x, int64_t step)
{
  return (x + step - 1) / step * step;
}

/* Where (p,i) of S lies in its packed form. */
static int64_t place(const struct rig *r, int64_t p, int64_t i)
{
  const int64_t nr = r->u->nr;
  return r->x.form == DOT      ? (p / nr * r->x.s + i) * nr + p % nr
         : r->x.form == SPREAD ? p * r->d + i
                               : p * r->x.s + i;
}

static void rig_make(struct rig *r, struct reference_rng *rng, const double *c)
{
  const struct stream_case *x = &r->x;
  const size_t es = r->u->type == 'd' ? 8 : 4;
  const int64_t nr = r->u->nr;
  const int along_k = x->form != AXPY;
  r->d = up(x->s, nr);
  r->ld = (along_k ? x->k : x->l) + 3;
  hostile_matrix_alloc(&r->w, x->l, x->k, along_k ? r->ld : 1, along_k ? 1 : r->ld, es,
                       HOSTILE_END);
  for (int64_t i = 0; i < x->l; i++)
    for (int64_t p = 0; p < x->k; p++)
      set(r, r->w.at, i * r->w.rs + p * r->w.cs, (double)reference_integer(rng, -8, 8));
  hostile_readonly(&r->w.mem);
  const int64_t packed = x->form == SPREAD ? x->k * r->d : place(r, x->k - 1, x->s - 1) + 1;
  hostile_alloc(&r->small, (size_t)packed * es, es, HOSTILE_END);
  memset(r->small.data, 0, r->small.bytes);
  for (int64_t p = 0; p < x->k; p++)
    for (int64_t i = 0; i < x->s; i++) {
      r->s[p * x->s + i] = (double)reference_integer(rng, -8, 8);
      set(r, r->small.data, place(r, p, i), r->s[p * x->s + i]);
    }
  hostile_readonly(&r->small);
  const int64_t sums = x->form == DOT      ? x->l * x->s * nr
                       : x->form == SPREAD ? x->l * r->d
                                           : up(x->l, nr) * x->s;
  hostile_alloc(&r->sums, (size_t)sums * es, 64, HOSTILE_END);
  hostile_alloc(&r->total, (size_t)sums * es, 64, HOSTILE_END);
  hostile_matrix_alloc(&r->c, x->l, x->s, x->s % 2 ? 1 : x->s + 2, x->s % 2 ? x->l + 1 : 1, es,
                       HOSTILE_END);
  for (int64_t i = 0; c && i < x->l; i++)
    for (int64_t j = 0; j < x->s; j++) set(r, r->c.at, i * r->c.rs + j * r->c.cs, *c);
}

static void note(struct rig *r, const char *clobbered)
{
  if (clobbered) r->clobbered = clobbered;
}

static void call_all(void *argument)
{
  struct rig *r = argument;
  const struct stream_case *x = &r->x;
  const struct xg_stream_fns *f = r->u->stream;
  const int64_t es = r->u->type == 'd' ? 8 : 4;
  double alpha_d = -1, beta_d = x->beta;
  float alpha_f = -1, beta_f = (float)x->beta;
  void (*step)(const struct xg_stream *) = x->form == DOT      ? f->dot
                                           : x->form == SPREAD ? f->spread
                                                               : f->axpy;
  for (int64_t p = 0; p < x->k; p += x->first) {
    const int64_t k = x->k - p < x->first ? x->k - p : x->first;
    const struct xg_stream call = {.l = x->l,
                                   .s = x->s,
                                   .k = k,
                                   .w = (const char *)r->w.at + p * r->w.cs * es,
                                   .ld = r->ld,
                                   .small = r->small.data + place(r, p, 0) * es,
                                   .sums = r->sums.data,
                                   .first = x->total || p == 0,
                                   .total = x->total ? r->total.data : NULL,
                                   .total_first = p == 0,
                                   .near = (x->l + x->s) % 2 == 0,
                                   .ahead = 64,
                                   .next = 16 * r->ld};
    note(r, check_call((void (*)(void))step, (const int64_t[14]){(intptr_t)&call}));
  }
  const struct xg_stream_end end = {.l = x->l,
                                    .s = x->s,
                                    .sums = x->total ? r->total.data : r->sums.data,
                                    .alpha = es == 8 ? (void *)&alpha_d : (void *)&alpha_f,
                                    .beta = es == 8 ? (void *)&beta_d : (void *)&beta_f,
                                    .c = r->c.at,
                                    .l_c = r->c.rs,
                                    .s_c = r->c.cs};
  note(r, check_call((void (*)(void))(x->form == DOT      ? f->dot_end
                                      : x->form == SPREAD ? f->spread_end
                                                          : f->axpy_end),
                     (const int64_t[14]){(intptr_t)&end}));
}

/* 1 if every element is the integer that it must be. */
static int is_right(const struct rig *r, double c, char *why, size_t size)
{
  const struct stream_case *x = &r->x;
  for (int64_t i = 0; i < x->l; i++)
    for (int64_t j = 0; j < x->s; j++) {
      double sum = 0;
      for (int64_t p = 0; p < x->k; p++)
        sum += get(r, r->w.at, i * r->w.rs + p * r->w.cs) * r->s[p * x->s + j];
      const double right = -sum + (x->beta == 0 ? 0 : x->beta * c);
      const double got = get(r, r->c.at, i * r->c.rs + j * r->c.cs);
      if (got == right) continue;
      snprintf(why, size, "(%lld,%lld) is %g, not %g", (long long)i, (long long)j, got, right);
      return 0;
    }
  return 1;
}

static void run_case(struct check *k, const struct xg_ukr *u, const struct stream_case *x)
{
  static const char *const names[] = {"dot", "spread", "axpy"};
  static struct rig r;
  char text[120], why[120];
  const double c = 3;
  snprintf(text, sizeof text, "%s l=%lld s=%lld k=%lld%s", names[x->form], (long long)x->l,
           (long long)x->s, (long long)x->k, x->total ? " total" : "");
  struct reference_rng rng = check_rng(k, text);
  r = (struct rig){.u = u, .x = *x};
  rig_make(&r, &rng, x->beta == 0 ? NULL : &c); /* left a NaN where it must not be read */
  struct hostile_fault fault;
  k->cases++;
  check_running(k, u->name, NULL, text);
  if (hostile_catch(call_all, &r, &fault))
    check_fail(k, u->name, NULL, text, "signal %d at %p", fault.signal, fault.address);
  else if (r.clobbered)
    check_fail(k, u->name, NULL, text, "does not preserve %s", r.clobbered);
  else if (!is_right(&r, c, why, sizeof why))
    check_fail(k, u->name, NULL, text, "%s", why);
  else if (!hostile_matrix_gaps_intact(&r.c) || !hostile_intact(&r.sums) ||
           !hostile_intact(&r.total))
    check_fail(k, u->name, NULL, text, "wrote outside C or its sums");
  hostile_matrix_free(&r.w);
  hostile_matrix_free(&r.c);
  hostile_close(&r.small);
  hostile_close(&r.sums);
  hostile_close(&r.total);
}

void check_one_stream(struct check *k, const struct xg_ukr *u)
{
  static const int64_t depths[] = {1, 15, 64, 77};
  const long cases = k->cases, failures = k->failures;
  check_unit_begin(k);
  for (int form = 0; form < FORMS; form++) {
    if (form == SPREAD && !u->stream->spread) continue;
    for (int64_t s = 1; s <= XG_STREAM_S; s++)
      for (int i = 0; i < 4; i++) {
        const int64_t most = form == AXPY ? 9 * u->nr + 5 : u->mr;
        struct stream_case x = {.form = form, .s = s, .k = depths[i], .beta = i % 2 ? 2 : 0};
        x.total = form == AXPY && i > 1;
        x.first = up((x.k + 1) / 2, u->nr);
        for (x.l = 1; x.l <= most; x.l += form == AXPY ? 13 : 1) run_case(k, u, &x);
      }
  }
  check_unit_end(k, u->name, cases, failures, NULL);
}
