#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "card.h"
#include "device.h"
#include "peaks.h"
#include "timing.h"
#include "verify.h"

/* A sample shorter than this is stretched by repeating the call; longer where each sample has to
 * wait for threads to settle. */
static const double sample_seconds = 50e-6, threaded_sample_seconds = 20e-3;
enum { MOST_SAMPLES = 10000 };

struct run {
  struct xgb_row *row;
  struct xgb_contestant *contestants;
  struct xgb_operands *o;
  const struct xgb_effort *effort;
  struct xgb_oracle *oracle;
  int threaded;           /* contestants leave spinning threads behind */
  struct xgb_turns turns; /* of the operands on the card */
  void *graphs[XGB_MAX_CONTESTANTS];
  double spent[XGB_MAX_CONTESTANTS];
  double once[XGB_MAX_CONTESTANTS]; /* seconds of a call, roughly */
};

static void fail(struct xgb_result *r, enum xgb_status status, const char *what)
{
  r->status = status;
  snprintf(r->reason, sizeof r->reason, "%s", what);
}

/* One call from a fresh C, checked. */
static void verify(struct run *run, int i)
{
  struct xgb_contestant *x = &run->contestants[i];
  struct xgb_result *r = &run->row->results[i];
  struct xgb_operands *o = run->o;
  int device = xgb_on_device(x);
  if (device && xgb_operands_reset_device(o, x->c)) {
    fail(r, XGB_UNSUPPORTED, xgb_device_error());
    return;
  }
  if (!device) xgb_operands_reset(o, x->c);
  xgb_contestant_enter(x);
  /* The time of a single call on the device also waits for it. */
  x->first = 0; /* the set that is reset and copied back */
  int bad = device ? xgb_device_time(xgb_contestant_call, x, 1) < 0 : xgb_contestant_call(x, 0);
  if (!bad && device) bad = xgb_device_download(o->c, o->c_device, o->c_bytes);
  if (bad) {
    const char *why = xgemm_last_reason();
    fail(r, XGB_UNSUPPORTED, why[0] ? why : device ? xgb_device_error() : "the call failed");
    return;
  }
  struct xgb_errors errors;
  if (xgb_oracle_check(run->oracle, o->c, &errors, r->reason, sizeof r->reason))
    r->status = XGB_WRONG;
  else
    r->status = XGB_GOOD;
  if (errors.worst > r->worst) r->worst = errors.worst;
  r->rms = errors.rms;
}

/* One sample back to back, one replay. Candidates are only compared with each other, by one of
 * both. */
static void take_device_sample(struct run *run, int i)
{
  struct xgb_contestant *x = &run->contestants[i];
  struct xgb_result *r = &run->row->results[i];
  double start = xgb_now();
  struct xgb_card_work work = xgb_card_work_of(x);
  int eager = !r->candidate || !run->graphs[i];
  double seconds = eager && run->once[i] < XGB_LONG_CALL ? xgb_card_time(&run->turns, &work, 1) : 0;
  if (seconds >= 0 && eager) seconds = xgb_card_time(&run->turns, &work, r->calls);
  double replay = run->graphs[i] && seconds >= 0 ? xgb_card_replay(&run->turns, run->graphs[i]) : 0;
  run->spent[i] += xgb_now() - start;
  if (seconds < 0 || replay < 0) {
    fail(r, XGB_UNSUPPORTED, "the call failed when it was repeated");
    return;
  }
  if (run->graphs[i]) r->replays[r->replay_count++] = replay;
  r->seconds[r->samples++] = eager ? seconds / (double)r->calls : run->once[i];
}

/* ---------------------------------------------------------------- samples */

/* Seconds of `calls` calls on the host; -1 on failure. */
static double measure(struct xgb_contestant *x, long calls)
{
  double start = xgb_sample_now();
  for (long i = 0; i < calls; i++)
    if (xgb_contestant_call(x, i)) return -1;
  return xgb_sample_now() - start;
}

/* How many calls make a sample long enough for the clock. What has got there must do it again: a
 * first call that wakes threads would pass for a long one. */
