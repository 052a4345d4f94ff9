/* The CPU engine as the router sees it: which kernel, which blocks, how many threads, how long. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../common/backend.h"
#include "../common/roofline.h"
#include "../common/status.h"
#include "blocking.h"
#include "cpuid.h"
#include "loops.h"
#include "loops_deep.h"
#include "loops_flat.h"
#include "loops_small.h"
#include "loops_thin.h"
#include "team.h"
#include "topo.h"
#include "ukr_find.h"
#include "workspace.h"

/* Estimates for the prediction; nothing else depends on them. */
static const double core_bandwidth = 20e9, socket_bandwidth = 200e9; /* main memory, bytes/s */
static const double cached_bandwidth = 60e9;                         /* one core from L3 */
static const double kernel_efficiency = 0.93;
static const double small_ghz = 3.0, small_l3 = 8e6; /* before hwloc has been asked */
static const double call_seconds = 100e-9;           /* a call's own cost */
static const double team_seconds = 0.3e-6;           /* starting and joining spinning threads */

/* What a fast core does in a nanosecond; slower ones repay a further thread sooner. */
static const double f32_flops_per_ns = 100, f64_flops_per_ns = 50;

/* Asking, telling and awaiting one more thread that spins: between cores without a common L3. */
static const double ns_per_thread = 500;

/* Flops that repay a further thread that all have to wait for, and that may be asleep. */
static const double flops_per_thread = 3e5;

/* Bytes that do: 500 KB takes a core 25 us from memory and 5 us from its caches. */
static const double bytes_per_thread = 5e5;

/* A and B of more bytes come from memory, and in-place kernels would wait for it. */
static const double far_bytes = 8e6;

static const char *available(int start)
{
  (void)start;
  return NULL;
}

static const char *ok(const struct xg_problem *p, const struct xg_request *r, char *why,
                      size_t size)
{
  (void)r, (void)why, (void)size;
  if (p->space == XGEMM_SPACE_DEVICE) return "the operands are in device memory";
  return NULL;
}

static double flop_ns(const struct xg_problem *p)
{
  return xg_flops(p) / (p->type == XGEMM_F64 ? f64_flops_per_ns : f32_flops_per_ns);
}

/* Of a thin product, which the caches may hold. */
static double stream_ns(const struct xg_problem *p)
{
  const double flops = flop_ns(p), bytes = xg_ideal_bytes(p) / (cached_bandwidth * 1e-9);
  return flops > bytes ? flops : bytes;
}

/* Independent parts: work w on n threads takes w/n + n s, s being the cost of a thread; least at n
 * = sqrt(w/s). Ways with barriers: so much work for each. */
static int useful_threads(const struct xg_problem *o, const struct xg_ukr *u)
{
  const double by_flops = u->kind == XG_UKR_INPLACE ? sqrt(flop_ns(o) / ns_per_thread)
                          : u->kind == XG_UKR_STREAM && xg_thin_is_loose(o, u)
                              ? sqrt(stream_ns(o) / ns_per_thread)
                              : xg_flops(o) / flops_per_thread;
  const double by_bytes = xg_ideal_bytes(o) / bytes_per_thread;
  const double by_work = by_flops > by_bytes ? by_flops : by_bytes;
  return by_work < 2 ? 1 : by_work > 4096 ? 4096 : (int)by_work;
}

static int is_far(const struct xg_problem *o)
{
  return ((double)o->m + (double)o->n) * (double)o->k * (double)xg_sizeof(o->type) > far_bytes;
}

