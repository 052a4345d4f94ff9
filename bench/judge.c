/* The statistics of goals.tsv over the rows of a result file. */
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "goals.h"

/* ---------------------------------------------------------------- rows */

int xgb_goal_any(const char *field)
{
  return strcmp(field, "-") == 0 || strcmp(field, "any") == 0;
}

/* Is `word` one of the comma list? */
static int listed(const char *list, const char *word)
{
  size_t length = strlen(word);
  for (const char *p = list; p; p = strchr(p, ','), p += p != NULL)
    if (strncmp(p, word, length) == 0 && (p[length] == 0 || p[length] == ',')) return 1;
  return 0;
}

/* Does the name match one of the patterns, separated by commas? */
static int matches(const char *patterns, const char *name)
{
  char text[256];
  snprintf(text, sizeof text, "%s", patterns);
  for (char *save, *one = strtok_r(text, ",", &save); one; one = strtok_r(NULL, ",", &save))
    if (fnmatch(one, name, 0) == 0) return 1;
  return 0;
}

/* "max_ns:sq8" looks only at rows of that name, "spread:102?x*,204?x*" at those whose names match.
 */
static int concerns(const struct xgb_goal *g, const struct xgb_json *row)
{
  char threads[16];
  const char *pattern = strchr(g->statistic, ':');
  snprintf(threads, sizeof threads, "%.0f", xgb_json_number(row, "threads"));
  return (xgb_goal_any(g->type) || listed(g->type, xgb_json_text(row, "type"))) &&
         (xgb_goal_any(g->threads) || listed(g->threads, threads)) &&
         (!pattern || matches(pattern + 1, xgb_json_text(row, "name")));
}

static const struct xgb_json *find_engine(const struct xgb_json *row, const char *engine)
{
  const struct xgb_json *results = xgb_json_get(row, "results");
  for (int i = 0; results && i < results->count; i++)
    if (strcmp(xgb_json_text(&results->items[i], "engine"), engine) == 0) return &results->items[i];
  return NULL;
}

/* The engine's result if it has a time, else NULL. Peer "best" is the one that was picked. */
static const struct xgb_json *good_result(const struct xgb_json *row, const char *engine)
{
  if (strcmp(engine, "best") == 0) engine = xgb_json_text(row, "best_peer");
  const struct xgb_json *r = find_engine(row, engine);
  return r && strcmp(xgb_json_text(r, "status"), "good") == 0 ? r : NULL;
}

/* ---------------------------------------------------------------- statistics */

enum combine { SMALLEST, LARGEST, MEAN, SPREAD, BEHIND, LAG, COUNT, NEAR };

/* What a value is made of. */
struct values {
  const struct xgb_json *row, *own, *peer; /* peer: NULL if there is none */
};

/* Back to back; of a peer with several entries that of the fastest. */
static double eager(const struct xgb_json *r)
{
  double other = xgb_json_number(r, "eager_s");
  return other > 0 ? other : xgb_json_number(r, "median_s");
}

static double graph(const struct xgb_json *r)
{
  return xgb_json_number(r, "graph_s");
}

/* Of short calls on a card, within a graph. */
static double seconds(const struct xgb_json *r)
{
  return graph(r) > 0 ? graph(r) : eager(r);
}

static double ratio_of(struct values v)
{
  if (!v.peer) return NAN;
  return graph(v.own) > 0 && graph(v.peer) > 0 ? graph(v.peer) / graph(v.own)
                                               : eager(v.peer) / eager(v.own);
}

static double eager_of(struct values v)
{
  return v.peer ? eager(v.peer) / eager(v.own) : NAN;
}

static double ns_of(struct values v)
{
  return 1e9 * seconds(v.own);
}

static double us_of(struct values v)
{
  return 1e6 * seconds(v.own);
}

static double percent_of(struct values v)
{
  return 100 * xgb_json_number(v.own, "gflops") / xgb_json_number(v.own, "peak_gflops");
}

static double share_of(struct values v)
{
  return 100 * xgb_json_number(v.own, "gflops") /
         xgb_json_number(xgb_json_get(v.own, "bound"), "gflops");
}

/* The floor of memory-bound products over our time, with the bytes at 0.88 and 0.92 of the copy
 * bandwidth. */
