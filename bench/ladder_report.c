/* A rung's numbers: predicted, attained, and what holds it. */
#include <math.h>
#include <stdio.h>

#include "device.h"
#include "ladder.h"
#include "report.h"

double xgb_rung_peak(char type)
{
  if (type == 'h' || type == 'b') return xgb_device_peak_half();
  return xgb_device_peak(type == 'd' ? XGEMM_F64 : XGEMM_F32);
}

enum xg_size_class xgb_rung_best_class(const struct xgb_rung_result *r)
{
  enum xg_size_class best = XG_SIZE_ANY;
  for (int i = XG_SIZE_SMALL; i < XGB_SIZE_CLASSES; i++)
    if (r->by_class[i] > 0 && (best == XG_SIZE_ANY || r->by_class[i] < r->by_class[best]))
      best = (enum xg_size_class)i;
  return best;
}

static struct xg_rung_model model_of(const struct xgb_ladder_row *row, const struct xg_rung *rung)
{
  enum { H200_SMS = 132 };
  int sms = xgb_device_sms();
  return xg_rung_model(rung, row->c.m, row->c.n, row->c.k, row->c.beta, XG_SIZE_ANY,
                       sms > 0 ? sms : H200_SMS);
}

/* ---------------------------------------------------------------- limits */

static void weigh(struct xgb_rung_limits *x, double share, const char *name, double *most)
{
  if (!(share > *most)) return;
  *most = share;
  x->binds = name;
}

/* An SM reads 128 bytes of shared memory or L1 and takes about 64 from the L2 in a clock. Without
 * counters device memory is charged the ideal bytes, which certainly move, the L2 the tiled ones;
 * a rung without shared memory asks the L1 for all it needs, and what that passes on is not known.
 */
struct xgb_rung_limits xgb_rung_limits(const struct xgb_ladder_row *row,
                                       const struct xgb_rung_result *r,
                                       const struct xgb_counters *counted)
{
  struct xg_rung_model x = model_of(row, r->rung);
  struct xgb_rung_limits limits = {.binds = "", .modelled = counted == NULL};
  double seconds = xgb_rung_seconds(r), clocks = xgb_device_clock() * xgb_device_sms() * seconds;
  double copy = xgb_device_copy_rate(), peak = xgb_rung_peak(row->type), most = 0;
  if (r->status != XGB_GOOD || seconds <= 0 || clocks <= 0 || copy <= 0 || peak <= 0) return limits;
  limits.arithmetic = x.flops / seconds / peak;
  limits.dram = (counted ? counted->dram : x.ideal_bytes) / seconds / copy;
  double from_l1 = x.tile.shared ? x.shared_bytes : x.tiled_bytes;
  double from_l2 = x.tile.shared ? x.tiled_bytes : 0;
  limits.l2 = (counted ? counted->l2 : from_l2) / (64 * clocks);
  limits.l1 = (counted ? counted->l1 : from_l1) / (128 * clocks);
  weigh(&limits, limits.arithmetic, "arithmetic", &most);
  weigh(&limits, limits.dram, "device memory", &most);
  weigh(&limits, limits.l2, "L2", &most);
  weigh(&limits, limits.l1, x.tile.shared ? "shared memory" : "L1", &most);
  return limits;
}

static double attainable(double intensity, char type)
{
  return fmin(xgb_rung_peak(type), intensity * xgb_device_copy_rate());
}

/* Per cent of cuBLAS; 0: not known. */
static double of_cublas(const struct xgb_ladder_row *row, const struct xgb_rung_result *r)
{
  double seconds = xgb_rung_seconds(r);
  if (r->status != XGB_GOOD || seconds <= 0 || row->cublas.status != XGB_GOOD) return 0;
  return 100 * xgb_judged(&row->cublas) / seconds;
}

/* ---------------------------------------------------------------- JSON */

static void put(FILE *file, const char *name, double value)
{
  if (isfinite(value))
    fprintf(file, ", \"%s\": %.6g", name, value);
  else
    fprintf(file, ", \"%s\": null", name);
}

