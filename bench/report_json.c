#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/env.h"
#include "contest.h"
#include "device.h"
#include "report.h"
#include "timing.h"

void xgb_json_string(FILE *file, const char *text)
{
  fputc('"', file);
  for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
    if (*p == '"' || *p == '\\')
      fprintf(file, "\\%c", *p);
    else if (*p < 0x20 || *p >= 0x7f) /* other encodings are not ours to guess */
      fprintf(file, "\\u%04x", *p);
    else
      fputc(*p, file);
  }
  fputc('"', file);
}

static const char unfinished[] = "\n  ],\n  \"complete\": false\n}\n";

static void pair(FILE *file, const char *key, const char *value)
{
  xgb_json_string(file, key);
  fputs(": ", file);
  xgb_json_string(file, value);
}

/* JSON has no infinity and no NaN. */
static void number(FILE *file, const char *key, double value)
{
  if (isfinite(value))
    fprintf(file, ", \"%s\": %.6g", key, value);
  else
    fprintf(file, ", \"%s\": null", key);
}

/* Closes what is open, and steps back so that the next row overwrites that. What has gone into a
 * pipe cannot be taken back: there the file is valid at the end only. */
static void close_for_now(FILE *file, const char *tail)
{
  fflush(file);
  off_t here = lseek(fileno(file), 0, SEEK_CUR);
  if (here < 0) return;
  fputs(tail, file);
  fflush(file);
  fseeko(file, here, SEEK_SET);
}

static void environment(FILE *file)
{
  static const char *const others[] = {"OPENBLAS_CORETYPE",       "OMP_NUM_THREADS",
                                       "OMP_WAIT_POLICY",         "OPENBLAS_NUM_THREADS",
                                       "OPENBLAS_THREAD_TIMEOUT", "BLIS_ARCH_TYPE"};
  int count = 0;
  fputs("  \"environment\": {", file);
  for (const struct xg_env_entry *e = xg_env_table; e->name; e++) {
    const char *value = xg_env_value(e->name);
    if (!value) continue;
    fputs(count++ ? ", " : "", file);
    pair(file, e->name, value);
  }
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    const char *value = getenv(others[i]);
    if (!value) continue;
    fputs(count++ ? ", " : "", file);
    pair(file, others[i], value);
  }
  fputs("},\n", file);
}

static void machine(FILE *file, const struct xgb_machine *m)
{
  fputs("  \"machine\": {", file);
  pair(file, "cpu", m->cpu);
  fprintf(file, ", \"cores\": %d, \"hardware_threads\": %d, \"l1d\": %ld, \"l2\": %ld, \"l3\": %ld",
          m->cores, m->logical, m->l1d, m->l2, m->l3);
  number(file, "memory", m->memory);
  fputs(", ", file);
  pair(file, "isa", m->isa);
  fputs(", ", file);
  pair(file, "system", m->system);
  fputs(", ", file);
  pair(file, "gpu", m->gpu);
  fputs("},\n", file);
}