static double floor88_of(struct values v)
{
  return 100 * xgb_json_number(xgb_json_get(v.own, "memory_floor"), "share88");
}

static double floor92_of(struct values v)
{
  return 100 * xgb_json_number(xgb_json_get(v.own, "memory_floor"), "share92");
}

static double choice_of(struct values v)
{
  return xgb_json_number(xgb_json_get(v.row, "choice"), "ratio");
}

static double rate_of(struct values v)
{
  return xgb_json_number(v.own, "gflops");
}

/* Our error over the peer's; where both are exact, or the peer's type has no error, 1. */
static double error_of(struct values v)
{
  if (!v.peer) return NAN;
  double ours = xgb_json_number(v.own, "rms_error"), theirs = xgb_json_number(v.peer, "rms_error");
  return ours == 0 && theirs == 0 ? 1 : ours / theirs;
}

static const struct statistic {
  const char *name;
  enum combine combine;
  double (*value)(struct values v);
} statistics[] = {
    {"min_ratio", SMALLEST, ratio_of},
    {"geomean", MEAN, ratio_of},
    {"min_eager", SMALLEST, eager_of},
    {"eager_geomean", MEAN, eager_of},
    {"min_floor88", SMALLEST, floor88_of},
    {"min_floor92", SMALLEST, floor92_of},
    {"choice", NEAR, choice_of},
    {"max_ns", LARGEST, ns_of},
    {"max_us", LARGEST, us_of},
    {"min_percent", SMALLEST, percent_of},
    {"min_share", SMALLEST, share_of},
    {"spread", SPREAD, rate_of},
    {"behind", BEHIND, rate_of},
    {"lag", LAG, rate_of},
    {"max_error", LARGEST, error_of},
    {"mean_error", MEAN, error_of},
    {"different", COUNT, NULL},
};

static const struct statistic *find_statistic(const char *text)
{
  size_t length = strcspn(text, ":");
  for (size_t i = 0; i < sizeof statistics / sizeof *statistics; i++)
    if (strlen(statistics[i].name) == length && strncmp(statistics[i].name, text, length) == 0)
      return &statistics[i];
  return NULL;
}

/* What one row gives; NAN if it has no good result. */
static double row_value(const struct xgb_goal *g, const struct statistic *s,
                        const struct xgb_json *row)
{
  if (s->combine == COUNT) { /* of bench --bits */
    const char *bits = xgb_json_text(row, "bits");
    return strcmp(bits, "equal") == 0 ? 0 : strcmp(bits, "different") == 0 ? 1 : NAN;
  }
  const struct xgb_json *own = good_result(row, g->engine);
  if (!own) return NAN;
  double value =
      s->value((struct values){row, own, xgb_goal_any(g->peer) ? NULL : good_result(row, g->peer)});
  return isfinite(value) && value > 0 ? value : NAN;
}

/* ---------------------------------------------------------------- tallies */

struct tally {
  double value;
  int rows, bad, near;                 /* near: at most 1.05 */
  double logs, total, low, high, head; /* head: of the first row */
  char where[128];
};

static void name_row(struct tally *t, const struct xgb_json *row)
{
  snprintf(t->where, sizeof t->where, "%s %s%s %s, %.0f threads", xgb_json_text(row, "name"),
           xgb_json_text(row, "transa"), xgb_json_text(row, "transb"), xgb_json_text(row, "type"),
           xgb_json_number(row, "threads"));
}

static int in_groups(const struct statistic *s)
{
  return s->combine == SPREAD || s->combine == BEHIND || s->combine == LAG;
}

/* The row that is named is the worst. */
static void take(struct tally *t, const struct statistic *s, double value,
                 const struct xgb_json *row)
{
  int first = t->rows == t->bad;
  t->rows++;
  t->bad += isnan(value);
  if (isnan(value)) return;
  int low_is_bad =
      s->combine == SMALLEST || in_groups(s) || s->value == ratio_of || s->value == eager_of;
  int worse = first || (low_is_bad ? value < t->low : value > t->high);
  t->head = first ? value : t->head;
  t->low = first || value < t->low ? value : t->low;
  t->high = first || value > t->high ? value : t->high;
  t->logs += s->combine == MEAN ? log(value) : 0;
  t->total += value;
  t->near += value <= 1.05;
  if (worse) name_row(t, row);
}

