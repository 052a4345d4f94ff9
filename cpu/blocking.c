/* The model of T. M. Low, F. D. Igual, T. M. Smith, E. S. Quintana-Orti, "Analytical Modeling Is
 * Enough for High-Performance BLIS", ACM Transactions on Mathematical Software 43(2), 2016.
 *
 * A set-associative cache with W ways of S bytes each keeps what is reused if what streams through
 * has ways of its own. In units of ways, with e bytes an element and one way for C at each level:
 *
 *   L1   the B sliver (KC x NR) stays while A slivers (MR x KC) stream past it:
 *            ways(NR KC e) + ways(MR KC e) + 1 <= W1           largest KC
 *   L2   the A block (MC x KC) stays while B slivers stream past it:
 *            ways(MC KC e) + ways(NR KC e) + 1 <= W2           largest MC
 *   L3   the B panel (KC x NC) stays while A blocks of the cores that share it stream past:
 *            ways(KC NC e) + ways(cores MC KC e) + 1 <= W3     largest NC
 *
 * The paper assigns the ways of L1 in the ratio NR : MR and rounds each part down; here the largest
 * KC that satisfies the condition itself is taken, which leaves no way unused.
 *
 * Where L2 has many ways a quarter of it is left free all the same: pages of 4 KiB fall on its sets
 * by chance. Kernels that prefetch what is packed or read next, or read A in place from such pages,
 * need more room for that: A gets three eighths.
 *
 * Large register tiles need no L1 at all. One step of k takes MR NR e / 64 cycles where 64 bytes of
 * FMA results are made a cycle, and (MR + NR) e / 32 cycles where L2 delivers 32 bytes a cycle. For
 * 8 x 48 and 8 x 24 that is 29 and 33 % of the time, which out-of-order execution and prefetching
 * hide, so both slivers may stream from L2 and KC may be what is best for C: a tile is read and
 * written once for KC steps, 128 / KC bytes a cycle. KC_STREAM makes that a quarter of a byte, 1
 * GB/s at 4 GHz. Zen 4, one thread, 2048^3: 14x32 f32 makes 98 GFLOP/s at the 144 of the L1
 * condition, 105 at 256, 109 at 512, 111 at 1024; 14x16 f64 44, 49, 50 and 45 at 96, 256, 512 and
 * 1024. 6x16 and 6x8 would take 46 and 58 % and obey L1: 320 and 256, at the top of a flat curve.
 */
#include "blocking.h"

#include "loops_common.h"

enum {
  KC_STEP = 8,     /* block sizes of k are multiples of this: whole cache lines, unrolled loops */
  KC_STREAM = 512, /* where L1 does not bind */
  MC_SLIVERS = 8,  /* an A block is at least this many slivers, or packing it does not pay */
  MC_MAX = 4096,   /* beyond these nothing is gained and packing memory grows */
  NC_MAX = 8192
};

/* A kernel and the caches, in bytes. */
struct model {
  int64_t mr, nr, e;
  int strided; /* reads A in place and prefetches what is next */
  int64_t way1, way2,
      way3; /* bytes of a way; L2 and L3 by the share of a core and of the L3's cores */
  int ways1, ways2, ways3; /* ways3 = 0: no L3 */
};

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
  return x < low ? low : x > high ? high : x;
}

static struct model model_of(const struct xg_topo *t, const struct xg_ukr *u)
{
  struct model x = {.mr = u->mr,
                    .nr = u->nr,
                    .e = u->type == 'd' ? 8 : 4,
                    .strided = u->strided != 0,
                    .way1 = t->l1d / t->l1d_ways,
                    .way2 = t->l2 / t->l2_sharing / t->l2_ways,
                    .ways1 = t->l1d_ways,
                    .ways2 = t->l2_ways,
                    .ways3 = t->l3_ways};
  x.way3 = t->l3_ways > 0 ? t->l3 / t->l3_ways : 0;
  if (x.way2 < t->line) x.way2 = t->line; /* a share too small to model */
  return x;
}

/* Can L2 feed both slivers in a third of the time of the FMAs? */
static int l2_feeds(const struct model *x)
{
  return 3 * 2 * (x->mr + x->nr) <= x->mr * x->nr;
}

/* The L1 condition. Two ways hold little (a direct-mapped or 2-way L1 loses the sliver to any
 * stream): then the sliver gets half of the cache. */
static int fits_l1(const struct model *x, int64_t kc)
{
  int64_t b = kc * x->nr * x->e, a = kc * x->mr * x->e;
  if (x->ways1 < 4) return a + b <= x->ways1 * x->way1 / 2;
  return ceil_div(b, x->way1) + ceil_div(a, x->way1) + 1 <= x->ways1;
}

/* The L2 condition with the smallest A block worth having. */
static int fits_l2(const struct model *x, int64_t kc)
{
  int64_t b = kc * x->nr * x->e, a = MC_SLIVERS * kc * x->mr * x->e;
  return a + ceil_div(b, x->way2) * x->way2 + x->way2 <= x->ways2 * x->way2;
}

