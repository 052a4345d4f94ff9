/* The ceiling of this machine, measured: the FMA rate from registers. memory.h has the other. */
#ifndef XGB_PEAKS_H
#define XGB_PEAKS_H

#include "xgemm.h"

/* Flop/s of `threads` threads doing nothing but multiply-adds of the widest vectors the processor
 * has (multiply and add where it has no FMA). Measured once for each type and thread count, until
 * it is forgotten: each row has its own. */
double xgb_cpu_peak(xgemm_type type, int threads);
void xgb_peaks_forget(void);

/* Seconds of the quickest of `rounds` rounds of work(context, 0 .. threads - 1), all threads side
 * by side; 0 if the threads cannot be had. */
double xgb_quickest(int threads, int rounds, void (*work)(void *, int), void *context);

/* work(context, 0 .. threads - 1) once, side by side; one after the other if the threads cannot be
 * had. */
void xgb_share_out(int threads, void (*work)(void *, int), void *context);

/* "AVX-512", "AVX2+FMA" or "SSE2": what xgb_cpu_peak uses. */
const char *xgb_cpu_vectors(void);

#endif
