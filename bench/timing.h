/* Clock, statistics, patience, and Ctrl-C. */
#ifndef XGB_TIMING_H
#define XGB_TIMING_H

#include <signal.h>

double xgb_now(void); /* seconds, CLOCK_MONOTONIC */

/* The clock of samples: the same, or the CPU time of the calling thread, which a busy machine
 * disturbs less but which means nothing for more than one thread. */
double xgb_sample_now(void);
extern int xgb_sample_cpu_time;

/* Sorts its argument. */
double xgb_median(double *values, int count);
double xgb_smallest(const double *values, int count);

/* Waits until no other thread of this process runs any more, at most 1 s: the
 * threads of the contestant before spin for a while and would be timed with the next one. */
void xgb_settle(void);

/* After this the first Ctrl-C sets xgb_interrupted, the second one kills. */
void xgb_catch_interrupt(void);
extern volatile sig_atomic_t xgb_interrupted;

/* A bar on stderr if that is a terminal; text NULL wipes it. */
void xgb_progress(int done, int total, const char *text);

#endif
