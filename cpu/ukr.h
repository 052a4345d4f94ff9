/* The micro-kernel contract and the table of micro-kernels. A kernel file includes this header and
 * the intrinsics header, nothing else.
 *
 * PANEL kernels (kind XG_UKR_PANEL): one register tile of C from packed panels.
 *
 *            NR                     C[i][j] = alpha * sum_p A[p][i] * B[p][j] + beta * C[i][j]
 *        +--------+
 *      k |   B    |  row p at b + p*NR
 *        +--------+
 *    k   |        |                 a: k steps of MR elements, element (i,p) at a + p*MR + i
 *  +---+ +--------+                 b: k steps of NR elements, element (p,j) at b + p*NR + j
 *  | A | |   C    | MR              both zero-padded to full MR and NR, 64-byte aligned
 *  +---+ +--------+                 c: element (i,j) at c + i*rs_c + j (column stride 1)
 *
 *   - k >= 1. The full MR x NR tile is computed; kernels without XG_UKR_MASKED are only called with
 *     m = MR and n = NR (the loops merge edges through a temporary tile); kernels with it store
 * only the leading m x n part, 1 <= m <= MR, 1 <= n <= NR, and touch nothing of C beyond it.
 *   - Nothing outside the panels is read (prefetches excepted).
 *   - beta = 0: C is written and never read.
 *   - Additions over p run in increasing order into one accumulator per element of C, which starts
 *     from zero for every run of xg_run(k) steps; the last run has what is left. The sums of the
 * runs are added in order, so the bits of an element depend neither on m and n nor on its place in
 * the tile, and errors grow little with k. Then C = fma(alpha, sum, beta*C), or alpha*sum when beta
 * = 0.
 *   - c has the alignment of its element type only.
 *   - A kernel that has `strided` computes the same, bits included, from an A that need not be
 * packed: element (i,p) at a + i*rs_a + p*cs_a, any strides, and rows from m on are not read.
 * Meanwhile, unless fetch->at is NULL, it prefetches into L2, by step p, the lines at fetch->at +
 * p/8*outer + p%8*inner.
 *   - A kernel that has `packing` computes the same, bits included, from a B that is not packed,
 * element (p,j) at from + p*rs_from + j, and packs it at b for later calls with the same n and
 * k. Beyond column n it leaves there what it likes. m = MR.
 *   - XG_UKR_HALVES: columns beyond the last half vector cost nothing.
 *   - Callee-saved registers, MXCSR and the direction flag are left as they were.
 *
 * INPLACE kernels (kind XG_UKR_INPLACE): a whole small product, operands read where they are.
 *   - element (i,p) of A at a + i*rs_a + p*cs_a, any strides; (p,j) of B at b + p*rs_b + j;
 *     (i,j) of C at c + i*rs_c + j. Any m, n >= 1, k >= 1. Nothing outside the operands is read.
 *   - otherwise the same rules, but all of k is one run.
 *   - `turned`, if it has one: the same product, bits included, for k <= XG_RUN and a B that runs
 * along k: element (p,j) at b + j*rs_b + p. Where it is NULL, B is copied by a PACK routine.
 *   - `dot`, if it has one: for 1 <= n <= nr/8, 1 <= k <= XG_DOT_K and an A that runs along k, cs_a
 * = 1; B has any strides. Sums are added as STREAM kernels' dot adds them, in lanes of nr/2 (whole
 *     vectors), then by halves.
 *
 * PACK routines (kind XG_UKR_PACK): fill one panel of `width` (an MR or an NR) from a source of any
 * strides. They move bits and round nothing.
 *   - element (i,p) of the source at src + i*is + p*ps, 0 <= i < rows <= width, 0 <= p < k; nothing
 *     else is read. It goes to dst + p*width + i; rows..width-1 are filled with zeros.
 *   - any width, rows, k >= 1 and any strides; which of them are fast is the routine's affair.
 *
 * STREAM kernels (kind XG_UKR_STREAM): a long matrix W, l x k, read once, times a small one S, k x
 * s, 1 <= s <= 16 (XG_STREAM_S). C is l x s. Vectors have nr elements. The loops call a step for
 * each piece of k in increasing order, the first with `first` set, then the end. No chain of fused
 * additions is longer than XG_STREAM_RUN: it begins at zero, and its sum is then added to the sum
 * of the chains before it. Three forms:
 *
 *   - dot: W runs along k, element (r,p) at w + r*ld + p, 1 <= l <= mr.
 *     S is packed in slivers of nr steps of k: (p,i) at small + (p/nr * s + i)*nr + p%nr. Sums are
 *     vectors: (r,i) at sums + (r*s + i)*nr. Steps but the last have a k that is a multiple of nr.
 *     A step is a chain: lane v adds the products of p = v, v + nr, v + 2nr, ... in increasing
 *     order. At the end the lanes are added by halves: the upper half to the lower one until one is
 *     left.
 *   - spread: the same W, 1 <= l <= mr.
 *     S is packed in steps, zero-padded to d, the next multiple of nr from s on: (p,i) at
 *     small + p*d + i. Sums: (r,i) at sums + r*d + i. A step is cut into chains of XG_STREAM_RUN,
 *     over p in increasing order; steps but the last have a k that is a multiple of that.
 *   - axpy: W runs along l, element (r,p) at w + p*ld + r, any l.
 *     S is packed in steps: (p,i) at small + p*s + i. Sums: (r,i) at sums + (r/nr * s + i)*nr +
 *     r%nr. A step is a chain, over p in increasing order. With `total`, laid out as the sums are,
 *     the sums, this step's included, are added to that: a total of groups of chains.
 *
 *   - The loops' steps: 4096 bytes of a row of W for dot and spread. For axpy 8 steps of k where
 *     s <= 4, 16 where s <= 8, else 32; but for a W of at most XG_STREAM_NEAR bytes 8 where s = 1,
 *     16 where s <= 4, else 32. A group is XG_STREAM_GROUP chains.
 *   - `ahead`, `next` (in elements) and `near` say what to prefetch, see the struct.
 *   - the end: C = alpha*sum + beta*C as PANEL kernels have it, at c + r*l_c + i*s_c, any strides.
 *   - sums and total are 64-byte aligned, the rest as its type is: a small matrix that lies so need
 *     not be packed. Nothing else of W, S or C is touched.
 *
 * STRIP kernels (kind XG_UKR_STRIP): up to MR rows of C from end to end, NR columns at a time, for
 * products with small k, or small m and n.
 *   - element (i,p) of A at a + i*rs_a + p*cs_a, any strides; (i,j) of C at c + i*rs_c + j.
 *   - B in place: (p,j) at b + p*rs_b + j. Or, where rs_b = 0, in slivers one after the other, each
 *     of xg_sliver() columns zero-padded to whole vectors: (p,j) at sliver + p*width + j.
 *   - store: C = alpha*sum + beta*C as PANEL kernels have it, same order, same bits. With `stream`,
 *     beta = 0 and rows of C that start a cache line, whole lines go past the caches: other
 *     threads see them after `fence`.
 *   - sum: C holds sums. The products of a piece of k are summed from zero, in increasing order,
 *     and then added to C, or stored where `first` is set.
 *   - `copy`, sum only: what to copy meanwhile, `pace` vectors in 2^32 steps of k. It is left where
 * it stands when the strip is through, its rest is for the next strip, or for copy_rest.
 *   - fold: row of n elements, C = alpha * (sums of the parts in increasing order) + beta*C.
 */
