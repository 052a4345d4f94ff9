/* Timing on a card: operands taken in turn, calls back to back and in graphs. */
#ifndef XGB_CARD_H
#define XGB_CARD_H

#include "contest.h"

/* A call under short_call is judged by a graph; one above long_call is not repeated to warm up. */
#define XGB_SHORT_CALL 50e-6
#define XGB_LONG_CALL  20e-3

/* One way to queue call number `first + i`, which takes the set of operands with that number,
 * counted round. */
struct xgb_card_work {
  int (*call)(void *context, long i);
  void *context;
  long *first;
};

/* Whose turn it is: all take the sets in turn, so that none finds its own still in the L2. */
struct xgb_turns {
  const struct xgb_operands *o;
  long next;
};

/* Seconds of `calls` calls; -1 on failure. */
double xgb_card_time(struct xgb_turns *t, const struct xgb_card_work *work, long calls);
/* How many make a sample, if one takes `once` seconds. */
long xgb_card_calls(const struct xgb_turns *t, double once);
/* Seconds of a call, roughly, and how many make a sample; -1 on failure. */
double xgb_card_calibrate(struct xgb_turns *t, const struct xgb_card_work *work, long *calls);
/* 20 calls or more in a graph, each set taken equally often; NULL if it cannot be captured. */
void *xgb_card_capture(struct xgb_turns *t, const struct xgb_card_work *work);
/* Seconds of a call within a replay; -1 on failure. */
double xgb_card_replay(struct xgb_turns *t, void *graph);

struct xgb_card_work xgb_card_work_of(struct xgb_contestant *x);
/* Enters by the entry of a peer with several that is faster in medians of five samples in turn: in
 * a graph, if one's calls are short. r->eager becomes the time of the one that is faster back to
 * back. */
void xgb_card_pick_entry(struct xgb_turns *t, struct xgb_contestant *x, struct xgb_result *r);

#endif