static void put_text(FILE *file, const char *name, const char *text)
{
  fprintf(file, ", \"%s\": ", name);
  xgb_json_string(file, text);
}

static void put_predicted(FILE *file, const struct xgb_ladder_row *row, const struct xg_rung *rung)
{
  struct xg_rung_model x = model_of(row, rung);
  fprintf(file,
          ", \"predicted\": {\"class\": \"%s\", \"bm\": %d, \"bn\": %d, \"bk\": %d, \"tm\": %d, "
          "\"tn\": %d, \"stages\": %d, \"threads\": %d, \"shared_per_block\": %d",
          xg_size_class_name(x.size), x.tile.bm, x.tile.bn, x.tile.bk, x.tile.tm, x.tile.tn,
          x.tile.stages, x.tile.threads, x.tile.shared);
  put(file, "flops", x.flops);
  put(file, "ideal_bytes", x.ideal_bytes);
  put(file, "tiled_bytes", x.tiled_bytes);
  put(file, "shared_bytes", x.shared_bytes);
  put(file, "ideal_intensity", x.ideal_intensity);
  put(file, "tiled_intensity", x.tiled_intensity);
  put(file, "tiles", x.tiles);
  put(file, "waves", x.waves);
  put(file, "fill", x.fill);
  if (xgb_device_copy_rate() > 0) {
    put(file, "attainable_gflops", 1e-9 * attainable(x.tiled_intensity, row->type));
    put(file, "attainable_ideal_gflops", 1e-9 * attainable(x.ideal_intensity, row->type));
  }
  fputs("}", file);
}

static void put_counted(FILE *file, const struct xgb_counters *x)
{
  fprintf(file,
          ", \"counted\": {\"dram_bytes\": %.0f, \"l2_bytes\": %.0f, \"shared_bytes\": %.0f, "
          "\"l1_bytes\": %.0f, \"bank_conflicts\": %.0f, \"sectors_per_request\": %.3f}",
          x->dram, x->l2, x->shared, x->l1, x->conflicts,
          x->requests > 0 ? x->sectors / x->requests : 0);
}

static void put_classes(FILE *file, const struct xgb_ladder_row *row,
                        const struct xgb_rung_result *r)
{
  enum xg_size_class best = xgb_rung_best_class(r);
  if (best == XG_SIZE_ANY) return;
  fputs(", \"classes\": {", file);
  for (int i = XG_SIZE_SMALL; i < XGB_SIZE_CLASSES; i++)
    if (r->by_class[i] > 0)
      fprintf(file, "\"%s_s\": %.6g, ", xg_size_class_name((enum xg_size_class)i), r->by_class[i]);
  fprintf(file, "\"own\": \"%s\", \"fastest\": \"%s\"}",
          xg_size_class_name(xg_size_class_of(row->c.m, row->c.n)), xg_size_class_name(best));
}

static void put_fused(FILE *file, const struct xgb_ladder_row *row, const struct xgb_rung_result *r)
{
  if (r->separate <= 0) return;
  double bytes = 2 * xg_pass_bytes(row->c.m, row->c.n, row->type), copy = xgb_device_copy_rate();
  fprintf(file, ", \"fused\": {\"separate_s\": %.6g", r->separate);
  put(file, "plain_s", r->by_class[xg_size_class_of(row->c.m, row->c.n)]);
  put(file, "saved_s", r->separate - xgb_rung_seconds(r));
  put(file, "saved_bytes", bytes);
  if (copy > 0) put(file, "predicted_saved_s", bytes / copy);
  fputs("}", file);
}