#ifndef XG_UKR_H
#define XG_UKR_H

#include <stdatomic.h>
#include <stdint.h>

typedef void xg_panel_fn(int64_t m, int64_t n, int64_t k, const void *alpha, const void *a,
                         const void *b, const void *beta, void *c, int64_t rs_c);

struct xg_fetch {
  const void *at;
  int64_t inner, outer; /* bytes */
};

typedef void xg_strided_fn(int64_t m, int64_t n, int64_t k, const void *alpha, const void *a,
                           int64_t rs_a, int64_t cs_a, const void *b, const void *beta, void *c,
                           int64_t rs_c, const struct xg_fetch *fetch);

typedef void xg_packing_fn(int64_t m, int64_t n, int64_t k, const void *alpha, const void *a,
                           int64_t rs_a, int64_t cs_a, const void *from, int64_t rs_from, void *b,
                           const void *beta, void *c, int64_t rs_c, const struct xg_fetch *fetch);

typedef void xg_inplace_fn(int64_t m, int64_t n, int64_t k, const void *alpha, const void *a,
                           int64_t rs_a, int64_t cs_a, const void *b, int64_t rs_b,
                           const void *beta, void *c, int64_t rs_c);

typedef void xg_pack_fn(int64_t width, int64_t rows, int64_t k, const void *src, int64_t is,
                        int64_t ps, void *dst);

typedef void xg_dot_fn(int64_t m, int64_t n, int64_t k, const void *alpha, const void *a,
                       int64_t rs_a, const void *b, int64_t rs_b, int64_t cs_b, const void *beta,
                       void *c, int64_t rs_c);

struct xg_stream {
  int64_t l, s, k;
  const void *w;
  int64_t ld;
  const void *small;
  void *sums;
  int first;       /* sums hold nothing yet */
  void *total;     /* axpy: where the sums go, NULL: they stay */
  int total_first; /* total holds nothing yet */
  int64_t ahead; /* axpy: prefetch so far along l; else: what is needed next lies so far beyond w */
  int64_t next;  /* axpy: the next step's W lies so far beyond w */
  int near;      /* a cache holds W: the way into L1 is all there is to hide */
};

