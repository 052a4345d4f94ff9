/* `xgemm model`: what the analytic model of cpu/model.h predicts for each kernel of the packed
 * loops, and what one thread of this machine makes of it. */
#include "../cpu/model.h"

#include <stdio.h>
#include <string.h>

#include "../cpu/cpuid.h"
#include "../cpu/ukr_find.h"
#include "args.h"
#include "commands.h"
#include "peaks.h"
#include "report.h"
#include "run.h"
#include "timing.h"

struct model_options {
  int64_t size;
  const char *json;
  int help;
};

static int set_size(void *options, const char *value)
{
  struct model_options *o = options;
  return xgb_integer(value, 1, 16384, &o->size) ? xgb_error("--size %s: 1 to 16384", value) : 0;
}

static int set_json(void *options, const char *value)
{
  ((struct model_options *)options)->json = value;
  return 0;
}

static int set_help(void *options, const char *value)
{
  (void)value;
  ((struct model_options *)options)->help = 1;
  return 0;
}

static const struct xgb_flag flags[] = {
    {"--size", "N", "m = n = k of the product (default 2048)", set_size},
    {"--json", "FILE", "the result as a file", set_json},
    {"--help", NULL, "this text", set_help},
    {NULL, NULL, NULL, NULL}};

/* GFLOP/s of the square product with this kernel on one thread, 0 if it was wrong or impossible. */
static double measure(const struct xg_ukr *u, int64_t size)
{
  static struct xgb_operands operands;
  static const struct xgb_effort effort = {.reps = 7, .min_time = 0.2, .max_time = 30};
  struct xgb_contestant x = {.kind = XGB_OWN, .backend = XGEMM_BACKEND_CPU, .kernel = u->name};
  struct xgb_row row = {.c = {.m = size, .n = size, .k = size, .batch = 1, .alpha = 1}};
  snprintf(x.name, sizeof x.name, "%s", u->name);
  row.c.transa = row.c.transb = 'N';
  row.c.type = u->type == 'd' ? XGEMM_F64 : XGEMM_F32;
  row.c.threads = 1;
  xgb_case_storage(&row.c, 0);
  int bad = xgb_run_case(&row, &x, 1, &operands, &effort);
  const struct xgb_result *r = &row.results[0];
  double rate = !bad && r->status == XGB_GOOD ? 1e-9 * xgb_flops(&row.c) / r->median : 0;
  if (rate == 0 && r->reason[0]) fprintf(stderr, "xgemm: %s: %s\n", u->name, r->reason);
  xgb_row_free(&row);
  xgb_operands_free(&operands);
  memset(&operands, 0, sizeof operands);
  return rate;
}

/* The FMA peak is measured with the widest vectors there are; narrower ones may have less. */
static double peak_of(const struct xg_ukr *u)
{
  const xgemm_type type = u->type == 'd' ? XGEMM_F64 : XGEMM_F32;
  return 1e-9 * xgb_cpu_peak(type, 1) * xg_isa_flops_per_cycle(u->isa, u->type) /
         xg_isa_flops_per_cycle(xg_cpu_isa_hardware(), u->type);
}

static void print(const struct xg_ukr *u, const struct xg_model *x, double peak, double rate)
{
  printf(
      "%-20s %4d %5.1f %5.1f %5.1f  %-12s %5lld %5lld %5lld %6lld %6lld %7lld  %4.1f %4.1f %4.1f "
      "%6.0f%%",
      u->name, x->registers, x->fma, x->load, x->l2, x->limit, (long long)x->blocks.kc,
      (long long)x->blocks.mc, (long long)x->blocks.nc, (long long)x->b_sliver >> 10,
      (long long)x->a_block >> 10, (long long)x->b_panel >> 10, 100 * x->update / x->compute,
      100 * x->pack / x->compute, 100 * x->edge / x->compute, 100 * x->share);
  if (rate > 0) printf(" %8.0f%% %8.1f", 100 * rate / peak, rate);
  putchar('\n');
  fflush(stdout);
}

static void write(FILE *file, int index, const struct xg_ukr *u, const struct xg_model *x,
                  int64_t size, double peak, double rate)
{
  fprintf(file,
          "%s\n    {\"name\": \"%s\", \"type\": \"f%d\", \"m\": %lld, \"mr\": %d, \"nr\": %d, ",
          index ? "," : "", u->name, u->type == 'd' ? 64 : 32, (long long)size, u->mr, u->nr);
  fprintf(
      file,
      "\"model\": {\"registers\": %d, \"fma\": %.3f, \"load\": %.3f, \"l2\": %.3f, \"limit\": "
      "\"%s\", \"kc\": %lld, \"mc\": %lld, \"nc\": %lld, \"b_sliver\": %lld, \"a_block\": %lld, "
      "\"b_panel\": %lld, \"update\": %.5f, \"pack\": %.5f, \"edge\": %.5f, \"share\": %.4f}, ",
      x->registers, x->fma, x->load, x->l2, x->limit, (long long)x->blocks.kc,
      (long long)x->blocks.mc, (long long)x->blocks.nc, (long long)x->b_sliver,
      (long long)x->a_block, (long long)x->b_panel, x->update / x->compute, x->pack / x->compute,
      x->edge / x->compute, x->share);
  fprintf(file, "\"peak_gflops\": %.2f, \"gflops\": %.2f}", peak, rate);
}

int xgb_model(int argc, char **argv)
{
  struct model_options o = {.size = 2048};
  struct xgb_head head = {.argc = argc, .argv = argv};
  int rows = 0, wrong = 0;
  if (xgb_parse("model", argc, argv, flags, &o, NULL)) return XGB_EXIT_USAGE;
  if (o.help) {
    puts("usage: xgemm model [flags]\n\nThe kernels of the packed loops: cycles per step of k, "
         "blocks and their KiB, losses\nin percent of the multiply-adds, predicted and measured "
         "share of the FMA peak.\n\nflags:");
    xgb_print_flags(flags);
    return XGB_EXIT_GOOD;
  }
  FILE *json = o.json ? fopen(o.json, "w") : NULL;
  if (o.json && !json) {
    perror(o.json);
    return XGB_EXIT_USAGE;
  }
  xgb_machine_read(&head.machine, 0);
  xgb_version(head.version, sizeof head.version);
  xgb_date(head.date, sizeof head.date);
  xgb_sample_cpu_time = 1;
  if (json) xgb_json_begin(json, &head);
  printf("kernel               regs   fma  load    L2  limit           KC    MC    NC  slivB blockA"
         "  panelB  C%%  pack edge predict measured GFLOP/s\n");
  for (const struct xg_ukr *const *u = xg_ukr_table; *u; u++) {
    struct xg_model x;
    if ((*u)->kind != XG_UKR_PANEL || xg_ukr_refusal(*u)) continue;
    xg_model(xg_topo(), *u, o.size, o.size, o.size, 1, &x);
    const double peak = peak_of(*u), rate = measure(*u, o.size);
    wrong |= rate == 0;
    print(*u, &x, peak, rate);
    if (json) write(json, rows++, *u, &x, o.size, peak, rate);
  }
  if (json) xgb_json_end(json, NULL, 0, NULL);
  if (json) fclose(json);
  return wrong ? XGB_EXIT_FAILED : XGB_EXIT_GOOD;
}
