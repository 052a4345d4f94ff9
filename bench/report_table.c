#include <string.h>

#include "report.h"

/* name type ops m n k thr | GFLOP/s and share of peak for each contestant | ratios | of our engine
 * on the card: microseconds, eager ratio, GB/s, share of the floor, chosen over best kernel | auto
 * | kernel */

static int has_engine(const struct xgb_head *head, const char *name)
{
  for (int i = 0; i < head->column_count; i++)
    if (strcmp(head->columns[i].engine, name) == 0) return 1;
  return 0;
}

static int has_both_engines(const struct xgb_head *head)
{
  return has_engine(head, "cpu") && has_engine(head, "gpu");
}

static int has_candidates(const struct xgb_head *head)
{
  int found = 0;
  for (int i = 0; i < head->column_count; i++) found |= head->columns[i].candidate;
  return found;
}

static int is_peer_column(const struct xgb_head *head, int i)
{
  for (int p = 0; p < head->peer_count; p++)
    if (strcmp(head->columns[i].engine, head->peers[p].name) == 0) return 1;
  return 0;
}

/* Candidates are summed up in a column, the slower peers in one too. */
static int has_column(const struct xgb_head *head, int i)
{
  return !head->columns[i].candidate && (!head->best_peer || !is_peer_column(head, i));
}

void xgb_table_begin(const struct xgb_head *head)
{
  const struct xgb_machine *m = &head->machine;
  printf("libxgemm %s on %s, %d cores, %s%s%s\n", head->version, m->cpu, m->cores, m->isa,
         m->gpu[0] ? "; " : "", m->gpu);
  for (int i = 0; i < head->peer_count; i++)
    printf("%s: %s %s\n", head->peers[i].name, head->peers[i].version, head->peers[i].path);
  puts("GFLOP/s of the median call, % of measured FMA peak (GPU: of units x clock; calls under 50 "
       "us "
       "in a graph); \"gpu+copy\" has host operands");
  printf("%-22s %-3s %-3s %6s %6s %6s %3s", "shape", "typ", "ops", "m", "n", "k", "thr");
  for (int i = 0; i < head->column_count; i++) {
    char name[16];
    snprintf(name, sizeof name, "%.13s", head->columns[i].engine);
    if (has_column(head, i)) printf(" %13s", name);
  }
  if (head->best_peer) printf(" %13s %8s %-14s", "best peer", "/best", "which");
  if (head->show_bound) printf(" %16s", "share of bound");
  for (int i = 0; i < head->peer_count && !head->best_peer; i++) {
    char name[16];
    snprintf(name, sizeof name, "/%.9s", head->peers[i].name);
    printf(" %10s", name);
  }
  if (head->copy_rate > 0) printf(" %9s %6s %6s %6s", "us", "eager", "GB/s", "floor");
  if (has_candidates(head)) printf(" %6s", "/best");
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
    double rate = r->median > 0 ? xgb_flops(&row->c) / xgb_judged(r) : 0;
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

/* Of our first contestant with operands on the card. The floor: 4 us and the bytes at 0.92 of the
 * copy bandwidth. */
static void print_card(const struct xgb_head *head, const struct xgb_row *row)
{
  const struct xgb_result *r = NULL, *peer = NULL;
  char floor[16] = "-";
  for (int i = row->count - 1; i >= 0; i--) {
    const struct xgb_result *x = &row->results[i];
    if (x->copy_rate <= 0 || x->candidate || x->status != XGB_GOOD || x->median <= 0) continue;
    if (is_peer_column(head, i))
      peer = x;
    else
      r = x;
  }
  if (!r) {
    printf(" %9s %6s %6s %6s", "-", "-", "-", "-");
    return;
  }
  double time = xgb_judged(r), least = xgb_memory_floor(&row->c, r, 0.92);
  if (least > 0) snprintf(floor, sizeof floor, "%.0f%%", 100 * least / time);
  printf(" %9.2f", 1e6 * time);
  print_ratio(peer ? xgb_eager_ratio(r, peer) : 0, 6);
  printf(" %6.0f %6s", 1e-9 * xgb_ideal_bytes(&row->c) / time, floor);
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
    if (r->candidate || r->status != XGB_GOOD || !r->kernel[0] || strcmp(r->kernel, before) == 0)
      continue;
    printf(" %s", r->kernel);
    before = r->kernel;
  }
  if (row->choice > 0 && strcmp(row->chosen, row->best_kernel) != 0)
    printf("; best %s", row->best_kernel);
  for (int i = 0; i < row->count; i++)
    if (row->results[i].candidate && row->results[i].status == XGB_WRONG)
      printf("; %s is WRONG: %s", row->results[i].kernel, row->results[i].reason);
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
    if (has_column(head, i)) print_cell(row, &row->results[i], notes);
  if (head->best_peer) print_best(head, row, notes);
  if (head->show_bound) print_bound(row);
  for (int i = 0; i < row->count && !head->best_peer; i++)
    if (is_peer_column(head, i))
      print_ratio(xgb_ratio(xgb_rival(row, &row->results[i]), &row->results[i]), 10);
  if (head->copy_rate > 0) print_card(head, row);
  if (has_candidates(head)) print_ratio(row->choice, 6);
  if (has_both_engines(head)) {
    print_ratio(xgb_ratio(xgb_find_result(row, "gpu+copy"), xgb_find_result(row, "cpu")), 9);
    printf(" %4s", row->auto_takes);
  }
  print_kernels(row);
  int64_t contiguous = c->row_major ? c->n : c->m;
  if (c->ldc > contiguous) printf("; ld +%lld", (long long)(c->ldc - contiguous));
  if (c->remark[0]) printf("  | %s", c->remark);
  putchar('\n');
  fflush(stdout);
}

void xgb_table_end(const struct xgb_notes *notes)
{
  for (int i = 0; i < notes->count; i++) printf("[%d] %s\n", i + 1, notes->text[i]);
  fflush(stdout);
}
