#include "summary.h"

#include <math.h>
#include <string.h>

#include "contest.h"
#include "report.h"

static struct xgb_group *find(struct xgb_summary *s, const char *own, const char *peer,
                              const struct xgb_case *c)
{
  enum { MOST = sizeof s->groups / sizeof *s->groups };
  int threads = xgb_case_threads(c);
  for (int i = 0; i < s->count; i++) {
    struct xgb_group *g = &s->groups[i];
    if (g->type == c->type && g->threads == threads && strcmp(g->own, own) == 0 &&
        strcmp(g->peer, peer) == 0)
      return g;
  }
  if (s->count == MOST) return NULL;
  struct xgb_group *g = &s->groups[s->count++];
  *g = (struct xgb_group){.type = c->type, .threads = threads};
  snprintf(g->own, sizeof g->own, "%s", own);
  snprintf(g->peer, sizeof g->peer, "%s", peer);
  return g;
}

static void name_row(char *text, size_t size, const struct xgb_case *c)
{
  snprintf(text, size, "%s %c%c %lldx%lldx%lld", c->name, c->transa, c->transb, (long long)c->m,
           (long long)c->n, (long long)c->k);
}

static void add_choice(struct xgb_choices *x, const struct xgb_row *row)
{
  const double near = 1.05;
  char name[XGB_NAME + 48];
  if (row->choice <= 0) return;
  x->rows++;
  x->near += row->choice <= near;
  if (row->choice <= x->worst) return;
  x->worst = row->choice;
  name_row(name, sizeof name, &row->c);
  snprintf(x->worst_row, sizeof x->worst_row, "%s: %s, best %s", name, row->chosen,
           row->best_kernel);
}

static void add_eager(struct xgb_group *g, double ratio)
{
  if (ratio <= 0) return;
  g->eager_logs += log(ratio);
  if (g->eager_rows++ == 0 || ratio < g->eager_worst) g->eager_worst = ratio;
}

void xgb_summary_add(struct xgb_summary *s, const struct xgb_row *row)
{
  const struct xgb_case *c = &row->c;
  add_choice(&s->choices[c->type == XGEMM_F64], row);
  for (int o = 0; o < row->count; o++)
    for (int p = 0; p < row->count; p++) {
      const struct xgb_result *own = &row->results[o], *peer = &row->results[p];
      double ratio = xgb_ratio(own, peer);
      if (strcmp(own->backend, "peer") == 0 || strcmp(peer->backend, "peer") != 0 || ratio <= 0 ||
          own->candidate)
        continue;
      int kernel = strstr(peer->engine, "+kernel") != NULL;
      if (kernel != (strcmp(own->engine, "cpu+plan") == 0)) continue;
      struct xgb_group *g =
          find(s, own->engine, row->best_peer && !kernel ? "best" : peer->engine, c);
      if (!g) continue;
      g->logs += log(ratio);
      g->under += ratio < s->threshold;
      if (g->rows++ == 0 || ratio < g->worst) {
        g->worst = ratio;
        name_row(g->worst_row, sizeof g->worst_row, c);
      }
      add_eager(g, xgb_eager_ratio(own, peer));
    }
}

double xgb_group_mean(const struct xgb_group *g)
{
  return g->rows > 0 ? exp(g->logs / g->rows) : 0;
}

void xgb_summary_tell(const struct xgb_summary *s)
{
  for (int i = 0; i < s->count; i++) {
    const struct xgb_group *g = &s->groups[i];
    printf("%s / %s, %s, %d thread%s: geomean %.3f of %d rows, %d under %.2f, worst %.3f (%s)\n",
           g->own, g->peer, xgb_type_name(g->type), g->threads, g->threads == 1 ? "" : "s",
           xgb_group_mean(g), g->rows, g->under, s->threshold, g->worst, g->worst_row);
    if (g->eager_rows > 0)
      printf("  calls back to back instead of graphs: geomean %.3f of %d rows, worst %.3f\n",
             exp(g->eager_logs / g->eager_rows), g->eager_rows, g->eager_worst);
  }
  for (int i = 0; i < 2; i++) {
    const struct xgb_choices *x = &s->choices[i];
    if (x->rows > 0)
      printf("kernels, %s: chosen / best legal <= 1.05 for %.1f %% of %d rows, worst %.3f (%s)\n",
             xgb_type_name(i ? XGEMM_F64 : XGEMM_F32), 100.0 * x->near / x->rows, x->rows, x->worst,
             x->worst_row);
  }
}

static void choices_json(FILE *file, const struct xgb_summary *s)
{
  int count = 0;
  if (s->choices[0].rows + s->choices[1].rows == 0) return;
  fputs("  \"choices\": [", file);
  for (int i = 0; i < 2; i++) {
    const struct xgb_choices *x = &s->choices[i];
    if (x->rows == 0) continue;
    fprintf(
        file,
        "%s\n    {\"type\": \"%s\", \"rows\": %d, \"within\": 1.05, \"percent\": %.2f, \"worst\": "
        "%.4f, \"worst_row\": ",
        count++ ? "," : "", xgb_type_name(i ? XGEMM_F64 : XGEMM_F32), x->rows,
        100.0 * x->near / x->rows, x->worst);
    xgb_json_string(file, x->worst_row);
    fputs("}", file);
  }
  fputs("],\n", file);
}

void xgb_summary_json(FILE *file, const struct xgb_summary *s)
{
  fputs("  \"summary\": [", file);
  for (int i = 0; i < s->count; i++) {
    const struct xgb_group *g = &s->groups[i];
    fprintf(file, "%s\n    {\"own\": ", i ? "," : "");
    xgb_json_string(file, g->own);
    fputs(", \"peer\": ", file);
    xgb_json_string(file, g->peer);
    fprintf(file,
            ", \"type\": \"%s\", \"threads\": %d, \"rows\": %d, \"geomean\": %.4f, \"threshold\": "
            "%g, \"under\": %d, \"worst\": %.4f, \"worst_row\": ",
            xgb_type_name(g->type), g->threads, g->rows, xgb_group_mean(g), s->threshold, g->under,
            g->worst);
    xgb_json_string(file, g->worst_row);
    if (g->eager_rows > 0)
      fprintf(file, ", \"eager\": {\"rows\": %d, \"geomean\": %.4f, \"worst\": %.4f}",
              g->eager_rows, exp(g->eager_logs / g->eager_rows), g->eager_worst);
    fputs("}", file);
  }
  fputs("],\n", file);
  choices_json(file, s);
}
