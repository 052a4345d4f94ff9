/* What an engine tells the rest of the library: can you, how long, do it.
 * backend.c holds the table {gpu, cpu, ref}; it is the only place in common/ that names the
 * engines. */
#ifndef XG_BACKEND_H
#define XG_BACKEND_H

#include "problem.h"

/* What an engine decided for one problem: a plain value, copied freely, no pointers to heap.
 * `kernel` points at constant storage. Times are predictions in seconds. */
struct xg_choice {
  const struct xg_backend *backend;
  const char *kernel; /* registry name */
  const void *unit;   /* the kernel's descriptor; only its backend looks inside */
  int threads;        /* CPU threads, 1 on the GPU */
  int transposed;     /* 1: the engine computes C^T = B^T A^T */
  int64_t mc, nc, kc; /* CPU: cache blocks; GPU: BM BN BK */
  int64_t split_k;    /* 1: k is not cut */
  int device;         /* GPU: card number */
  size_t workspace;   /* bytes a run takes */
  double compute, memory, transfer, launch; /* parts of the prediction */
  double startup; /* one-time cost still to be paid (CUDA not started), else 0 */
  double seconds; /* total without startup */
};

/* One kernel of the registry, for info, bench and tests. */
struct xg_kernel_info {
  const char *name; /* file stem = symbol = registry name */
  const char
      *family; /* instruction set or GPU family: "base", "avx2", "avx512", "sm80", "ladder" */
  xgemm_type type;
  int mr, nr;         /* register tile or block tile */
  const char *reason; /* NULL if it can run on this machine, else why not */
};

struct xg_backend {
  const char *name; /* "cpu", "gpu", "ref" */
  xgemm_backend id;

  /* NULL if the engine can be used on this machine, else why not, in words that follow "this
   * backend can't, because ...". Must not start CUDA unless `start` is 1. */
  const char *(*available)(int start);

  /* NULL if it can do this problem under this request, else why not (written to `why` or constant).
   */
  const char *(*ok)(const struct xg_problem *p, const struct xg_request *r, char *why, size_t size);

  /* Decide kernel, blocking, threads and predict the time. Called only after ok() said NULL. Never
   * looks at operand values; at addresses only for their alignment. May fail with UNKNOWN_NAME or
   * UNSUPPORTED for a forced kernel (reason set). */
  xgemm_status (*choose)(const struct xg_problem *p, const struct xg_request *r,
                         struct xg_choice *out);

  /* Do it. p is not "nothing" (see xg_is_nothing), but may be scale-only. */
  xgemm_status (*run)(const struct xg_choice *c, const struct xg_problem *p,
                      const struct xg_request *r);

  /* What was weighed in a choice, in lines that each begin with a newline; returns the length as
   * snprintf does. NULL: nothing to add. */
  int (*explain)(const struct xg_choice *c, const struct xg_problem *p, char *buffer, size_t size);

  /* Small host products with default options, straight through a table: returns 1 when done, 0 when
   * the problem is not small enough (nothing written). NULL if the engine has no such path. */
  int (*tiny)(const struct xg_problem *p);

  /* Where a pointer is: HOST if unknown; *device gets the card number or -1. NULL: host only. */
  xgemm_space (*classify)(const void *pointer, int *device);

  int (*kernel_count)(void);
  struct xg_kernel_info (*kernel_info)(int index);

  xgemm_status (*release_memory)(void);

  /* A line or more for `xgemm info` about the machine as this engine sees it. May be NULL. */
  void (*describe_machine)(void *FILE_pointer);
};

extern const struct xg_backend *const xg_backends[]; /* gpu, cpu, ref, NULL */
extern const struct xg_backend xg_backend_gpu, xg_backend_cpu, xg_backend_ref;

const struct xg_backend *xg_backend_by_id(xgemm_backend id);

/* The backend that owns a kernel of this name, or NULL. */
const struct xg_backend *xg_backend_of_kernel(const char *name);

#endif