static void calibrate(struct run *run, int i)
{
  struct xgb_contestant *x = &run->contestants[i];
  struct xgb_result *r = &run->row->results[i];
  double seconds, enough = run->threaded ? threaded_sample_seconds : sample_seconds;
  if (xgb_on_device(x)) {
    struct xgb_card_work work = xgb_card_work_of(x);
    run->once[i] = xgb_card_calibrate(&run->turns, &work, &r->calls);
    if (run->once[i] < 0) fail(r, XGB_UNSUPPORTED, "the call failed when it was repeated");
    return;
  }
  for (r->calls = 1;; r->calls *= 2) {
    seconds = measure(x, r->calls);
    if (seconds >= enough && seconds < XGB_LONG_CALL) seconds = measure(x, r->calls);
    if (seconds < 0) {
      fail(r, XGB_UNSUPPORTED, "the call failed when it was repeated");
      return;
    }
    if (seconds >= enough || r->calls > 1000000) break;
  }
  run->once[i] = seconds / (double)r->calls;
}

/* |beta| > 1 would grow C beyond all bounds if it were used again and again. */
static void restore(struct run *run, const struct xgb_contestant *x)
{
  double beta = x->c->beta;
  if (beta > 1 || beta < -1) {
    if (xgb_on_device(x))
      xgb_operands_reset_device(run->o, x->c);
    else
      xgb_operands_reset(run->o, x->c);
  }
}

static void take_sample(struct run *run, int i)
{
  struct xgb_contestant *x = &run->contestants[i];
  struct xgb_result *r = &run->row->results[i];
  restore(run, x);
  if (xgb_on_device(x)) {
    take_device_sample(run, i);
    return;
  }
  if (run->threaded) xgb_settle();
  xgb_contestant_enter(x);
  /* The contestant before has filled the caches with its own code and buffers: a call to warm them
   * again, unless it would vanish in the time of the sample. */
  double start = xgb_now();
  double seconds =
      run->once[i] < XGB_LONG_CALL ? measure(x, run->threaded ? (r->calls + 1) / 2 : 1) : 0;
  if (seconds >= 0) seconds = measure(x, r->calls);
  if (seconds < 0) fail(r, XGB_UNSUPPORTED, "the call failed when it was repeated");
  run->spent[i] += xgb_now() - start;
  if (r->status == XGB_GOOD) r->seconds[r->samples++] = seconds / (double)r->calls;
}

/* ---------------------------------------------------------------- passes */

/* Contestants, a bit each. */
typedef uint64_t set;
enum { OURS = 1, PEERS = 2, HELD = 4 };

static set good_ones(const struct run *run, int parts)
{
  set found = 0;
  for (int i = 0; i < run->row->count; i++) {
    const struct xgb_result *r = &run->row->results[i];
    const struct xgb_contestant *x = &run->contestants[i];
    int is_peer = x->kind == XGB_PEER || x->kind == XGB_CUBLAS;
    if (r->status == XGB_GOOD && parts & (x->held ? HELD : is_peer ? PEERS : OURS))
      found |= (set)1 << i;
  }
  return found;
}

/* Does anyone need more samples? The slowest decides when to stop early. */
static int more(const struct run *run, set who, const struct xgb_effort *effort, int rounds)
{
  int wanted = 0;
  for (int i = 0; i < run->row->count; i++) {
    if (!(who >> i & 1) || run->row->results[i].status != XGB_GOOD) continue;
    if (rounds > 0 && run->spent[i] * (rounds + 1) / rounds > effort->max_time) return 0;
    if (rounds < effort->reps || run->spent[i] < effort->min_time) wanted = 1;
  }
  return wanted && rounds < MOST_SAMPLES;
}

/* If one contestant's calls are short, all whose operands are on the card are also timed as graphs:
 * the same way for all. */
static int get_graphs(struct run *run, set who)
{
  int brief = 0;
  for (int i = 0; i < run->row->count; i++)
    brief |= who >> i & 1 && run->row->results[i].status == XGB_GOOD &&
             xgb_on_device(&run->contestants[i]) && run->once[i] < XGB_SHORT_CALL;
  for (int i = 0; i < run->row->count && brief; i++) {
    struct xgb_contestant *x = &run->contestants[i];
    struct xgb_result *r = &run->row->results[i];
    if (!(who >> i & 1) || r->status != XGB_GOOD || !xgb_on_device(x) || run->graphs[i]) continue;
    if (!r->replays) r->replays = calloc(MOST_SAMPLES, sizeof *r->replays);
    if (!r->replays) return xgb_error("out of memory");
    struct xgb_card_work work = xgb_card_work_of(x);
    run->graphs[i] = xgb_card_capture(&run->turns, &work);
    if (!run->graphs[i])
      snprintf(r->reason, sizeof r->reason, "no CUDA graph: %.200s", xgb_device_error());
  }
  return 0;
}

