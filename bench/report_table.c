#include <string.h>

#include "report.h"

/* name type ops m n k thr | GFLOP/s and share of peak for each contestant | ratios | auto | kernel
 */

static int has_both_engines(const struct xgb_head *head)
{
  int cpu = 0, gpu = 0;
  for (int i = 0; i < head->column_count; i++) {
    cpu |= strcmp(head->columns[i].engine, "cpu") == 0;
    gpu |= strcmp(head->columns[i].engine, "gpu") == 0;
  }
  return cpu && gpu;
}

static int is_peer_column(const struct xgb_head *head, int i)
{
  for (int p = 0; p < head->peer_count; p++)
    if (strcmp(head->columns[i].engine, head->peers[p].name) == 0) return 1;
  return 0;
}

void xgb_table_begin(const struct xgb_head *head)
{
  const struct xgb_machine *m = &head->machine;
  printf("libxgemm %s on %s, %d cores, %s%s%s\n", head->version, m->cpu, m->cores, m->isa,
         m->gpu[0] ? "; " : "", m->gpu);
  for (int i = 0; i < head->peer_count; i++)
    printf("%s: %s %s\n", head->peers[i].name, head->peers[i].version, head->peers[i].path);
  puts("GFLOP/s of the median call, % of measured FMA peak (GPU: of units x clock); \"gpu+copy\" "
       "has "
       "host operands");
  printf("%-22s %-3s %-3s %6s %6s %6s %3s", "shape", "typ", "ops", "m", "n", "k", "thr");
  for (int i = 0; i < head->column_count; i++) {
    char name[16];
    snprintf(name, sizeof name, "%.13s", head->columns[i].engine);
    if (!head->best_peer || !is_peer_column(head, i)) printf(" %13s", name);
  }
  if (head->best_peer) printf(" %13s %8s %-14s", "best peer", "/best", "which");
  if (head->show_bound) printf(" %16s", "share of bound");
  for (int i = 0; i < head->peer_count && !head->best_peer; i++) {
    char name[16];
    snprintf(name, sizeof name, "/%.9s", head->peers[i].name);
    printf(" %10s", name);
  }
  if (has_both_engines(head)) printf(" %9s %4s", "gpu/cpu", "auto");
  puts("  kernel");
  fflush(stdout);
}

/* The number of the note with this text. */
static int note(struct xgb_notes *notes, const struct xgb_result *r)
{
  char text[XGB_NAME + XGB_REASON + 2];
  snprintf(text, sizeof text, "%s: %s", r->engine, r->reason);
  for (int i = 0; i < notes->count; i++)
    if (strcmp(notes->text[i], text) == 0) return i + 1;
  if (notes->count == (int)(sizeof notes->text / sizeof *notes->text)) return notes->count;
  memcpy(notes->text[notes->count++], text, sizeof text);
  return notes->count;
}

static void print_cell(const struct xgb_row *row, const struct xgb_result *r,
                       struct xgb_notes *notes)
{
  char cell[32];
  if (r->status == XGB_GOOD) {
    double rate = r->median > 0 ? xgb_flops(&row->c) / r->median : 0;
    if (r->peak > 0)
      snprintf(cell, sizeof cell, "%.1f %3.0f%%", 1e-9 * rate, 100 * rate / r->peak);
    else
      snprintf(cell, sizeof cell, "%.1f     ", 1e-9 * rate);
  } else {
    snprintf(cell, sizeof cell, "%s [%d]", r->status == XGB_WRONG ? "WRONG" : "-", note(notes, r));
  }
  printf(" %13s", cell);
}

static void print_ratio(double ratio, int width)
{
  if (ratio > 0)
    printf(" %*.2f", width, ratio);
  else
    printf(" %*s", width, "-");
}

/* Of our first contestant. */
static void print_bound(const struct xgb_row *row)
{
  const struct xgb_result *r = &row->results[0];
  char text[40] = "-";
  if (r->status == XGB_GOOD && r->bound > 0 && r->median > 0)
    snprintf(text, sizeof text, "%.0f%% %-6s", 100 * xgb_flops(&row->c) / r->median / r->bound,
             r->bound_by);
  printf(" %16s", text);
}

/* The peer that was picked, and where one gave a wrong result, that one. */
static void print_best(const struct xgb_head *head, const struct xgb_row *row,
                       struct xgb_notes *notes)
{
  const struct xgb_result *shown = row->best_peer ? xgb_find_result(row, row->best_peer) : NULL;
  for (int i = 0; i < row->count; i++)
    if (is_peer_column(head, i) && row->results[i].status == XGB_WRONG) shown = &row->results[i];
  if (!shown) {
    printf(" %13s %8s %-14s", "-", "-", "-");
    return;
  }
  print_cell(row, shown, notes);
  print_ratio(xgb_ratio(xgb_rival(row, shown), shown), 8);
  printf(" %-14.14s", shown->engine);
}

static void print_kernels(const struct xgb_row *row)
{
  const char *before = "";
  fputs(" ", stdout);
  for (int i = 0; i < row->count; i++) {
    const struct xgb_result *r = &row->results[i];
    if (r->status != XGB_GOOD || !r->kernel[0] || strcmp(r->kernel, before) == 0) continue;
    printf(" %s", r->kernel);
    before = r->kernel;
  }
}

void xgb_table_row(const struct xgb_head *head, const struct xgb_row *row, struct xgb_notes *notes)
{
  const struct xgb_case *c = &row->c;
  char threads[16] = "def";
  if (c->threads > 0) snprintf(threads, sizeof threads, "%d", c->threads);
  printf("%-22.22s %-3s %c%c%c %6lld %6lld %6lld %3s", c->name, xgb_type_name(c->type), c->transa,
         c->transb, c->row_major ? 'r' : 'c', (long long)c->m, (long long)c->n, (long long)c->k,
         threads);
  for (int i = 0; i < row->count; i++)
    if (!head->best_peer || !is_peer_column(head, i)) print_cell(row, &row->results[i], notes);
  if (head->best_peer) print_best(head, row, notes);
  if (head->show_bound) print_bound(row);
  for (int i = 0; i < row->count && !head->best_peer; i++)
    if (is_peer_column(head, i))
      print_ratio(xgb_ratio(xgb_rival(row, &row->results[i]), &row->results[i]), 10);
  if (has_both_engines(head)) {
    print_ratio(xgb_ratio(xgb_find_result(row, "gpu+copy"), xgb_find_result(row, "cpu")), 9);
    printf(" %4s", row->auto_takes);
  }
  print_kernels(row);
  if (c->remark[0]) printf("  | %s", c->remark);
  putchar('\n');
  fflush(stdout);
}

void xgb_table_end(const struct xgb_notes *notes)
{
  for (int i = 0; i < notes->count; i++) printf("[%d] %s\n", i + 1, notes->text[i]);
  fflush(stdout);
}