static void put_result(FILE *file, const struct xgb_ladder_row *row,
                       const struct xgb_rung_result *r, const struct xgb_counters *counted)
{
  double seconds = xgb_rung_seconds(r), flops = xgb_flops(&row->c);
  fprintf(file, "      {\"engine\": \"ladder\", \"status\": \"%s\", \"backend\": \"gpu\"",
          xgb_status_name(r->status));
  put_text(file, "kernel", r->rung->kernel);
  if (r->status != XGB_GOOD || seconds <= 0) {
    put_text(file, "reason", r->reason);
    fputs("}", file);
    return;
  }
  struct xgb_rung_limits limits = xgb_rung_limits(row, r, counted);
  put(file, "median_s", r->eager);
  if (r->graph > 0) put(file, "graph_s", r->graph);
  put(file, "gflops", 1e-9 * flops / seconds);
  put(file, "peak_gflops", 1e-9 * xgb_rung_peak(row->type));
  put(file, "error_share_of_bound", r->worst);
  if (r->difference >= 0) put(file, "difference_from_cublas", r->difference);
  if (of_cublas(row, r) > 0)
    fprintf(file, ", \"ratio\": {\"cublas\": %.4f}", of_cublas(row, r) / 100);
  fprintf(file, ", \"limit\": {\"binds\": \"%s\", \"bytes\": \"%s\"", limits.binds,
          limits.modelled ? "modelled" : "counted");
  put(file, "arithmetic", limits.arithmetic);
  put(file, "device_memory", limits.dram);
  put(file, "l2", limits.l2);
  put(file, "l1", limits.l1);
  fputs("}", file);
  put_classes(file, row, r);
  put_fused(file, row, r);
  fputs("}", file);
}

static void put_cublas(FILE *file, const struct xgb_ladder_row *row)
{
  const struct xgb_result *r = &row->cublas;
  fprintf(file, ",\n      {\"engine\": \"cublas\", \"status\": \"%s\", \"backend\": \"peer\"",
          xgb_status_name(r->status));
  put_text(file, "kernel", r->kernel);
  if (r->status != XGB_GOOD) {
    put_text(file, "reason", r->reason);
  } else {
    put(file, "median_s", r->median);
    if (r->graph > 0) put(file, "graph_s", r->graph);
    put(file, "gflops", 1e-9 * xgb_flops(&row->c) / xgb_judged(r));
  }
  fputs("}", file);
}

static const char *type_name(char type)
{
  return type == 'h' ? "f16" : type == 'b' ? "bf16" : type == 'd' ? "f64" : "f32";
}

void xgb_ladder_json(FILE *file, const struct xgb_ladder_row *row,
                     const struct xgb_counters *const *counted, int *index)
{
  const struct xgb_case *c = &row->c;
  for (int i = 0; i < row->count; i++) {
    const struct xg_rung *rung = row->rungs[i].rung;
    fprintf(file, "%s\n    {\"name\": \"rung%s_%s\", \"rung\": \"%s\"", (*index)++ ? "," : "",
            rung->number, c->name, rung->number);
    put_text(file, "idea", rung->idea);
    fprintf(file,
            ", \"type\": \"%s\", \"transa\": \"%c\", \"transb\": \"%c\", \"m\": %lld, \"n\": %lld, "
            "\"k\": %lld, \"threads\": 0, \"published_percent\": %d",
            type_name(row->type), c->transa, c->transb, (long long)c->m, (long long)c->n,
            (long long)c->k, rung->published);
    put_predicted(file, row, rung);
    if (counted && counted[i]) put_counted(file, counted[i]);
    fputs(", \"results\": [\n", file);
    put_result(file, row, &row->rungs[i], counted ? counted[i] : NULL);
    put_cublas(file, row);
    fputs("]}", file);
  }
  xgb_json_hold(file);
}

/* ---------------------------------------------------------------- table */

/* Megabytes, in four places. */
static const char *megabytes(char *text, size_t size, double bytes)
{
  double value = 1e-6 * bytes;
  if (value > 0)
    snprintf(text, size, "%.*f", value >= 100 ? 0 : value >= 1 ? 1 : 3, value);
  else
    snprintf(text, size, "-");
  return text;
}