static void conclude(struct tally *t, const struct statistic *s)
{
  int good = t->rows - t->bad;
  if (good == 0) return;
  t->value = s->combine == SMALLEST  ? t->low
             : s->combine == LARGEST ? t->high
             : s->combine == MEAN    ? exp(t->logs / good)
             : s->combine == SPREAD  ? 100 * (t->high / t->low - 1)
             : s->combine == BEHIND  ? 100 * (t->high / t->head - 1)
             : s->combine == LAG     ? 100 * (t->head / t->low - 1)
             : s->combine == NEAR    ? 100.0 * t->near / good
                                     : t->total;
}

/* Rows of one type and thread count, all if `like` is NULL. */
static void tally_rows(const struct xgb_goal *g, const struct statistic *s,
                       const struct xgb_json *rows, const struct xgb_json *like, struct tally *t)
{
  for (int i = 0; i < rows->count; i++) {
    const struct xgb_json *row = &rows->items[i];
    if (like && (strcmp(xgb_json_text(row, "type"), xgb_json_text(like, "type")) != 0 ||
                 xgb_json_number(row, "threads") != xgb_json_number(like, "threads")))
      continue;
    if (concerns(g, row)) take(t, s, row_value(g, s, row), row);
  }
  conclude(t, s);
}

/* A spread, or how far the first row is behind, is that of rows of one type and thread count: the
 * widest of those. */
static void tally_file(const struct xgb_goal *g, const struct statistic *s,
                       const struct xgb_json *file, struct tally *t)
{
  const struct xgb_json *rows = xgb_json_get(file, "rows");
  if (!rows) return;
  if (!in_groups(s)) {
    tally_rows(g, s, rows, NULL, t);
    return;
  }
  int bad = 0, all = 0;
  for (int i = 0; i < rows->count; i++) {
    struct tally group = {0};
    if (!concerns(g, &rows->items[i])) continue;
    tally_rows(g, s, rows, &rows->items[i], &group);
    all++;
    bad += isnan(row_value(g, s, &rows->items[i]));
    if (all == 1 || group.value > t->value) *t = group;
  }
  t->rows = all, t->bad = bad;
}

/* ---------------------------------------------------------------- the verdict */

int xgb_goal_fits(const struct xgb_goal *g, const struct xgb_json *file)
{
  const struct xgb_json *machine = xgb_json_get(file, "machine");
  return xgb_goal_any(g->machine) || strcmp(xgb_json_text(machine, "isa"), g->machine) == 0 ||
         strstr(xgb_json_text(machine, "cpu"), g->machine) ||
         strstr(xgb_json_text(machine, "gpu"), g->machine);
}

/* ">=0.90", "<=3" or "<100" */
static int meets(const char *bound, double value)
{
  if (strncmp(bound, ">=", 2) == 0) return value >= atof(bound + 2);
  if (strncmp(bound, "<=", 2) == 0) return value <= atof(bound + 2);
  return bound[0] == '<' && value < atof(bound + 1);
}

enum xgb_verdict xgb_goal_judge(const struct xgb_goal *g, const struct xgb_json *file,
                                const char *name)
{
  struct tally t = {0};
  const struct statistic *s = find_statistic(g->statistic);
  if (!s) {
    printf("FAIL  %-22s there is no statistic \"%s\"\n", g->id, g->statistic);
    return XGB_GOAL_FAIL;
  }
  int complete = xgb_json_number(file, "complete") != 0;
  tally_file(g, s, file, &t);
  int informative = strcmp(g->bound, "info") == 0;
  int met = t.rows > 0 && t.bad == 0 && complete && meets(g->bound, t.value);
  printf("%-5s %-22s %-12s %8.3g %-7s %s",
         informative ? "info"
         : met       ? "pass"
                     : "FAIL",
         g->id, g->statistic, t.value, informative ? "" : g->bound, name);
  if (t.where[0]) printf(" (worst %s of %d rows)", t.where, t.rows);
  if (t.rows == 0) printf(" (no such rows)");
  if (t.bad > 0) printf("; %d rows without a good result", t.bad);
  if (!complete) printf("; the file is not complete");
  putchar('\n');
  return informative ? XGB_GOAL_INFORMATIVE : met ? XGB_GOAL_PASS : XGB_GOAL_FAIL;
}