static const char *last_part(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* The command, without the folders of this machine in the names of the program and its outputs. */
static void command(FILE *file, const struct xgb_head *head)
{
  fputs("  \"command\": [\"xgemm\"", file);
  for (int i = 0; i < head->argc; i++) {
    int output = i > 0 && (strcmp(head->argv[i - 1], "--json") == 0 ||
                           strcmp(head->argv[i - 1], "--csv") == 0 ||
                           strcmp(head->argv[i - 1], "--counters") == 0);
    fputs(", ", file);
    xgb_json_string(file, output ? last_part(head->argv[i]) : head->argv[i]);
  }
  fputs("],\n", file);
}

void xgb_json_begin(FILE *file, const struct xgb_head *head)
{
  fputs("{\n  ", file);
  pair(file, "libxgemm", head->version);
  fputs(",\n  ", file);
  pair(file, "date", head->date);
  fputs(",\n  ", file);
  pair(file, "compiler", xgb_compiler());
  fputs(",\n  ", file);
  pair(file, "clock", xgb_sample_cpu_time ? "cpu" : "wall");
  fputs(",\n", file);
  if (head->pages) {
    char huge[64];
    xgb_huge_pages(huge, sizeof huge);
    fprintf(file, "  \"pages\": {\"operands\": \"%s\", ", head->pages);
    pair(file, "transparent_huge_pages", huge);
    fputs("},\n", file);
  }
  command(file, head);
  machine(file, &head->machine);
  environment(file);
  if (head->copy_rate > 0)
    fprintf(
        file,
        "  \"card\": {\"sms\": %d, \"l2\": %zu, \"copy_gb_s\": %.1f, \"peak_f32_gflops\": %.0f, "
        "\"peak_f64_gflops\": %.0f},\n",
        xgb_device_sms(), xgb_device_l2(), 1e-9 * head->copy_rate,
        1e-9 * xgb_device_peak(XGEMM_F32), 1e-9 * xgb_device_peak(XGEMM_F64));
  fputs("  \"peers\": [", file);
  for (int i = 0; i < head->peer_count; i++) {
    fputs(i ? ", {" : "{", file);
    pair(file, "name", head->peers[i].name);
    fputs(", ", file);
    pair(file, "version", head->peers[i].version);
    fputs(", ", file);
    pair(file, "path", last_part(head->peers[i].path));
    fputs(", ", file);
    pair(file, "threads_by", head->peers[i].threads_by);
    fputs("}", file);
  }
  fputs("],\n  \"rows\": [", file);
  close_for_now(file, unfinished);
}

static void ratios(FILE *file, const struct xgb_row *row, const struct xgb_result *own,
                   const char *name,
                   double (*of)(const struct xgb_result *own, const struct xgb_result *other))
{
  int count = 0;
  fprintf(file, ", \"%s\": {", name);
  for (int i = 0; i < row->count; i++) {
    double ratio = of(own, &row->results[i]);
    if (ratio <= 0 || &row->results[i] == own || row->results[i].candidate) continue;
    fputs(count++ ? ", " : "", file);
    xgb_json_string(file, row->results[i].engine);
    fprintf(file, ": %.4f", ratio);
  }
  fputs("}", file);
}

/* What has its operands on the card. */
static void card(FILE *file, const struct xgb_row *row, const struct xgb_result *r)
{
  double bytes = xgb_ideal_bytes(&row->c), time = xgb_judged(r);
  number(file, "bytes", bytes);
  number(file, "gb_s", time > 0 ? 1e-9 * bytes / time : 0);
  number(file, "copy_gb_s", 1e-9 * r->copy_rate);
  double floor88 = xgb_memory_floor(&row->c, r, 0.88), floor92 = xgb_memory_floor(&row->c, r, 0.92);
  if (floor88 > 0 && time > 0)
    fprintf(file, ", \"memory_floor\": {\"share88\": %.4f, \"share92\": %.4f}", floor88 / time,
            floor92 / time);
}

/* What the cost model made of it. */
static void weight(FILE *file, const struct xgb_weight *w)
{
  fprintf(file,
          ", \"model\": {\"bm\": %d, \"bn\": %d, \"blocks\": %d, \"split\": %d, \"cuts\": %s, "
          "\"sms\": %d, \"streams\": %s",
          w->bm, w->bn, w->blocks, w->split, w->cuts ? "true" : "false", w->sms,
          w->streams ? "true" : "false");
  number(file, "tiles", w->tiles);
  if (w->rounds > 0) number(file, "rounds", w->rounds);
  number(file, "peak", w->peak);
  number(file, "bandwidth", w->bandwidth);
  number(file, "seconds", w->seconds);
  fputs("}", file);
}

static void samples(FILE *file, const char *name, const double *seconds, int count, int most)
{
  int step = count > most ? (count + most - 1) / most : 1;
  fprintf(file, ", \"%s\": [", name);
  for (int i = 0; i < count; i += step) fprintf(file, "%s%.6g", i ? ", " : "", seconds[i]);
  fputs("]", file);
}

static void result(FILE *file, const struct xgb_row *row, const struct xgb_result *r)
{
  fputs("      {", file);
  pair(file, "engine", r->engine);
  fputs(", ", file);
  pair(file, "status", xgb_status_name(r->status));
  fputs(", ", file);
  pair(file, "backend", r->backend);
  fputs(", ", file);
  pair(file, "kernel", r->kernel);
  fprintf(file, ", \"threads\": %d", r->threads);
  if (r->status != XGB_GOOD) {
    fputs(", ", file);
    pair(file, "reason", r->reason);
    fputs("}", file);
    return;
  }
  number(file, "median_s", r->median);
  number(file, "best_s", r->best);
  if (r->graph > 0) number(file, "graph_s", r->graph);
  if (r->graph > 0 && r->eager < r->median) number(file, "eager_s", r->eager);
  number(file, "gflops", r->median > 0 ? 1e-9 * xgb_flops(&row->c) / xgb_judged(r) : 0);
  if (r->peak > 0) number(file, "peak_gflops", 1e-9 * r->peak);
  if (r->bound > 0) {
    fprintf(file, ", \"bound\": {\"by\": \"%s\"", r->bound_by);
    if (r->bound_rate > 0) number(file, "memory_gb_s", 1e-9 * r->bound_rate);
    number(file, "gflops", 1e-9 * r->bound);
    fputs("}", file);
  }
  number(file, "error_share_of_bound", r->worst);
  number(file, "rms_error", r->rms);
  fprintf(file, ", \"calls_per_sample\": %ld", r->calls);
  if (r->copy_rate > 0) card(file, row, r);
  if (r->weight.seconds > 0) weight(file, &r->weight);
  if (strcmp(r->backend, "peer") != 0) ratios(file, row, r, "ratio", xgb_ratio);
  if (strcmp(r->backend, "peer") != 0 && r->graph > 0)
    ratios(file, row, r, "eager_ratio", xgb_eager_ratio);
  if (r->copy_rate > 0 && r->reason[0]) { /* why there is no graph */
    fputs(", ", file);
    pair(file, "note", r->reason);
  }
  /* Samples of very short calls number thousands. */
  int most = row->best_peer || r->candidate ? 11 : 50;
  fprintf(file, ", \"samples\": %d", r->samples);
  samples(file, "samples_s", r->seconds, r->samples, most);
  if (r->graph > 0) samples(file, "graph_samples_s", r->replays, r->replay_count, most);
  fputs("}", file);
}

static void first_pass(FILE *file, const struct xgb_row *row)
{
  int count = 0, any = row->best_peer != NULL;
  for (int i = 0; i < row->count; i++) any |= row->results[i].first_pass > 0;
  if (!any) return;
  if (row->best_peer) {
    fputs(", ", file);
    pair(file, "best_peer", row->best_peer);
  }
  fputs(", \"first_pass_s\": {", file);
  for (int i = 0; i < row->count; i++) {
    if (row->results[i].first_pass <= 0) continue;
    fputs(count++ ? ", " : "", file);
    xgb_json_string(file, row->results[i].engine);
    fprintf(file, ": %.4g", row->results[i].first_pass);
  }
  fputs("}", file);
}

/* What the library took, and what would have been best. */
static void choice(FILE *file, const struct xgb_row *row)
{
  fprintf(file, ", \"choice\": {\"ratio\": %.4f, ", row->choice);
  pair(file, "chosen", row->chosen);
  fputs(", ", file);
  pair(file, "best", row->best_kernel);
  fputs("}", file);
}

/* The opening of a row. */
static void put_case(FILE *file, const struct xgb_case *c, int index)
{
  fprintf(file, "%s\n    {", index ? "," : "");
  pair(file, "name", c->name);
  fprintf(file,
          ", \"type\": \"%s\", \"layout\": \"%s\", \"transa\": \"%c\", \"transb\": \"%c\", \"m\": "
          "%lld, \"n\": %lld, \"k\": %lld, \"lda\": %lld, \"ldb\": %lld, \"ldc\": %lld, \"alpha\": "
          "%.17g, \"beta\": %.17g, \"threads\": %d",
          xgb_type_name(c->type), c->row_major ? "row" : "col", c->transa, c->transb,
          (long long)c->m, (long long)c->n, (long long)c->k, (long long)c->lda, (long long)c->ldb,
          (long long)c->ldc, c->alpha, c->beta, xgb_case_threads(c));
  if (c->remark[0]) {
    fputs(", ", file);
    pair(file, "remark", c->remark);
  }
}

void xgb_json_bits(FILE *file, const struct xgb_case *c, const char *verdict, int index)
{
  put_case(file, c, index);
  fputs(", ", file);
  pair(file, "bits", verdict);
  fputs("}", file);
  close_for_now(file, unfinished);
}

void xgb_json_row(FILE *file, const struct xgb_row *row, int index)
{
  put_case(file, &row->c, index);
  fputs(", ", file);
  pair(file, "auto_takes", row->auto_takes);
  first_pass(file, row);
  if (row->choice > 0) choice(file, row);
  fputs(", \"results\": [\n", file);
  int written = 0;
  for (int i = 0; i < row->count; i++) {
    const struct xgb_result *r = &row->results[i];
    if (r->status == XGB_SLOWER) continue;                      /* among the first pass's */
    if (r->candidate && r->status == XGB_UNSUPPORTED) continue; /* illegal here */
    if (written++) fputs(",\n", file);
    result(file, row, r);
  }
  fputs("]}", file);
  close_for_now(file, unfinished);
}

void xgb_json_hold(FILE *file)
{
  close_for_now(file, unfinished);
}

void xgb_json_stop(FILE *file)
{
  fflush(file);
  if (lseek(fileno(file), 0, SEEK_CUR) < 0) fputs(unfinished, file);
}

void xgb_json_end(FILE *file, char (*crossovers)[256], int count, const struct xgb_summary *summary)
{
  fputs("\n  ],\n", file);
  if (summary) xgb_summary_json(file, summary);
  fputs("  \"crossover\": [", file);
  for (int i = 0; i < count; i++) {
    fputs(i ? ", " : "", file);
    xgb_json_string(file, crossovers[i]);
  }
  fputs("],\n  \"complete\": true\n}\n", file);
  fflush(file);
}
