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

void xgb_summary_add(struct xgb_summary *s, const struct xgb_row *row)
{
  const struct xgb_case *c = &row->c;
  for (int o = 0; o < row->count; o++)
    for (int p = 0; p < row->count; p++) {
      const struct xgb_result *own = &row->results[o], *peer = &row->results[p];
      double ratio = xgb_ratio(own, peer);
      if (strcmp(own->backend, "peer") == 0 || strcmp(peer->backend, "peer") != 0 || ratio <= 0)
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
        snprintf(g->worst_row, sizeof g->worst_row, "%s %c%c %lldx%lldx%lld", c->name, c->transa,
                 c->transb, (long long)c->m, (long long)c->n, (long long)c->k);
      }
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
  }
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
    fputs("}", file);
  }
  fputs("],\n", file);
}