/* The forced kernel, or the best one for this oriented problem. */
static xgemm_status pick_kernel(const struct xg_problem *oriented, const char *forced,
                                const struct xg_ukr **out)
{
  const struct xg_ukr *inplace = xg_ukr_best(oriented->type, XG_UKR_INPLACE);
  const struct xg_ukr *stream = xg_ukr_best(oriented->type, XG_UKR_STREAM);
  const struct xg_ukr *strip = xg_ukr_best(oriented->type, XG_UKR_STRIP);
  const int deep = xg_is_deep(oriented, strip);
  *out = xg_is_thin(oriented, stream)          ? stream
         : deep && is_far(oriented)            ? strip
         : xg_is_small(oriented, inplace)      ? inplace
         : deep || xg_is_flat(oriented, strip) ? strip
                                               : xg_ukr_best(oriented->type, XG_UKR_PANEL);
  if (!forced) return XGEMM_OK;
  const struct xg_ukr *u = xg_ukr_by_name(forced);
  if (!u) return xg_fail(XGEMM_UNKNOWN_NAME, "the CPU backend has no kernel named %s", forced);
  if (xg_ukr_refusal(u))
    return xg_fail(XGEMM_UNSUPPORTED, "kernel %s cannot run: %s", forced, xg_ukr_refusal(u));
  if (xg_ukr_type(u) != oriented->type)
    return xg_fail(XGEMM_UNSUPPORTED, "kernel %s is for type f%d", forced,
                   u->type == 'd' ? 64 : 32);
  if (u->kind == XG_UKR_INPLACE && oriented->c.cs != 1)
    return xg_fail(XGEMM_UNSUPPORTED, "kernel %s needs a C with a unit stride", forced);
  if (u->kind == XG_UKR_STREAM && !xg_thin_serves(oriented, u))
    return xg_fail(XGEMM_UNSUPPORTED, "kernel %s needs a longer operand with a unit stride",
                   forced);
  *out = u;
  return XGEMM_OK;
}

static void blocks_of(const struct xg_problem *oriented, const struct xg_ukr *u, int threads,
                      struct xg_blocks *b)
{
  if (u->kind == XG_UKR_STREAM) {
    *b = (struct xg_blocks){oriented->m, oriented->n, oriented->k};
    return;
  }
  if (u->kind == XG_UKR_INPLACE) {
    *b = (struct xg_blocks){oriented->m, oriented->n, xg_small_kc(u, oriented->k)};
    return;
  }
  if (u->kind == XG_UKR_STRIP) {
    *b = (struct xg_blocks){oriented->m, oriented->n, oriented->k};
    if (xg_is_deep(oriented, u))
      b->kc = xg_deep_cut(oriented, u).kc;
    else
      b->nc = xg_flat_nc(oriented, u);
    return;
  }
  xg_blocking(xg_topo(), u, oriented->m, oriented->n, oriented->k, threads, b);
}

static int turn(struct xg_problem *oriented, const struct xg_ukr *u)
{
  const struct xg_problem *o = oriented;
  struct xg_blocks b;
  if (xg_is_scale_only(o) || xg_is_nothing(o)) return 0;
  xg_blocking(xg_topo(), u, o->m, o->n, o->k, 1, &b);
  return xg_orient_panel(u, b.kc, oriented);
}

static void predict(const struct xg_problem *p, const struct xg_ukr *u, struct xg_choice *c)
{
  const int small = u->kind != XG_UKR_PANEL;
  const double ghz = small ? small_ghz : xg_topo()->ghz, bytes = xg_ideal_bytes(p);
  const double l3 = small ? small_l3 : (double)xg_topo()->l3;
  const double stream = core_bandwidth * c->threads;
  const struct xg_ceiling ceiling = {.peak = kernel_efficiency * c->threads *
                                             xg_isa_flops_per_cycle(u->isa, u->type) * ghz * 1e9,
                                     .bandwidth = bytes < l3 ? cached_bandwidth * c->threads
                                                  : stream < socket_bandwidth ? stream
                                                                              : socket_bandwidth};
  c->compute = xg_is_scale_only(p) ? 0 : xg_compute_seconds(ceiling, p);
  c->memory = xg_memory_seconds(ceiling, p);
  c->launch = call_seconds + (c->threads > 1 ? team_seconds : 0);
  c->seconds = c->launch + (c->compute > c->memory ? c->compute : c->memory);
}

static xgemm_status choose(const struct xg_problem *p, const struct xg_request *r,
                           struct xg_choice *out)
{
  struct xg_problem o;
  struct xg_blocks b = {0, 0, 0};
  const struct xg_ukr *u;
  int transposed = xg_orient(p, &o);
  const xgemm_status status = pick_kernel(&o, r->kernel, &u);
  if (status != XGEMM_OK) return status;
  if (u->kind == XG_UKR_PANEL) transposed ^= turn(&o, u);
  int threads = useful_threads(&o, u);
  if (xg_is_scale_only(p) || xg_is_nothing(p)) threads = 1;
  if (threads > 1) {
    const int most = r->threads > 0 ? r->threads : xg_team_default();
    if (threads > most) threads = most;
  }
  if (!xg_is_scale_only(p) && !xg_is_nothing(p)) blocks_of(&o, u, threads, &b);
  *out = (struct xg_choice){.backend = &xg_backend_cpu,
                            .kernel = u->name,
                            .unit = u,
                            .threads = threads,
                            .transposed = transposed,
                            .mc = b.mc,
                            .nc = b.nc,
                            .kc = b.kc,
                            .split_k = 1,
                            .device = -1};
  if (u->kind == XG_UKR_PANEL) out->workspace = xg_loops_workspace(u, &b, threads);
  if (u->kind == XG_UKR_STREAM) out->workspace = xg_thin_workspace(&o, u, threads);
  if (u->kind == XG_UKR_STRIP && b.kc > 0) {
    const int deep = xg_is_deep(&o, u);
    if (deep) out->split_k = xg_deep_cut(&o, u).split;
    out->workspace = deep ? xg_deep_workspace(&o, u, threads) : xg_flat_workspace(&o, u, threads);
  }
  predict(p, u, out);
  return XGEMM_OK;
}