static void print_class(const struct xgb_ladder_row *row, const struct xgb_rung_result *r)
{
  enum xg_size_class own = xg_size_class_of(row->c.m, row->c.n), best = xgb_rung_best_class(r);
  char text[40] = "-";
  if (best != XG_SIZE_ANY && best == own)
    snprintf(text, sizeof text, "own");
  else if (best != XG_SIZE_ANY)
    snprintf(text, sizeof text, "%s x%.2f", xg_size_class_name(best),
             r->by_class[own] / r->by_class[best]);
  printf(" %-12s", text);
}

static void print_rung(const struct xgb_ladder_row *row, const struct xgb_rung_result *r,
                       const struct xgb_counters *counted)
{
  struct xg_rung_model x = model_of(row, r->rung);
  struct xgb_rung_limits limits = xgb_rung_limits(row, r, counted);
  char published[16] = "-", share[16] = "-", roof[16] = "-", binds[64], memory[64], texts[3][24];
  double seconds = xgb_rung_seconds(r), percent = of_cublas(row, r);
  if (xgb_device_copy_rate() > 0)
    snprintf(roof, sizeof roof, "%.1f", 1e-12 * attainable(x.tiled_intensity, row->type));
  if (r->rung->published > 0) snprintf(published, sizeof published, "%d%%", r->rung->published);
  snprintf(memory, sizeof memory, "%s%s%s", megabytes(texts[0], sizeof *texts, x.ideal_bytes),
           counted ? " " : "..",
           megabytes(texts[1], sizeof *texts, counted ? counted->dram : x.tiled_bytes));
  printf("%-3s %-26.26s", r->rung->number, r->rung->kernel);
  if (r->status == XGB_GOOD && seconds > 0) {
    if (percent > 0) snprintf(share, sizeof share, "%.1f%%", percent);
    printf(" %9.2f %8.2f %7s %5s", 1e6 * seconds, 1e-12 * xgb_flops(&row->c) / seconds, share,
           published);
  } else {
    printf(" %9s %8s %7s %5s", r->status == XGB_WRONG ? "WRONG" : "-", "-", "-", published);
  }
  snprintf(binds, sizeof binds, "%s%s", limits.binds, limits.modelled ? " (modelled)" : "");
  printf(" %16s %9s %7s", memory, megabytes(texts[2], sizeof *texts, x.shared_bytes), roof);
  print_class(row, r);
  printf(" %s\n", r->status == XGB_GOOD ? (limits.binds[0] ? binds : "") : r->reason);
  if (r->separate > 0)
    printf("    bias and ReLU as two passes: %.2f us, saved %.2f us; %.1f MB less traffic, %.2f us "
           "at the copy rate\n",
           1e6 * r->separate, 1e6 * (r->separate - seconds),
           2e-6 * xg_pass_bytes(row->c.m, row->c.n, row->type),
           2e6 * xg_pass_bytes(row->c.m, row->c.n, row->type) / xgb_device_copy_rate());
}

void xgb_ladder_table(const struct xgb_ladder_row *row, const struct xgb_counters *const *counted)
{
  const struct xgb_case *c = &row->c;
  const struct xgb_result *peer = &row->cublas;
  if (row->count == 0) return;
  printf("\n%s %c%c %s, %s; ", c->name, c->transa, c->transb, type_name(row->type),
         xg_size_class_name(xg_size_class_of(c->m, c->n)));
  if (peer->status == XGB_GOOD)
    printf("%s %.2f us, %.2f TFLOP/s\n", peer->kernel, 1e6 * xgb_judged(peer),
           1e-12 * xgb_flops(c) / xgb_judged(peer));
  else
    printf("no cuBLAS: %s\n", peer->reason);
  printf("%-3s %-26s %9s %8s %7s %5s %16s %9s %7s %-12s %s\n", "", "rung", "us", "TFLOP/s",
         "cuBLAS", "publ.", counted ? "MB ideal, read" : "MB ideal..tiled", "MB shared", "roof",
         "best tile", "nearest limit");
  for (int i = 0; i < row->count; i++) print_rung(row, &row->rungs[i], counted ? counted[i] : NULL);
  fflush(stdout);
}
