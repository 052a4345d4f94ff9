/* One canonical product: what every front end produces and every engine consumes.
 * Row-major, transposes and submatrices are nothing but strides here. */
#ifndef XG_PROBLEM_H
#define XG_PROBLEM_H

#include <stddef.h>
#include <stdint.h>

#include "xgemm.h"

/* Element (i,j) at data + i*rs + j*cs, in elements. */
struct xg_operand {
  void *data;
  int64_t rs, cs;
};

/* C = alpha*A*B + beta*C. Everything has been checked: sizes >= 0, C's elements apart, byte offsets
 * within int64. alpha and beta are already rounded to `type`. */
struct xg_problem {
  xgemm_type type;
  xgemm_space space; /* HOST or DEVICE; managed memory counts as either */
  int device;        /* card the operands are on, -1: host memory */
  int64_t m, n, k;
  double alpha, beta;
  struct xg_operand a, b, c;
};

/* The caller's options with the defaults filled in. */
struct xg_request {
  xgemm_backend backend; /* AUTO or the one forced */
  int threads;           /* 0: as many as the machine offers and the work wants */
  int device;            /* 0: the operands' or the current card; n >= 1: card n-1 */
  void *stream;
  int deterministic;
  const char *kernel; /* NULL or the name forced */
};

/* Threads that xgemm_set_defaults() or else the environment asks for; 0: no number. */
int xg_default_threads(void);

static inline size_t xg_sizeof(xgemm_type type)
{
  return type == XGEMM_F64 ? sizeof(double) : sizeof(float);
}

static inline char xg_letter(xgemm_type type)
{
  return type == XGEMM_F64 ? 'd' : 's';
}

static inline double xg_flops(const struct xg_problem *p)
{
  return 2.0 * (double)p->m * (double)p->n * (double)p->k;
}

/* Bytes if each matrix moved once: A and B read, C written, and read unless beta = 0. */
double xg_ideal_bytes(const struct xg_problem *p);

/* Nothing to do: m = 0 or n = 0, or (alpha = 0 or k = 0) and beta = 1. */
static inline int xg_is_nothing(const struct xg_problem *p)
{
  return p->m == 0 || p->n == 0 || ((p->alpha == 0 || p->k == 0) && p->beta == 1);
}

/* C = beta*C is all there is to do; A and B must not be read. */
static inline int xg_is_scale_only(const struct xg_problem *p)
{
  return p->alpha == 0 || p->k == 0;
}

/* C = beta*C for host memory. beta = 0 writes zeros without reading. */
void xg_scale_host(const struct xg_problem *p);

/* A public struct that says it has `size` bytes, of which we know `known`: 0 means the first
 * layout, more is accepted if it is zero. `name` is for the reason. */
xgemm_status xg_check_layout(const char *name, const void *given, size_t size, size_t known);

/* Checks a public problem and translates it. On failure sets the thread's reason and returns the
 * status; `out` is then undefined. Done in two steps: the form (sizes, types, strides, all that
 * does not depend on where the data are), then the place (pointers present if need_pointers, memory
 * spaces, for which the GPU backend is asked where AUTO says so). */
xgemm_status xg_problem_form(struct xg_problem *out, const xgemm_problem *in);
xgemm_status xg_problem_place(struct xg_problem *out, const xgemm_problem *in, int need_pointers);
xgemm_status xg_problem_from_public(struct xg_problem *out, const xgemm_problem *in);

/* The same product seen from the other side: C^T = B^T * A^T. */
static inline struct xg_problem xg_problem_transposed(const struct xg_problem *p)
{
  struct xg_problem t = *p;
  t.m = p->n, t.n = p->m;
  t.a = (struct xg_operand){p->b.data, p->b.cs, p->b.rs};
  t.b = (struct xg_operand){p->a.data, p->a.cs, p->a.rs};
  t.c = (struct xg_operand){p->c.data, p->c.cs, p->c.rs};
  return t;
}

#endif
