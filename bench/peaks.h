/* The ceilings of this machine, measured: FMA rate from registers, read bandwidth from memory. */
#ifndef XGB_PEAKS_H
#define XGB_PEAKS_H

#include "xgemm.h"

/* Flop/s of `threads` threads doing nothing but multiply-adds of the widest vectors the processor
 * has (multiply and add where it has no FMA). Measured once for each type and thread count. */
double xgb_cpu_peak(xgemm_type type, int threads);

/* Bytes/s that `threads` threads read from a buffer far larger than the caches. */
double xgb_cpu_bandwidth(int threads);

/* "AVX-512", "AVX2+FMA" or "SSE2": what xgb_cpu_peak uses. */
const char *xgb_cpu_vectors(void);

#endif