/* Kernels that are far behind after a look are not timed any further. */
static void drop_slow_kernels(struct run *run, set who)
{
  double quickest = 1e300;
  for (int pass = 0; pass < 2; pass++)
    for (int i = 0; i < run->row->count; i++) {
      struct xgb_result *r = &run->row->results[i];
      if (!(who >> i & 1) || !r->candidate || r->status != XGB_GOOD) continue;
      if (pass == 0 && run->once[i] < quickest) quickest = run->once[i];
      if (pass == 0 || run->once[i] < XGB_SHORT_CALL || run->once[i] < 1.5 * quickest) continue;
      r->first_pass = run->once[i];
      r->status = XGB_SLOWER;
    }
}

static int get_ready(struct run *run, set who)
{
  for (int i = 0; i < run->row->count; i++) {
    struct xgb_result *r = &run->row->results[i];
    if (!(who >> i & 1)) continue;
    run->spent[i] = 0;
    r->samples = r->replay_count = 0;
    if (!r->seconds) r->seconds = calloc(MOST_SAMPLES, sizeof *r->seconds);
    if (!r->seconds) return xgb_error("out of memory");
    if (r->calls > 0) continue; /* from the first pass */
    if (run->threaded) xgb_settle();
    xgb_contestant_enter(&run->contestants[i]);
    calibrate(run, i);
  }
  drop_slow_kernels(run, who);
  return get_graphs(run, who);
}

static int sample_in_turn(struct run *run, set who, const struct xgb_effort *effort)
{
  int count = run->row->count;
  for (int round = 0; who && more(run, who, effort, round); round++)
    for (int i = 0; i < count; i++) {
      int turn = (i + round) % count;
      if (xgb_interrupted) return -1;
      if (who >> turn & 1 && run->row->results[turn].status == XGB_GOOD) take_sample(run, turn);
    }
  return 0;
}

static double median_of(const double *samples, int count)
{
  double *sorted = malloc((size_t)count * sizeof *sorted + 1), median;
  if (!sorted) return 0;
  memcpy(sorted, samples, (size_t)count * sizeof *sorted);
  median = xgb_median(sorted, count);
  free(sorted);
  return median;
}

static void summarise(struct xgb_result *r)
{
  if (r->status != XGB_GOOD || r->samples == 0) return;
  r->median = median_of(r->seconds, r->samples);
  r->best = xgb_smallest(r->seconds, r->samples);
  r->graph = r->replay_count > 0 ? median_of(r->replays, r->replay_count) : 0;
  if (r->eager <= 0 || r->median < r->eager) r->eager = r->median;
}

/* The first pass. A peer whose first sample takes half as long again as the quickest's is out at
 * once. Returns the peer that stays; 0 if there is none, and *bad if the row cannot go on. */
static set pick_peer(struct run *run, int *bad)
{
  static const struct xgb_effort brief = {.reps = 3, .min_time = 0.005, .max_time = 0.4};
  set peers = good_ones(run, PEERS), close = 0;
  double quickest = 1e300, best = 1e300;
  int found = -1;
  *bad = get_ready(run, peers);
  peers &= good_ones(run, PEERS);
  for (int i = 0; i < run->row->count; i++)
    if (peers >> i & 1 && run->once[i] < quickest) quickest = run->once[i];
  for (int i = 0; i < run->row->count; i++)
    if (peers >> i & 1 && run->once[i] <= 1.5 * quickest) close |= (set)1 << i;
  *bad = *bad || sample_in_turn(run, close, &brief);
  for (int i = 0; i < run->row->count && !*bad; i++) {
    struct xgb_result *r = &run->row->results[i];
    if (!(peers >> i & 1) || r->status != XGB_GOOD) continue;
    r->first_pass = r->samples > 0 ? median_of(r->seconds, r->samples) : run->once[i];
    if (close >> i & 1 && r->first_pass < best) best = r->first_pass, found = i;
    r->status = XGB_SLOWER;
  }
  if (found < 0) return 0;
  run->row->results[found].status = XGB_GOOD;
  run->row->best_peer = run->contestants[found].name;
  return (set)1 << found;
}

static int time_all(struct run *run)
{
  set who = good_ones(run, OURS | PEERS);
  if (run->effort->best_peer) {
    int bad;
    who = good_ones(run, OURS) | pick_peer(run, &bad);
    if (bad) return -1;
  }
  set held = good_ones(run, HELD); /* apart, so as not to disturb what is judged */
  return get_ready(run, who) || sample_in_turn(run, who, run->effort) || get_ready(run, held) ||
         sample_in_turn(run, held, run->effort);
}

