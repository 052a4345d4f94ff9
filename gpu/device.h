/* The GPU device module: CUDA started late and once, the cards' properties, and the one checked way
 * to call CUDA. Nothing here touches libcuda before xg_gpu_available(1). */
#ifndef XG_GPU_DEVICE_H
#define XG_GPU_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

#include "../common/problem.h"

enum { XG_LEAST_CC = 80 }; /* compute capability 8.0 */

/* One card, as the driver describes it; filled once and constant afterwards. */
struct xg_gpu_card {
  int id; /* CUDA's number */
  char name[256];
  int cc;                /* 90: compute capability 9.0 */
  int sms;               /* multiprocessors */
  double clock;          /* Hz, boost */
  double bandwidth;      /* device memory, bytes/s */
  double peak_s, peak_d; /* flop/s of the FMA units */
  double peak_tensor_d;  /* flop/s of the Tensor Cores in f64 */
  uint64_t memory;       /* bytes */
  int pools;             /* cudaMallocAsync can be used */
  char reason[384];      /* "" if usable, else why not */
};

/* NULL if the GPU can be used, else why not. start = 0 only looks for a driver's device file;
 * start = 1 starts CUDA the first time and remembers the outcome. */
const char *xg_gpu_available(int start);

/* CUDA was started by this module and works (and this is not a forked child). */
int xg_gpu_started(void);

/* Cards seen, usable or not; 0 before the start. */
int xg_gpu_count(void);
/* NULL for a number out of range. */
const struct xg_gpu_card *xg_gpu_card(int id);
/* What is assumed of a card before CUDA has been asked. */
const struct xg_gpu_card *xg_gpu_assumed_card(void);
double xg_gpu_peak(const struct xg_gpu_card *card, xgemm_type type);

/* Which card a request is for: the operands', the one asked for, or the current one. NULL and a
 * reason in `why` if there is none. CUDA must have been started. */
const struct xg_gpu_card *xg_gpu_find(int operands_on, int asked, char *why, size_t size);

/* Where a pointer is, without starting CUDA. */
xgemm_space xg_gpu_classify(const void *pointer, int *device);

/* ------------------------------------------------------------------ calling CUDA
 *
 *   struct xg_gpu_call call;
 *   status = xg_gpu_enter(&call, card);
 *   if (!status) status = XG_CUDA(&call, cudaMemsetAsync(p, 0, n, stream));
 *   return xg_gpu_leave(&call, status);
 *
 * enter makes the card current, leave restores the caller's. Between them a failing call becomes a
 * status and a reason. A context that was broken before is told apart from one that broke here. */
struct xg_gpu_call {
  int card;
  int previous;        /* the caller's current card */
  int switched;        /* the current card was changed */
  cudaError_t pending; /* an error that the caller has not fetched: left for the caller */
  int launched;        /* a kernel of ours may have run: a broken context may be our doing */
  enum cudaStreamCaptureMode mode; /* the caller's, for restoring */
};

xgemm_status xg_gpu_enter(struct xg_gpu_call *call, int card);
xgemm_status xg_gpu_leave(struct xg_gpu_call *call, xgemm_status status);

/* The status of one CUDA call; `text` is its source text. */
xgemm_status xg_cuda_check(const struct xg_gpu_call *call, cudaError_t error, const char *text);

/* The error to report in place of the next call; cudaSuccess unless a test asked for one. */
cudaError_t xg_cuda_injected(void);

/* The call is a macro only so that an injected failure can take its place. */
#define XG_CUDA(call, expression)                                                                  \
  xg_cuda_check(call, xg_cuda_injected() ?: (expression), #expression)

/* ------------------------------------------------------------------ for the tests */

/* The n-th CUDA call from now (1: the next) reports `error` and is not made; 0: none. */
void xg_cuda_fail_at(long n, cudaError_t error);
/* Calls made since the last xg_cuda_fail_at. */
long xg_cuda_calls(void);
/* Why CUDA did not start, as a sentence: `error` from the runtime, `driver` the CUDA version that
 * the installed driver supports (0: no driver), `needed` the one this library was built for. */
void xg_gpu_explain(cudaError_t error, int driver, int needed, char *why, size_t size);
/* Fills card->reason: "" for a card that can be used. */
void xg_gpu_judge(struct xg_gpu_card *card);

#endif