static int64_t kc_model(const struct model *x)
{
  int streams = l2_feeds(x);
  int64_t kc = KC_STEP;
  while (kc < KC_STREAM && fits_l2(x, kc + KC_STEP) && (streams || fits_l1(x, kc + KC_STEP)))
    kc += KC_STEP;
  return kc;
}

static int64_t mc_model(const struct model *x, int64_t kc)
{
  int64_t ways = x->ways2 - 1 - ceil_div(kc * x->nr * x->e, x->way2);
  const int64_t most = x->ways2 * 3 / (x->strided ? 8 : 4);
  if (ways > most) ways = most;
  int64_t mc = (ways > 0 ? ways : 1) * x->way2 / (kc * x->e);
  return clamp(mc / x->mr * x->mr, x->mr, MC_MAX / x->mr * x->mr);
}

/* The panel gets at least half of L3, even where the A blocks of many cores would leave it less:
 * what is evicted then costs bandwidth, while a short panel costs repacking all of A. */
static int64_t nc_model(const struct model *x, int64_t kc, int64_t mc, int cores)
{
  int64_t most = NC_MAX / x->nr * x->nr;
  if (x->ways3 == 0) return most;
  int64_t ways = x->ways3 - 1 - ceil_div(cores * mc * kc * x->e, x->way3);
  if (ways < (x->ways3 + 1) / 2) ways = (x->ways3 + 1) / 2;
  int64_t nc = ways * x->way3 / (kc * x->e);
  return clamp(nc / x->nr * x->nr, x->nr, most);
}

/* Cuts `size` into as few blocks of at most `most` as possible, of nearly equal size, a multiple of
 * `step` (of which `most` is one): no sliver is left for the last block. */
static int64_t even_block(int64_t size, int64_t most, int64_t step)
{
  int64_t even = ceil_div(size, ceil_div(size, most));
  return ceil_div(even, step) * step;
}

void xg_blocking(const struct xg_topo *t, const struct xg_ukr *u, int64_t m, int64_t n, int64_t k,
                 int threads, struct xg_blocks *out)
{
  struct model x = model_of(t, u);
  int64_t kc = kc_model(&x);
  int64_t mc = mc_model(&x, kc);
  int64_t nc = nc_model(&x, kc, mc, threads < t->l3_sharing ? threads : t->l3_sharing);
  if (threads > 1) nc = clamp(nc / 2 / x.nr * x.nr, x.nr, nc); /* loops.c has two panels then */
  out->kc = k <= kc ? k : even_block(k, kc, KC_STEP);
  out->mc = even_block(m, mc, x.mr);
  out->nc = even_block(n, nc, x.nr);
}

static int64_t gcd(int64_t a, int64_t b)
{
  while (b != 0) {
    const int64_t r = a % b;
    a = b, b = r;
  }
  return a;
}

/* Whether `runs` runs of `bytes`, `pitch` apart, fit in so many ways of a cache. Their starts fall
 * on way/g places, so shorter runs than g leave sets unused. */
static int fits_sets(int64_t runs, int64_t bytes, int64_t pitch, int64_t way, int64_t ways)
{
  const int64_t g = gcd(pitch, way);
  return bytes >= g ? runs * bytes <= ways * way : runs * g <= ways * way;
}

/* Each sliver: MR lines at a time where it runs along k; else one step of k after the other, which
 * must be near. Where few slivers of B use A, packing costs more than what L2 loses. */
int xg_stays_in_place(const struct xg_topo *t, const struct xg_ukr *u,
                      const struct xg_blocks *blocks, int64_t n, int64_t rs, int64_t cs)
{
  const struct model x = model_of(t, u);
  enum { NEAR = 4096, FEW_SLIVERS = 8, AHEAD = 16 };
  const int64_t mc = blocks->mc, kc = blocks->kc, ways = x.ways2 * 3 / 4;
  if (cs == 1 && rs >= kc) {
    const int64_t pitch = rs * x.e;
    return fits_sets(x.mr, t->line, pitch, x.way1, x.ways1) &&
           (n <= FEW_SLIVERS * x.nr || fits_sets(mc, kc * x.e, pitch, x.way2, ways));
  }
  if (rs == 1 && cs >= mc) {
    /* Slivers that begin and end within lines meet them twice: L1 must keep these meanwhile. It
     * always has to keep what kernels call for some steps ahead. */
    const int whole_lines = t->line % (x.mr * x.e) == 0;
    return cs * x.e <= NEAR && fits_sets(kc, mc * x.e, cs * x.e, x.way2, ways) &&
           fits_sets(AHEAD, t->line, cs * x.e, x.way1, x.ways1) &&
           (whole_lines || fits_sets(kc, x.mr * x.e, cs * x.e, x.way1, x.ways1));
  }
  return 0;
}

int xg_panel_fits_l2(const struct xg_topo *t, const struct xg_ukr *u,
                     const struct xg_blocks *blocks, int64_t n)
{
  const struct model x = model_of(t, u);
  return ceil_div(n, x.nr) * x.nr * blocks->kc * x.e <= x.ways2 * x.way2 * 3 / 8;
}
