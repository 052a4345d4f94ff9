#include "card.h"

#include "device.h"
#include "timing.h"

enum { GRAPH_CALLS = 20 };

double xgb_card_time(struct xgb_turns *t, const struct xgb_card_work *work, long calls)
{
  *work->first = t->next;
  t->next = (t->next + calls) % t->o->sets;
  if (!t->o->cold && xgb_device_flush()) return -1;
  return xgb_device_time(work->call, work->context, calls);
}

/* The first call of a sample also waits for its launch: that must not count for much where no graph
 * tells better. No set is taken twice while it may be in the L2. */
long xgb_card_calls(const struct xgb_turns *t, double once)
{
  const double enough = once < XGB_SHORT_CALL ? 0.5e-3 : 2e-3;
  long calls = (long)(enough / (once + 1e-7)) + 1;
  if (once < XGB_SHORT_CALL && calls < GRAPH_CALLS) calls = GRAPH_CALLS;
  return t->o->cold || calls < t->o->sets ? calls : t->o->sets;
}

/* The first call loads the kernel; the second may still wait for its launch. */
double xgb_card_calibrate(struct xgb_turns *t, const struct xgb_card_work *work, long *calls)
{
  double seconds = xgb_card_time(t, work, *calls = 1);
  for (int round = 0; round < 3 && seconds >= 0; round++) {
    if (round > 0 && seconds >= XGB_LONG_CALL) break;
    if (round > 0) *calls = xgb_card_calls(t, seconds);
    seconds = xgb_card_time(t, work, *calls) / (double)*calls;
  }
  return seconds;
}

static long graph_calls(const struct xgb_turns *t)
{
  return (GRAPH_CALLS + t->o->sets - 1) / t->o->sets * t->o->sets;
}

void *xgb_card_capture(struct xgb_turns *t, const struct xgb_card_work *work)
{
  *work->first = 0;
  return xgb_device_capture(work->call, work->context, graph_calls(t));
}

double xgb_card_replay(struct xgb_turns *t, void *graph)
{
  if (!t->o->cold && xgb_device_flush()) return -1;
  return xgb_device_replay(graph) / (double)graph_calls(t);
}

struct xgb_card_work xgb_card_work_of(struct xgb_contestant *x)
{
  return (struct xgb_card_work){xgb_contestant_call, x, &x->first};
}

/* ---------------------------------------------------------------- entries */

enum { ENTRIES = XGB_CUBLAS_ENTRIES, SAMPLES = 5 };

struct entry {
  double once, eager[SAMPLES], replays[SAMPLES];
  long calls;
  void *graph;
  int failed;
};

static void sample(struct xgb_turns *t, const struct xgb_card_work *work, struct entry *e, int i)
{
  e->eager[i] =
      e->once < XGB_LONG_CALL ? xgb_card_time(t, work, e->calls) / (double)e->calls : e->once;
  e->replays[i] = e->graph ? xgb_card_replay(t, e->graph) : 0;
  e->failed = e->eager[i] < 0 || e->replays[i] < 0;
}

void xgb_card_pick_entry(struct xgb_turns *t, struct xgb_contestant *x, struct xgb_result *r)
{
  struct entry entries[ENTRIES] = {{0}};
  struct xgb_card_work work = xgb_card_work_of(x);
  int brief = 0, winner = 0;
  double best = 0;
  if (x->kind != XGB_CUBLAS) return;
  for (int e = 0; e < ENTRIES; e++) {
    xgb_contestant_enter_by(x, e, r);
    entries[e].once = xgb_card_calibrate(t, &work, &entries[e].calls);
    entries[e].failed = entries[e].once < 0;
    brief |= !entries[e].failed && entries[e].once < XGB_SHORT_CALL;
  }
  for (int e = 0; e < ENTRIES && brief; e++) {
    xgb_contestant_enter_by(x, e, r);
    if (!entries[e].failed) entries[e].failed = !(entries[e].graph = xgb_card_capture(t, &work));
  }
  for (int turn = 0; turn < SAMPLES * ENTRIES; turn++) {
    struct entry *entry = &entries[turn % ENTRIES];
    xgb_contestant_enter_by(x, turn % ENTRIES, r);
    if (!entry->failed) sample(t, &work, entry, turn / ENTRIES);
  }
  for (int e = 0; e < ENTRIES; e++) {
    xgb_device_graph_free(entries[e].graph);
    if (entries[e].failed) continue;
    double eager = xgb_median(entries[e].eager, SAMPLES);
    double judged = brief ? xgb_median(entries[e].replays, SAMPLES) : eager;
    if (best == 0 || judged < best) best = judged, winner = e, r->eager = eager;
  }
  xgb_contestant_enter_by(x, winner, r);
}
