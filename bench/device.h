/* Device memory and device clocks for the bench: device_cuda.c, or device_none.c without CUDA.
 * Functions that can fail return 0, or -1 with the reason in xgb_device_error(). */
#ifndef XGB_DEVICE_H
#define XGB_DEVICE_H

#include <stddef.h>
#include <stdio.h>

#include "xgemm.h"

/* NULL if the bench can use a card, else why not. The first call starts CUDA. */
const char *xgb_device_reason(void);
const char *xgb_device_error(void);

void xgb_device_name(char *text, size_t size);
/* A few lines: name, SMs, memory, driver, runtime, copy bandwidths. */
void xgb_device_describe(FILE *out);
/* Flop/s by the number of units and the highest clock; 0: unknown. */
double xgb_device_peak(xgemm_type type);
/* The same of the Tensor Cores for 16-bit factors and 32-bit sums. */
double xgb_device_peak_half(void);
size_t xgb_device_l2(void);
int xgb_device_sms(void);
double xgb_device_clock(void); /* the highest, Hz */
/* 90: compute capability 9.0 */
int xgb_device_cc(void);
/* Bytes/s of copies within device memory, read and write counted; measured once in a run. */
double xgb_device_copy_rate(void);

void *xgb_device_alloc(size_t bytes);
void xgb_device_free(void *pointer);
int xgb_device_upload(void *device, const void *host, size_t bytes);
int xgb_device_copy(void *to, const void *from, size_t bytes);
int xgb_device_download(void *host, const void *device, size_t bytes);
/* Every byte. Queued only. */
int xgb_device_set(void *device, int byte, size_t bytes);
/* Fills the L2 with something else. Queued only. */
int xgb_device_flush(void);

/* The stream that all timed work goes to; NULL without a card. */
void *xgb_device_stream(void);

/* Seconds between two events around `calls` calls of work(context, i), i counting up; -1 on
 * failure. work returns 0 or an error, which stops. */
double xgb_device_time(int (*work)(void *context, long i), void *context, long calls);

/* The same calls as a CUDA graph, replayed once; NULL if they cannot be captured. */
void *xgb_device_capture(int (*work)(void *context, long i), void *context, long calls);
/* Seconds of one replay, -1 on failure. */
double xgb_device_replay(void *graph);
void xgb_device_graph_free(void *graph);

#endif
