/* One line of goals.tsv, and what a result file says to it. bench/goals.tsv explains the fields. */
#ifndef XGB_GOALS_H
#define XGB_GOALS_H

#include "json.h"

struct xgb_goal {
  char *id, *suite, *type, *engine, *machine, *threads, *peer, *statistic, *bound, *note;
};

enum xgb_verdict { XGB_GOAL_PASS, XGB_GOAL_FAIL, XGB_GOAL_MISSING, XGB_GOAL_INFORMATIVE };

/* "-" or "any" */
int xgb_goal_any(const char *field);

/* Does the file come from the kind of machine that the goal is for? */
int xgb_goal_fits(const struct xgb_goal *g, const struct xgb_json *file);

/* Prints the line of one goal for one file; what it says. */
enum xgb_verdict xgb_goal_judge(const struct xgb_goal *g, const struct xgb_json *file,
                                const char *name);

#endif
