/* What a kernel is predicted to take.
 *
 * Tiles go to the multiprocessors in rounds: with b blocks resident on each, S multiprocessors hold
 * b S tiles. What a multiprocessor reaches of the kernel's efficiency grows with the independent
 * sums that its warps keep in flight: for w warps whose threads hold x sums each, 1 - exp(-w
 * sqrt(x) / 17.6). That was fitted to the sm80 kernels on an H200: w = 2, x = 16 gave 0.36 (f64
 * 0.43), w = 4, x = 64 gave 0.82 (f64 0.86), w = 8, x = 64 gave 0.95. */
#include <math.h>

#include "pick.h"

static double peak_of(const struct xg_gkr *kernel, const struct xg_gpu_card *card)
{
  if (kernel->type == 'd') return kernel->tensor ? card->peak_tensor_d : card->peak_d;
  return card->peak_s;
}

static double ceil_div(double x, double y)
{
  return ceil(x / y);
}

/* Seconds that `each` tiles at a time on every multiprocessor take for `steps` steps of k. */
static double round_seconds(const struct xg_gkr *kernel, const struct xg_gpu_card *card,
                            double each, double steps)
{
  const double in_flight = 17.6;
  double sums = (double)kernel->bm * kernel->bn / kernel->threads;
  double busy = 1 - exp(-each * kernel->threads / 32 * sqrt(sums) / in_flight);
  double rate = peak_of(kernel, card) / card->sms * kernel->efficiency * busy;
  return each * 2.0 * kernel->bm * kernel->bn * steps / rate;
}

/* Kernels see C with its rows contiguous. */
static int is_turned(const struct xg_gkr_args *args)
{
  int64_t rs = args->rs_c < 0 ? -args->rs_c : args->rs_c;
  int64_t cs = args->cs_c < 0 ? -args->cs_c : args->cs_c;
  return rs < cs;
}

static void count_tiles(struct xg_gpu_cost *c, const struct xg_gkr *kernel,
                        const struct xg_gkr_args *args, const struct xg_gpu_card *card)
{
  double m = (double)(is_turned(args) ? args->n : args->m);
  double n = (double)(is_turned(args) ? args->m : args->n);
  double down = ceil_div(m, kernel->bm), across = ceil_div(n, kernel->bn);
  double places = (double)card->sms * kernel->blocks;
  c->split = kernel->split ? kernel->split(args) : 1;
  c->tiles = down * across * c->split;
  c->waves = c->tiles / places;
  c->last_share = c->waves - ceil(c->waves) + 1;
  c->edge_waste = 1 - m * n / (down * kernel->bm * across * kernel->bn);
}

struct xg_gpu_cost xg_gpu_cost(const struct xg_gkr *kernel, const struct xg_gkr_args *args,
                               double gathered, const struct xg_gpu_card *card)
{
  const double tile_seconds = 1e-6;   /* the first loads, the last stores */
  const double gather_seconds = 3e-6; /* another launch */
  struct xg_gpu_cost c = {0};
  count_tiles(&c, kernel, args, card);
  double e = kernel->type == 'd' ? 8 : kernel->type == 's' ? 4 : 2;
  double m = (double)args->m, n = (double)args->n, k = (double)args->k;
  double share = kernel->bandwidth > 0 ? kernel->bandwidth : 0.85;
  double bytes = e * (m * k + k * n) + (e < 4 ? 4 : e) * m * n * (args->beta != 0 ? 2 : 1);
  c.memory = bytes / (share * card->bandwidth);
  if (kernel->bandwidth > 0) { /* it streams: no tile waits for another */
    c.arithmetic = 2 * m * n * k / (kernel->efficiency * peak_of(kernel, card));
  } else {
    double full = floor(c.waves), steps = ceil_div(k, c.split);
    double rest = ceil_div(c.tiles - full * card->sms * kernel->blocks, card->sms);
    c.arithmetic = full * round_seconds(kernel, card, kernel->blocks, steps);
    if (rest > 0) c.arithmetic += round_seconds(kernel, card, rest, steps);
  }
  c.seconds = (c.arithmetic > c.memory ? c.arithmetic : c.memory) + tile_seconds;
  if (gathered > 0) c.seconds += gather_seconds + gathered / (0.8 * card->bandwidth);
  return c;
}
