/* The time of a product by the packed loops as a sum of what does not overlap:
 *
 *     whole tiles    steps x max(FMA units, load ports, L2, FMA latency)
 *     ends of tiles  C is read, scaled and written: nothing else runs in its own core's registers
 *     packing        A once for each NC columns, B once; each element is read and written
 *     edges          rows and columns that fill tiles but not C
 *
 * Per step of k a tile of MR x NR needs 2 MR NR flops of the FMA units, NR elements of B and MR of
 * A, which are broadcast one by one, of two load ports, and brings both from L2 if B's sliver does
 * not stay in L1. The ports are as wide as the FMA units (32 bytes on AMD's and in AVX2, where a
 * vector of 64 takes two turns; 64 on Intel's servers), which the flops a cycle tell.
 */
#include "model.h"

#include "cpuid.h"

/* Documented by the makers' optimisation guides, Zen 2 to 5 and Skylake to Granite Rapids. */
enum { FMA_PIPES = 2, LOAD_PORTS = 2, FMA_LATENCY = 4 };
static const double l2_bytes_per_cycle = 32; /* 64 at best on Intel, half of that sustained */

/* Read and written while packing, from caches: 20 to 36 GB/s measured on a Zen 4 at 3.65 GHz
 * (docs/tuning-log.md). */
static const double pack_bytes_per_cycle = 7;

static int64_t ceil_div(int64_t a, int64_t b)
{
  return (a + b - 1) / b;
}

static double larger(double a, double b)
{
  return a > b ? a : b;
}

static void model_step(const struct xg_topo *t, const struct xg_ukr *u, struct xg_model *x)
{
  const int e = u->type == 'd' ? 8 : 4, flops = xg_isa_flops_per_cycle(u->isa, u->type);
  const int vector = u->isa == XG_ISA_AVX512 ? 64 : u->isa == XG_ISA_AVX2 ? 32 : 16;
  const int vectors = (int)ceil_div(u->nr * e, vector);
  const double port = (double)flops / (2 * FMA_PIPES) * e; /* bytes of a pipe, and of a port */
  const double turns = larger(1, vector / port);
  const int stays =
      (x->blocks.kc * (u->nr + u->mr) * e) <= t->l1d * (t->l1d_ways - 1) / t->l1d_ways;
  x->registers = u->mr * vectors + vectors + 1;
  x->fma = 2.0 * u->mr * u->nr / flops;
  x->load = (vectors * turns + u->mr) / LOAD_PORTS;
  x->l2 = (u->mr + (stays ? 0 : u->nr)) * e / l2_bytes_per_cycle;
  x->step = x->fma, x->limit = "FMA units";
  if (x->load > x->step) x->step = x->load, x->limit = "load ports";
  if (x->l2 > x->step) x->step = x->l2, x->limit = "L2 bandwidth";
  if (FMA_LATENCY > x->step) x->step = FMA_LATENCY, x->limit = "FMA latency";
  /* A load and a store of each vector, the store one a cycle, and two operations between. */
  x->store = u->mr * vectors * turns * (1 + 1.0 / LOAD_PORTS) + 3 * FMA_LATENCY;
}

void xg_model(const struct xg_topo *t, const struct xg_ukr *u, int64_t m, int64_t n, int64_t k,
              int threads, struct xg_model *x)
{
  const int e = u->type == 'd' ? 8 : 4;
  *x = (struct xg_model){.registers = 0};
  xg_blocking(t, u, m, n, k, threads, &x->blocks);
  const struct xg_blocks *b = &x->blocks;
  model_step(t, u, x);
  x->b_sliver = b->kc * u->nr * e;
  x->a_block = b->mc * b->kc * e;
  x->b_panel = b->kc * b->nc * e;
  const double tiles = (double)ceil_div(m, u->mr) * (double)ceil_div(n, u->nr);
  const double exact = (double)m / u->mr * ((double)n / u->nr);
  const double passes = (double)ceil_div(n, b->nc), cuts = (double)ceil_div(k, b->kc);
  x->compute = exact * (double)k * x->step;
  x->edge = (tiles - exact) * (double)k * x->step;
  x->update = tiles * cuts * x->store;
  x->pack = ((double)m * (double)k * passes + (double)n * (double)k) * e / pack_bytes_per_cycle;
  x->share = exact * (double)k * x->fma / (x->compute + x->edge + x->update + x->pack);
}