/* How the kernel that the library takes compares with the best of the candidates: by the samples of
 * its own candidate, which are from the same turns. */
static void judge_choice(struct xgb_row *row)
{
  const struct xgb_result *own = NULL, *best = NULL, *same = NULL;
  for (int i = 0; i < row->count; i++) {
    const struct xgb_result *r = &row->results[i];
    if (strcmp(r->engine, "gpu") == 0) own = r;
    if (!r->candidate || r->status != XGB_GOOD || r->samples == 0) continue;
    if (!best || xgb_judged(r) < xgb_judged(best)) best = r;
  }
  if (!own || own->status != XGB_GOOD || !best) return;
  for (int i = 0; i < row->count; i++) {
    const struct xgb_result *r = &row->results[i];
    if (r->candidate && strcmp(r->kernel, own->kernel) == 0) same = r;
  }
  double time = !same ? xgb_judged(own) : same->samples > 0 ? xgb_judged(same) : same->first_pass;
  row->choice = time / xgb_judged(best);
  snprintf(row->chosen, sizeof row->chosen, "%s", own->kernel);
  snprintf(row->best_kernel, sizeof row->best_kernel, "%s", best->kernel);
}

/* Operands on the card for those that want them, rotated through three times its L2 when the
 * problem is small enough for that to matter. */
static int device_operands(struct run *run)
{
  int wanted = 0;
  for (int i = 0; i < run->row->count; i++) wanted |= xgb_on_device(&run->contestants[i]);
  if (!wanted || xgb_device_reason()) return 0;
  return xgb_operands_to_device(run->o, &run->row->c, 3 * xgb_device_l2());
}

static int run_prepared(struct run *run)
{
  struct xgb_row *row = run->row;
  int device_bad = device_operands(run);
  for (int i = 0; i < row->count && !xgb_interrupted; i++) {
    struct xgb_result *r = &row->results[i];
    if (device_bad && xgb_on_device(&run->contestants[i])) {
      snprintf(r->engine, sizeof r->engine, "%s", run->contestants[i].name);
      fail(r, XGB_UNSUPPORTED, xgb_device_error());
      continue;
    }
    if (xgb_contestant_prepare(&run->contestants[i], &row->c, run->o, run->effort->max_time, r))
      continue;
    if (!run->oracle) {
      xgemm_problem p =
          xgb_problem(&row->c, run->o->a, run->o->b, run->o->c_start, XGEMM_SPACE_HOST);
      run->oracle = xgb_oracle_new(&p);
      if (!run->oracle) return xgb_error("out of memory");
    }
    if (xgb_on_device(&run->contestants[i]))
      xgb_card_pick_entry(&run->turns, &run->contestants[i], r);
    verify(run, i);
  }
  if (xgb_interrupted || time_all(run)) return -1;
  for (int i = 0; i < row->count; i++) {
    summarise(&row->results[i]);
    /* A race may show only now and then: the last word has a second check. */
    if (row->results[i].status == XGB_GOOD && !row->results[i].candidate) verify(run, i);
  }
  judge_choice(row);
  return 0;
}

int xgb_run_case(struct xgb_row *row, struct xgb_contestant *contestants, int count,
                 struct xgb_operands *o, const struct xgb_effort *effort)
{
  struct run run = {.row = row, .contestants = contestants, .o = o, .effort = effort, .turns.o = o};
  row->count = count;
  if (o->pages != XGB_PAGES_DEFAULT)
    xgb_memory_forget(); /* it takes 0.3 s: where it is asked for */
  xgb_peaks_forget();
  run.threaded = count > 1 && xgb_case_threads(&row->c) > 1;
  if (row->c.batch == 1 && xgb_operands_prepare(o, &row->c))
    return xgb_error("no memory for the operands of %s", row->c.name);
  int bad = run_prepared(&run);
  for (int i = 0; i < count; i++) {
    xgb_device_graph_free(run.graphs[i]);
    xgb_contestant_done(&contestants[i]);
  }
  xgb_operands_free_device(o);
  xgb_oracle_free(run.oracle);
  return bad;
}

void xgb_row_free(struct xgb_row *row)
{
  for (int i = 0; i < row->count; i++) {
    free(row->results[i].seconds);
    free(row->results[i].replays);
    row->results[i].seconds = row->results[i].replays = NULL;
  }
}
