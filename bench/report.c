/* Ratios between contestants, and the crossover of CPU and GPU. */
#include "report.h"

#include <stdlib.h>
#include <string.h>

void xgb_head_fill(struct xgb_head *head, int gpu)
{
  xgb_machine_read(&head->machine, gpu);
  xgb_version(head->version, sizeof head->version);
  xgb_date(head->date, sizeof head->date);
}

static int comparable(const struct xgb_result *own, const struct xgb_result *other)
{
  return own && other && own->status == XGB_GOOD && other->status == XGB_GOOD && own->median > 0;
}

double xgb_ratio(const struct xgb_result *own, const struct xgb_result *other)
{
  if (!comparable(own, other)) return 0;
  return own->graph > 0 && other->graph > 0 ? other->graph / own->graph
                                            : other->median / own->median;
}

double xgb_eager_ratio(const struct xgb_result *own, const struct xgb_result *other)
{
  if (!comparable(own, other) || own->graph <= 0 || other->graph <= 0) return 0;
  return other->eager / own->eager;
}

double xgb_memory_floor(const struct xgb_case *c, const struct xgb_result *r, double share)
{
  const double launch = 4e-6;
  double bytes = xgb_ideal_bytes(c);
  if (r->copy_rate <= 0 || r->peak <= 0) return 0;
  if (xgb_flops(c) / r->peak > bytes / r->copy_rate) return 0;
  return launch + bytes / (share * r->copy_rate);
}

const struct xgb_result *xgb_find_result(const struct xgb_row *row, const char *engine)
{
  for (int i = 0; i < row->count; i++)
    if (strcmp(row->results[i].engine, engine) == 0) return &row->results[i];
  return NULL;
}

static int is_peer(const struct xgb_result *r)
{
  return strcmp(r->backend, "peer") == 0;
}

const struct xgb_result *xgb_rival(const struct xgb_row *row, const struct xgb_result *peer)
{
  const struct xgb_result *device = xgb_find_result(row, "gpu");
  if (strstr(peer->engine, "+kernel")) return xgb_find_result(row, "cpu+plan");
  if (strcmp(peer->engine, "cublas") == 0 && device) return device;
  for (int i = 0; i < row->count; i++)
    if (!is_peer(&row->results[i]) && row->results[i].status == XGB_GOOD &&
        &row->results[i] != device)
      return &row->results[i];
  return NULL;
}

/* ---------------------------------------------------------------- crossover */

void xgb_crossings_add(struct xgb_crossings *x, const struct xgb_row *row)
{
  double ratio = xgb_ratio(xgb_find_result(row, "gpu+copy"), xgb_find_result(row, "cpu"));
  if (ratio <= 0) return;
  if (x->count == x->room) {
    int room = x->room ? 2 * x->room : 64;
    struct xgb_crossing *list = realloc(x->list, (size_t)room * sizeof *list);
    if (!list) return;
    x->list = list, x->room = room;
  }
  struct xgb_crossing *c = &x->list[x->count++];
  memcpy(c->name, row->c.name, sizeof c->name);
  c->type = row->c.type, c->threads = row->c.threads;
  c->flops = xgb_flops(&row->c);
  c->gpu_wins = ratio > 1;
  c->auto_gpu = strcmp(row->auto_takes, "gpu") == 0;
}

static int by_kind_and_size(const void *a, const void *b)
{
  const struct xgb_crossing *x = a, *y = b;
  if (x->type != y->type) return x->type < y->type ? -1 : 1;
  if (x->threads != y->threads) return x->threads < y->threads ? -1 : 1;
  return (x->flops > y->flops) - (x->flops < y->flops);
}

/* The name of the smallest shape from which on all larger ones have the property. */
static const char *from_where(const struct xgb_crossing *list, int count, int measured)
{
  int first = count;
  while (first > 0 && (measured ? list[first - 1].gpu_wins : list[first - 1].auto_gpu)) first--;
  return first < count ? list[first].name : "none of these shapes";
}

int xgb_crossings_tell(struct xgb_crossings *x, char (*text)[256], int most)
{
  int told = 0;
  if (x->count > 0) qsort(x->list, (size_t)x->count, sizeof *x->list, by_kind_and_size);
  for (int i = 0, end; i < x->count && told < most; i = end) {
    const struct xgb_crossing *first = &x->list[i];
    for (end = i; end < x->count && x->list[end].type == first->type &&
                  x->list[end].threads == first->threads;)
      end++;
    char threads[32] = "default";
    if (first->threads > 0) snprintf(threads, sizeof threads, "%d", first->threads);
    snprintf(text[told++], sizeof text[0],
             "crossover %s, %s threads: the GPU with transfers is faster from %s on; AUTO takes it "
             "from %s on",
             xgb_type_name(first->type), threads, from_where(first, end - i, 1),
             from_where(first, end - i, 0));
  }
  return told;
}

void xgb_crossings_free(struct xgb_crossings *x)
{
  free(x->list);
  *x = (struct xgb_crossings){0};
}