/* One thread is all that is wanted: asking for threads would cost as much as a product of 30^3. */
static int alone(const struct xg_request *r)
{
  return (r && r->threads > 0 ? r->threads : xg_default_threads()) == 1;
}

static xgemm_status run(const struct xg_choice *c, const struct xg_problem *p,
                        const struct xg_request *r)
{
  if (xg_is_scale_only(p)) {
    xg_scale_host(p);
    return XGEMM_OK;
  }
  struct xg_problem o;
  const struct xg_ukr *u = c->unit;
  const struct xg_blocks blocks = {c->mc, c->nc, c->kc};
  xg_orient(p, &o);
  if (u->kind == XG_UKR_PANEL) turn(&o, u);
  /* Not c->threads: the default may have changed since the choice was made and remembered. */
  const int useful = alone(r) ? 1 : useful_threads(&o, u);
  const int threads = useful > 1 ? xg_team_acquire(r->threads, useful) : 1;
  if (u->kind == XG_UKR_STREAM)
    xg_thin_run(&o, u, threads, stream_ns(&o));
  else if (u->kind == XG_UKR_STRIP)
    (xg_is_deep(&o, u) ? xg_deep_run : xg_flat_run)(&o, u, threads);
  else if (u->kind == XG_UKR_INPLACE)
    xg_small_run_threads(&o, u, threads, flop_ns(p));
  else
    xg_loops_run(&o, u, &blocks, threads);
  if (useful > 1) xg_team_release(threads);
  return XGEMM_OK;
}

int xg_cpu_direct(const struct xg_problem *p)
{
  return xg_is_direct(p) &&
         (alone(NULL) || useful_threads(p, xg_ukr_best(p->type, XG_UKR_INPLACE)) == 1) &&
         xg_small_direct(p);
}

static xgemm_status release_memory(void)
{
  xg_workspace_release_all();
  return XGEMM_OK;
}

static void describe_machine(void *file)
{
  const struct xg_topo *t = xg_topo();
  char brand[64];
  xg_cpu_brand(brand, sizeof brand);
  fprintf(file, "%s, %d cores, instruction set %s", brand, t->cores, xg_isa_name(xg_cpu_isa()));
  if (xg_cpu_isa() < xg_cpu_isa_hardware())
    fprintf(file, " (capped; the CPU has %s)", xg_isa_name(xg_cpu_isa_hardware()));
  fprintf(file, "\nL1d %lld KiB %d-way, L2 %lld KiB %d-way, L3 %lld KiB %d-way, %d cores an L3\n",
          (long long)t->l1d >> 10, t->l1d_ways, (long long)t->l2 >> 10, t->l2_ways,
          (long long)t->l3 >> 10, t->l3_ways, t->l3_sharing);
  for (int type = 0; type < 2; type++) {
    const struct xg_ukr *u = xg_ukr_best(type ? XGEMM_F64 : XGEMM_F32, XG_UKR_PANEL);
    struct xg_blocks b;
    xg_blocking(t, u, 4096, 4096, 4096, 1, &b);
    fprintf(file, "%s: blocks MC %lld, NC %lld, KC %lld at 4096 x 4096 x 4096\n", u->name,
            (long long)b.mc, (long long)b.nc, (long long)b.kc);
  }
}

const struct xg_backend xg_backend_cpu = {
    .name = "cpu",
    .id = XGEMM_BACKEND_CPU,
    .available = available,
    .ok = ok,
    .choose = choose,
    .run = run,
    .tiny = xg_cpu_tiny,
    .kernel_count = xg_ukr_count,
    .kernel_info = xg_ukr_info,
    .release_memory = release_memory,
    .describe_machine = describe_machine,
};
