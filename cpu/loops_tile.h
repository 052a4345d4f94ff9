/* One register tile of C: the kernel's call, and what it needs at edges. */
#ifndef XG_LOOPS_TILE_H
#define XG_LOOPS_TILE_H

#include <string.h>

#include "errand.h"
#include "loops.h"
#include "loops_common.h"

struct xg_tiles { /* what a thread's tiles have in common */
  const struct xg_ukr *u;
  const struct xg_operand *c;
  int64_t e; /* bytes of an element */
  union scalar alpha;
  struct xg_errand *errands; /* the first with groups left comes next */
};

struct xg_rows { /* of A, packed or in place */
  const char *data;
  int64_t rs, cs; /* strides within a sliver of MR rows, */
  int64_t next;   /* and bytes from one to the next */
};

struct xg_columns { /* a sliver of B, packed, */
  char *data;
  const char *from; /* or to be packed meanwhile, unless NULL, from here: */
  int64_t rs;       /* row stride */
};

/* Where columns are short runs through memory, as in a C that was turned, whole ones are copied. */
static inline void xg_copy_f32(int64_t m, int64_t n, float *to, int64_t to_rs, int64_t to_cs,
                               const float *from, int64_t from_rs, int64_t from_cs)
{
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = 0; i < m; i++) to[i * to_rs + j * to_cs] = from[i * from_rs + j * from_cs];
}

static inline void xg_copy_f64(int64_t m, int64_t n, double *to, int64_t to_rs, int64_t to_cs,
                               const double *from, int64_t from_rs, int64_t from_cs)
{
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = 0; i < m; i++) to[i * to_rs + j * to_cs] = from[i * from_rs + j * from_cs];
}

static inline void xg_copy_tile(int64_t e, int64_t m, int64_t n, void *to, int64_t to_rs,
                                int64_t to_cs, const void *from, int64_t from_rs, int64_t from_cs)
{
  if (e == sizeof(float))
    xg_copy_f32(m, n, to, to_rs, to_cs, from, from_rs, from_cs);
  else
    xg_copy_f64(m, n, to, to_rs, to_cs, from, from_rs, from_cs);
}

static inline void xg_tile_call(const struct xg_tiles *t, int64_t m, int64_t n, int64_t k,
                                const struct xg_rows *a, const struct xg_columns *b,
                                const union scalar *beta, char *c, int64_t rs_c)
{
  const struct xg_fetch fetch = xg_next_fetch(t->errands);
  if (b->from)
    t->u->packing(m, n, k, &t->alpha, a->data, a->rs, a->cs, b->from, b->rs, b->data, beta, c, rs_c,
                  &fetch);
  else if (t->u->strided)
    t->u->strided(m, n, k, &t->alpha, a->data, a->rs, a->cs, b->data, beta, c, rs_c, &fetch);
  else
    t->u->panel(m, n, k, &t->alpha, a->data, b->data, beta, c, rs_c);
}

/* Edges of kernels that do not mask, and C without unit stride: the kernel works on a copy of C. */
static inline void xg_tile_merge(const struct xg_tiles *t, int64_t m, int64_t n, int64_t k,
                                 const struct xg_rows *a, const struct xg_columns *b,
                                 const union scalar *beta, char *c)
{
  const struct xg_operand *x = t->c;
  _Alignas(64) char tile[XG_TILE_BYTES];
  const int overwrite = t->u->type == 'd' ? beta->d == 0 : beta->f == 0;
  const int masks = t->u->flags & XG_UKR_MASKED;
  const int64_t mr = t->u->mr, nr = t->u->nr;
  for (int64_t q = 0; q < n; q++) __builtin_prefetch(c + q * x->cs * t->e, 1);
  if (!overwrite) {
    memset(tile, 0, (size_t)(mr * nr * t->e));
    xg_copy_tile(t->e, m, n, tile, nr, 1, c, x->rs, x->cs);
  }
  xg_tile_call(t, masks ? m : mr, masks ? n : nr, k, a, b, beta, tile, nr);
  xg_copy_tile(t->e, m, n, c, x->rs, x->cs, tile, nr, 1);
}

static inline void xg_tile(const struct xg_tiles *t, int64_t m, int64_t n, int64_t k,
                           const struct xg_rows *a, const struct xg_columns *b,
                           const union scalar *beta, char *c)
{
  const int whole = m == t->u->mr && n == t->u->nr;
  if (t->c->cs == 1 && (whole || t->u->flags & XG_UKR_MASKED))
    xg_tile_call(t, m, n, k, a, b, beta, c, t->c->rs);
  else
    xg_tile_merge(t, m, n, k, a, b, beta, c);
}

#endif
