/* What a kernel is predicted to take.
 *
 * A kernel of tiles: tiles go to the multiprocessors in rounds, b resident blocks on each of S. A
 * round fills its pipelines, then goes step by step through k. A step takes what it takes a lone
 * block (latency), or what its arithmetic takes all r blocks of a multiprocessor together; between
 * the two it is the fourth root of the sum of fourth powers:
 *
 *     arithmetic   r 2 BM BN / (efficiency peak / S)
 *     round(r)     fill + steps * |step, arithmetic|
 *
 * A kernel whose blocks persist and cut tiles along k says itself how many times its busiest block
 * goes through k; its later tiles hide two thirds of their fill.
 *
 * A kernel that streams: the longer side of C goes through it once for every BN of the shorter, at
 * its share of the bandwidth or of the arithmetic, and each wave of blocks after the first costs a
 * little.
 *
 * Both take longer where operands are awkward (struct xg_fitted), and the sums of parts of k are
 * written, read and added.
 *
 * bench/fit_gpu.py has the same formulas and fits a kernel's numbers to measured times. */
#include <math.h>

#include "fitted.h"
#include "pick.h"

double xg_gpu_units_peak(const struct xg_gkr *kernel, const struct xg_gpu_card *card)
{
  if (kernel->type == 'd') return kernel->tensor ? card->peak_tensor_d : card->peak_d;
  return card->peak_s;
}

static double ceil_div(double x, double y)
{
  return ceil(x / y);
}

/* The larger of two, or a little more where they are near each other. */
static double overlapped(double x, double y, double power)
{
  return pow(pow(x, power) + pow(y, power), 1 / power);
}

/* Kernels of tiles see C with its rows contiguous, streaming ones with its longer side as rows. */
static int is_turned(const struct xg_gkr *kernel, const struct xg_gkr_args *args)
{
  int64_t rs = args->rs_c < 0 ? -args->rs_c : args->rs_c;
  int64_t cs = args->cs_c < 0 ? -args->cs_c : args->cs_c;
  return kernel->bandwidth > 0 ? args->m < args->n : rs < cs;
}

static void count_tiles(struct xg_gpu_cost *c, const struct xg_gkr *kernel,
                        const struct xg_gkr_args *args, const struct xg_gpu_card *card)
{
  int turned = is_turned(kernel, args);
  double m = (double)(turned ? args->n : args->m), n = (double)(turned ? args->m : args->n);
  double down = ceil_div(m, kernel->bm), across = ceil_div(n, kernel->bn);
  double places = (double)card->sms * kernel->blocks;
  c->split = kernel->split ? kernel->split(args) : 1;
  c->tiles = down * across * c->split;
  c->waves = c->tiles / places;
  c->last_share = c->waves - ceil(c->waves) + 1;
  c->edge_waste = 1 - m * n / (down * kernel->bm * across * kernel->bn);
  c->cuts = c->split > 1 || (kernel->rounds && kernel->workspace && kernel->workspace(args));
  if (kernel->rounds) c->waves = kernel->rounds(args), c->last_share = 1;
}

/* An operand whose vectors of 16 bytes do not start on 16 bytes. */
static int is_unaligned(const void *x, int64_t rs, int64_t cs, size_t size)
{
  const int64_t v = 16 / (int64_t)size;
  int64_t line = rs == 1 ? cs : rs;
  return (size_t)x % 16 != 0 || (rs != 1 && cs != 1) || line % v != 0;
}

static double awkwardness(const struct xg_fitted *x, const struct xg_gkr_args *args, size_t size)
{
  int unaligned = is_unaligned(args->a, args->rs_a, args->cs_a, size) ||
                  is_unaligned(args->b, args->rs_b, args->cs_b, size);
  int along = args->cs_a == 1 && args->rs_b == 1 && args->rs_a != 1 && args->cs_b != 1;
  return (unaligned ? x->unaligned : 1) * (along ? x->along_k : 1);
}

static double later_waves(const struct xg_gpu_cost *c)
{
  return c->waves > 1 ? c->waves - 1 : 0;
}

static double tile_seconds(const struct xg_gpu_cost *c, const struct xg_gkr *kernel,
                           const struct xg_fitted *x, const struct xg_gpu_card *card, double steps)
{
  const double power = 4, not_hidden = 0.35;
  double rate = xg_gpu_units_peak(kernel, card) / card->sms * x->efficiency;
  double alone = 1e-9 * x->step_ns, fill = 1e-6 * x->fill_us;
  double one = 2.0 * kernel->bm * kernel->bn / rate;
  if (kernel->rounds)
    return fill * (1 + not_hidden * later_waves(c)) +
           c->waves * steps * overlapped(alone, one, power);
  double full = floor(c->waves), places = (double)card->sms * kernel->blocks;
  double rest = ceil_div(c->tiles - full * places, card->sms);
  double seconds = full * (fill + steps * overlapped(alone, kernel->blocks * one, power));
  return rest > 0 ? seconds + fill + steps * overlapped(alone, rest * one, power) : seconds;
}

struct xg_gpu_cost xg_gpu_cost(const struct xg_gkr *kernel, const struct xg_gkr_args *args,
                               double gathered, const struct xg_gpu_card *card)
{
  const double launch_seconds = 1e-6, gather_seconds = 3e-6; /* the latter: another launch */
  const double tile_share = 0.85, copy_share = 0.8, parts_rate = 6e12; /* parts stay in the L2 */
  const double power = 3;
  const struct xg_fitted *x = xg_fitted_numbers(kernel);
  struct xg_gpu_cost c = {0};
  count_tiles(&c, kernel, args, card);
  double e = kernel->type == 'd' ? 8 : kernel->type == 's' ? 4 : 2, out = e < 4 ? 4 : e;
  double m = (double)args->m, n = (double)args->n, k = (double)args->k;
  double bytes = e * (m * k + k * n) + out * m * n * (args->beta != 0 ? 2 : 1);
  double awkward = awkwardness(x, args, (size_t)e);
  if (kernel->bandwidth > 0) {
    double flops = 2 * k * c.tiles / c.split * kernel->bm * kernel->bn;
    c.arithmetic = awkward * flops / (x->efficiency * xg_gpu_units_peak(kernel, card));
    c.memory = awkward * bytes / (x->bandwidth * card->bandwidth);
    c.seconds = overlapped(c.arithmetic, c.memory, power) + 1e-6 * x->fill_us +
                1e-9 * x->step_ns * later_waves(&c);
  } else {
    c.arithmetic = tile_seconds(&c, kernel, x, card, awkward * ceil_div(k, c.split));
    c.memory = bytes / (tile_share * card->bandwidth);
    c.seconds = c.arithmetic > c.memory ? c.arithmetic : c.memory;
  }
  c.seconds += launch_seconds;
  if (c.cuts) c.seconds += 1e-6 * x->sum_us;
  if (c.split > 1) c.seconds += 2.0 * c.split * m * n * out / parts_rate;
  if (gathered > 0) c.seconds += gather_seconds + gathered / (copy_share * card->bandwidth);
  return c;
}
