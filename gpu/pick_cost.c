/* What a kernel is predicted to take.
 *
 * Tiles go to the multiprocessors in rounds: with b blocks resident on each, S multiprocessors hold
 * b S tiles. A round fills its pipelines, then goes step by step through k. A step takes what it
 * takes a lone block (latency: step_ns), or what its arithmetic takes all the blocks of the
 * multiprocessor together, whichever is longer:
 *
 *     round(r) = fill + steps * max(step, r 2 BM BN / (efficiency peak / S)),   r blocks a
 * multiprocessor
 *
 * The three numbers of a kernel are measured: bench/fit_gpu.py fits them to a run of all kernels
 * (fitted_numbers.h). For a kernel without them a rule serves that was fitted to the first sm80
 * kernels on an H200: what a multiprocessor reaches of the efficiency grows with the independent
 * sums that its warps keep in flight, w warps of x sums a thread: 1 - exp(-w sqrt(x) / 17.6). */
#include <math.h>

#include "fitted.h"
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
  const struct xg_fitted *x = xg_fitted_numbers(kernel);
  const double in_flight = 17.6;
  double rate = peak_of(kernel, card) / card->sms * x->efficiency;
  double step = each * 2.0 * kernel->bm * kernel->bn / rate;
  if (x->step_ns > 0) {
    double alone = 1e-9 * x->step_ns;
    return 1e-6 * x->fill_us + steps * (step > alone ? step : alone);
  }
  double sums = (double)kernel->bm * kernel->bn / kernel->threads;
  return steps * step / (1 - exp(-each * kernel->threads / 32 * sqrt(sums) / in_flight));
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
  const double launch_seconds = 1e-6;
  const double gather_seconds = 3e-6; /* another launch */
  const struct xg_fitted *x = xg_fitted_numbers(kernel);
  struct xg_gpu_cost c = {0};
  count_tiles(&c, kernel, args, card);
  double e = kernel->type == 'd' ? 8 : kernel->type == 's' ? 4 : 2;
  double m = (double)args->m, n = (double)args->n, k = (double)args->k;
  double share = x->bandwidth > 0 ? x->bandwidth : 0.85;
  double bytes = e * (m * k + k * n) + (e < 4 ? 4 : e) * m * n * (args->beta != 0 ? 2 : 1);
  c.memory = bytes / (share * card->bandwidth);
  if (kernel->bandwidth > 0) { /* it streams: no tile waits for another */
    c.arithmetic = 2 * m * n * k / (x->efficiency * peak_of(kernel, card));
    c.seconds = 1e-6 * x->fill_us;
  } else {
    double full = floor(c.waves), steps = ceil_div(k, c.split);
    double rest = ceil_div(c.tiles - full * card->sms * kernel->blocks, card->sms);
    c.arithmetic = full * round_seconds(kernel, card, kernel->blocks, steps);
    if (rest > 0) c.arithmetic += round_seconds(kernel, card, rest, steps);
  }
  c.seconds += (c.arithmetic > c.memory ? c.arithmetic : c.memory) + launch_seconds;
  if (gathered > 0) c.seconds += gather_seconds + gathered / (0.8 * card->bandwidth);
  return c;
}
