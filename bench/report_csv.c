#include "report.h"

#include "contest.h"

void xgb_csv_begin(FILE *file)
{
  fputs("name,type,layout,transa,transb,m,n,k,alpha,beta,threads,engine,backend,kernel,status,"
        "median_seconds,best_seconds,graph_seconds,samples,calls_per_sample,gflops,percent_of_peak,"
        "gb_per_second,error_share_of_bound,reason\n",
        file);
  fflush(file);
}

static void quoted(FILE *file, const char *text)
{
  fputc('"', file);
  for (; *text; text++) {
    if (*text == '"') fputc('"', file);
    fputc(*text, file);
  }
  fputc('"', file);
}

void xgb_csv_row(FILE *file, const struct xgb_row *row)
{
  const struct xgb_case *c = &row->c;
  for (int i = 0; i < row->count; i++) {
    const struct xgb_result *r = &row->results[i];
    quoted(file, c->name);
    fprintf(file, ",%s,%s,%c,%c,%lld,%lld,%lld,%.17g,%.17g,%d,", xgb_type_name(c->type),
            c->row_major ? "row" : "col", c->transa, c->transb, (long long)c->m, (long long)c->n,
            (long long)c->k, c->alpha, c->beta, c->threads > 0 ? c->threads : xgb_case_threads(c));
    quoted(file, r->engine);
    fprintf(file, ",%s,%s,%s,", r->backend, r->kernel, xgb_status_name(r->status));
    if (r->status == XGB_GOOD && r->median > 0) {
      double rate = xgb_flops(c) / xgb_judged(r);
      fprintf(file, "%.6e,%.6e,", r->median, r->best);
      if (r->graph > 0) fprintf(file, "%.6e", r->graph);
      fprintf(file, ",%d,%ld,%.4f,", r->samples, r->calls, 1e-9 * rate);
      if (r->peak > 0) fprintf(file, "%.2f", 100 * rate / r->peak);
      fputc(',', file);
      if (r->copy_rate > 0) fprintf(file, "%.1f", 1e-9 * xgb_ideal_bytes(c) / xgb_judged(r));
      fprintf(file, ",%.3g,\n", r->worst);
    } else {
      fputs(",,,,,,,,,", file);
      quoted(file, r->reason);
      fputc('\n', file);
    }
  }
  fflush(file);
}
