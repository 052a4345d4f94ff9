#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/env.h"
#include "contest.h"
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
                           strcmp(head->argv[i - 1], "--csv") == 0);
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

static void ratios(FILE *file, const struct xgb_row *row, const struct xgb_result *own)
{
  int count = 0;
  fputs(", \"ratio\": {", file);
  for (int i = 0; i < row->count; i++) {
    double ratio = xgb_ratio(own, &row->results[i]);
    if (ratio <= 0 || &row->results[i] == own) continue;
    fputs(count++ ? ", " : "", file);
    xgb_json_string(file, row->results[i].engine);
    fprintf(file, ": %.4f", ratio);
  }
  fputs("}", file);
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
  number(file, "gflops", r->median > 0 ? 1e-9 * xgb_flops(&row->c) / r->median : 0);
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
  if (strcmp(r->backend, "peer") != 0) ratios(file, row, r);
  /* Samples of very short calls number thousands. */
  int most = row->best_peer ? 11 : 50;
  int step = r->samples > most ? (r->samples + most - 1) / most : 1;
  fprintf(file, ", \"samples\": %d, \"samples_s\": [", r->samples);
  for (int i = 0; i < r->samples; i += step) fprintf(file, "%s%.6g", i ? ", " : "", r->seconds[i]);
  fputs("]}", file);
}

static void first_pass(FILE *file, const struct xgb_row *row)
{
  int count = 0;
  fputs(", ", file);
  pair(file, "best_peer", row->best_peer);
  fputs(", \"first_pass_s\": {", file);
  for (int i = 0; i < row->count; i++) {
    if (row->results[i].first_pass <= 0) continue;
    fputs(count++ ? ", " : "", file);
    xgb_json_string(file, row->results[i].engine);
    fprintf(file, ": %.4g", row->results[i].first_pass);
  }
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
  if (row->best_peer) first_pass(file, row);
  fputs(", \"results\": [\n", file);
  int written = 0;
  for (int i = 0; i < row->count; i++) {
    if (row->results[i].status == XGB_SLOWER) continue; /* among the first pass's */
    if (written++) fputs(",\n", file);
    result(file, row, &row->results[i]);
  }
  fputs("]}", file);
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