struct xg_stream_end {
  int64_t l, s;
  const void *sums, *alpha, *beta;
  void *c;
  int64_t l_c, s_c;
};

struct xg_stream_fns {
  void (*dot)(const struct xg_stream *x);
  void (*dot_end)(const struct xg_stream_end *x);
  void (*spread)(const struct xg_stream *x); /* NULL: dot serves */
  void (*spread_end)(const struct xg_stream_end *x);
  void (*axpy)(const struct xg_stream *x);
  void (*axpy_end)(const struct xg_stream_end *x);
};

/* `left` elements of a row, then `rows` further rows of `cols` elements, then the next block. Where
 * `to` is NULL what lies ahead is only called for. */
struct xg_copy {
  const void *from;
  void *to;
  int64_t left, rows, cols, from_ld, to_ld;
  int64_t ahead; /* what will soon be copied lies so far beyond */
  struct xg_copy *next;
};

struct xg_strip {
  int64_t m, n, k;
  const void *a;
  int64_t rs_a, cs_a;
  const void *b;
  int64_t rs_b;
  void *c;
  int64_t rs_c;
  const void *alpha, *beta; /* store */
  int stream;
  int first;            /* sum */
  uint32_t pace;        /* sum: vectors to copy in 2^32 steps of a tile */
  struct xg_copy *copy; /* sum: NULL if there is nothing to copy, or when all is done */
};

struct xg_fold {
  int64_t n, parts, part; /* each part lies `part` elements after the one before */
  const void *sums, *alpha, *beta;
  void *c;
  int64_t cs_c;
};

struct xg_strip_fns {
  void (*store)(const struct xg_strip *x);
  void (*fence)(void);
  void (*sum)(struct xg_strip *x);
  void (*copy_rest)(struct xg_copy *x);
  void (*fold)(const struct xg_fold *x);
};

/* The most products in one chain of additions: rounding errors grow with its length. */
enum { XG_RUN = 256 };

/* Steps of k that PANEL kernels add up at a time: nearly the same for each run, and of whole
 * unrolled loops. */
static inline int64_t xg_run(int64_t k)
{
  enum { STEP = 8 };
  if (k <= XG_RUN) return k;
  const int64_t runs = (k + XG_RUN - 1) / XG_RUN;
  return (k + STEP * runs - 1) / (STEP * runs) * STEP;
}

/* Columns of the next sliver when n are left: 3 vectors, or 2 where that leaves no single one. */
static inline int64_t xg_sliver(int64_t n, int64_t vl)
{
  const int64_t columns = n > 4 * vl ? 3 * vl : n > 3 * vl ? 2 * vl : n;
  return columns;
}

enum xg_ukr_kind {
  XG_UKR_PANEL,
  XG_UKR_INPLACE,
  XG_UKR_PACK,
  XG_UKR_STREAM,
  XG_UKR_STRIP,
  XG_UKR_KINDS
};
enum { XG_UKR_MASKED = 1, XG_UKR_HALVES = 2 };
enum { XG_STREAM_S = 16, XG_STREAM_RUN = 256, XG_STREAM_GROUP = 64, XG_DOT_K = 256 };
enum { XG_STREAM_NEAR = 12 << 20 };

/* Ordered: a later one includes the earlier ones. */
enum xg_isa { XG_ISA_BASE, XG_ISA_AVX2, XG_ISA_AVX512, XG_ISA_COUNT };

/* Each kernel file ends with one of these, named as the file: `const struct xg_ukr NAME = {...}`.
 */
struct xg_ukr {
  const char *name;
  enum xg_isa isa;
  enum xg_ukr_kind kind;
  char type; /* 's' or 'd' */
  int mr, nr;
  int flags;
  int priority;           /* among kernels of one isa, kind and type the highest is the default */
  xg_panel_fn *panel;     /* PANEL */
  xg_strided_fn *strided; /* PANEL; NULL if it cannot read A in place */
  xg_packing_fn *packing; /* PANEL; NULL if it cannot pack B */
  xg_inplace_fn *inplace; /* INPLACE */
  xg_dot_fn *dot;         /* INPLACE; NULL: there is none */
  xg_inplace_fn *turned;  /* INPLACE; NULL: there is none */
  xg_pack_fn *pack;       /* PACK */
  const struct xg_stream_fns *stream; /* STREAM */
  const struct xg_strip_fns *strip;   /* STRIP */
};

/* Whether FMA units are half as wide as the vectors of AVX-512, so that ymm instructions compute as
 * much as zmm ones. Set when kernels are chosen (ukr_find.c); no bit depends on it. */
extern atomic_int xg_ukr_half_units;

/* Made by make from the kernel lists in cpu/local.mk: cpu/ukr_table.c. NULL at the end. */
extern const struct xg_ukr *const xg_ukr_table[];

#endif
