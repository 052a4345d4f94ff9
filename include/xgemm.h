/* xgemm.h - general matrix products on the CPU and on CUDA GPUs.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * C = alpha * A * B + beta * C, with A m x k, B k x n, C m x n.
 *
 * THE SIMPLEST CALL
 *
 *   xgemm_problem p = XGEMM_PROBLEM_INIT;                alpha = 1, beta = 0
 *   p.m = m; p.n = n; p.k = k;
 *   p.a = xgemm_row_major(A, XGEMM_F32, lda);
 *   p.b = xgemm_row_major(B, XGEMM_F32, ldb);
 *   p.c = xgemm_row_major(C, XGEMM_F32, ldc);
 *   if (xgemm(&p, NULL) != XGEMM_OK) puts(xgemm_last_reason());
 *
 * The same products under the names every program knows (sgemm_, cblas_dgemm, ...) are declared in
 * xgemm_cblas.h.
 *
 * SEMANTICS (those of the reference BLAS)
 *   - m = 0 or n = 0, or (alpha = 0 or k = 0) with beta = 1: nothing is read or written.
 *   - alpha = 0 or k = 0: C = beta * C; A and B are not read and may be NULL.
 *   - beta = 0: C is written and never read, so a NaN in it does not survive.
 *   - otherwise 0 * NaN and 0 * Inf give NaN, as IEEE 754 says.
 *   - f32 products accumulate in f32 or better, f64 in f64. Precision is never lowered silently.
 *
 * ORDER OF ADDITIONS
 *   For one build on one machine the bits of C depend on the backend, the instruction set or GPU
 *   kernel, the types, strides pattern, alpha, beta, m, n and k, and on nothing else: not on the
 *   number of threads, free memory, load or earlier calls.
 *
 * THREADS OF A PRODUCT
 *   options.threads, else the default: XGEMM_NUM_THREADS, else omp_get_max_threads() (so
 *   OMP_NUM_THREADS counts), at most one thread for each physical core of the caller's affinity
 * mask and the cgroup's CPU quota, less the cores that other products of the process use at the
 * moment; one inside an OpenMP parallel region and in a forked child. Small products use fewer.
 *
 * THREADS OF THE PROGRAM
 *   Every function may be called from any number of threads at once. Two calls that write the same
 *   C, or one that writes what another reads, are the caller's to order.
 *
 * ERRORS
 *   A function that can fail returns an xgemm_status: XGEMM_OK is 0, failures are negative. On
 *   failure of the checks nothing has been written. The library never exits, aborts, or prints
 *   (unless XGEMM_VERBOSE asks, or an environment variable has a value it does not know).
 */
#ifndef XGEMM_H
#define XGEMM_H

#include <stddef.h>
#include <stdint.h>

#define XGEMM_VERSION_MAJOR 0
#define XGEMM_VERSION_MINOR 1
#define XGEMM_VERSION_PATCH 0
/* 10000 * major + 100 * minor + patch */
#define XGEMM_VERSION                                                                              \
  (10000 * XGEMM_VERSION_MAJOR + 100 * XGEMM_VERSION_MINOR + XGEMM_VERSION_PATCH)

#if defined(__GNUC__)
#define XGEMM_API __attribute__((visibility("default")))
#else
#define XGEMM_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------- statuses: pinned numbers */

typedef enum {
  XGEMM_OK = 0,
  XGEMM_INVALID_ARGUMENT = -1, /* xgemm_last_reason() names the argument */
  XGEMM_UNSUPPORTED = -2,      /* legal, but no engine (or not the forced one) can do it */
  XGEMM_UNKNOWN_NAME = -3,     /* no kernel of that name */
  XGEMM_OUT_OF_MEMORY = -10,   /* device memory, or the handle itself; C is unchanged */
  XGEMM_NO_DEVICE = -20,       /* GPU asked for, none usable; the reason says why */
  XGEMM_DEVICE_ERROR = -21     /* a CUDA call failed; C on the device is undefined */
} xgemm_status;

/* "XGEMM_OK", "XGEMM_INVALID_ARGUMENT", ...: a constant string, never NULL. */
XGEMM_API const char *xgemm_strerror(xgemm_status status);

/* After a call on this thread failed: why, in one sentence. Valid until the next call on this
 * thread. */
XGEMM_API const char *xgemm_last_reason(void);

/* XGEMM_VERSION of the library that is running. */
XGEMM_API int xgemm_version(void);

/* ---------------------------------------------------------------- operands */

/* Element types; the numbers are cudaDataType's. A, B and C of one product have the same type. */
typedef enum {
  XGEMM_F32 = 0, /* IEEE binary32 */
  XGEMM_F64 = 1  /* IEEE binary64 */
} xgemm_type;

/* Where an operand's memory is. */
typedef enum {
  XGEMM_SPACE_AUTO = 0, /* default: CUDA is asked, but only if a driver is already loaded in the
                           process; otherwise host. SPACE_HOST spares small calls the question */
  XGEMM_SPACE_HOST = 1,
  XGEMM_SPACE_DEVICE = 2,
  XGEMM_SPACE_MANAGED = 3
} xgemm_space;

/* One operand. Element (i,j) is at data + i*row_stride + j*col_stride, strides in elements.
 * Strides may be negative (data then points at element (0,0), not at the lowest address); A and B
 * may have stride 0. C's strides must keep its elements apart. C must not overlap A or B; A and B
 * may overlap. Base addresses need only the alignment of the element type. */
typedef struct {
  void *data;
  xgemm_type type;
  xgemm_space space;
  int64_t row_stride, col_stride;
  uint64_t reserved[4]; /* 0 */
} xgemm_matrix;

#define XGEMM_MATRIX_INIT                                                                          \
  {                                                                                                \
    0, XGEMM_F32, XGEMM_SPACE_AUTO, 0, 0,                                                          \
    {                                                                                              \
      0, 0, 0, 0                                                                                   \
    }                                                                                              \
  }

/* Rows contiguous: element (i,j) at data + i*ld + j. */
XGEMM_API xgemm_matrix xgemm_row_major(const void *data, xgemm_type type, int64_t ld);
/* Columns contiguous: element (i,j) at data + i + j*ld. */
XGEMM_API xgemm_matrix xgemm_col_major(const void *data, xgemm_type type, int64_t ld);
/* The same memory read as its transpose: the strides swapped. */
XGEMM_API xgemm_matrix xgemm_transpose(xgemm_matrix matrix);

/* ---------------------------------------------------------------- the problem */

/* C = alpha*A*B + beta*C. Scalars are rounded once to the type of the product. */
typedef struct {
  size_t size;          /* set by XGEMM_PROBLEM_INIT; 0 means the first released layout */
  int64_t m, n, k;      /* each >= 0 */
  double alpha, beta;   /* XGEMM_PROBLEM_INIT: 1 and 0 */
  xgemm_matrix a, b, c; /* m x k, k x n, m x n */
} xgemm_problem;

#define XGEMM_PROBLEM_INIT                                                                         \
  {                                                                                                \
    sizeof(xgemm_problem), 0, 0, 0, 1.0, 0.0, XGEMM_MATRIX_INIT, XGEMM_MATRIX_INIT,                \
        XGEMM_MATRIX_INIT                                                                          \
  }

/* ---------------------------------------------------------------- options */

typedef enum {
  XGEMM_BACKEND_AUTO = 0, /* device operands: GPU; host operands: the engine predicted faster */
  XGEMM_BACKEND_CPU = 1,
  XGEMM_BACKEND_GPU = 2,
  XGEMM_BACKEND_REF = 3 /* triple loop with a wider accumulator; slow, always right; host only */
} xgemm_backend;

/* Per-call options. All zero means the defaults, which are the environment's (XGEMM_BACKEND,
 * XGEMM_NUM_THREADS, ...) or those of xgemm_set_defaults(). A field that is not zero wins. */
typedef struct {
  size_t size;           /* sizeof(xgemm_options), or 0 for the first released layout */
  xgemm_backend backend; /* forcing one that cannot do the problem is an error, no fallback */
  int threads;           /* CPU threads of this call; 0: the default; never more than useful */
  int device;            /* 0: the operands' device, else the current one; n >= 1: card n-1 */
  void *stream;          /* cudaStream_t for device operands; NULL: the legacy default stream */
  int deterministic;     /* 1: the engine does not depend on what ran before: no account of
                            start-up costs, no other engine after a failure */
  const char *kernel;    /* force a kernel by name ("xgemm info" lists them); NULL: chosen */
} xgemm_options;

#define XGEMM_OPTIONS_INIT                                                                         \
  {                                                                                                \
    sizeof(xgemm_options), XGEMM_BACKEND_AUTO, 0, 0, 0, 0, 0                                       \
  }

/* Compute. `options` may be NULL. Host operands: C is complete on return. Device operands: the
 * work is queued on options->stream and the call does not wait for it. */
XGEMM_API xgemm_status xgemm(const xgemm_problem *problem, const xgemm_options *options);

/* Default options of this process, for xgemm() calls that leave a field 0 and for the BLAS names.
 * NULL: back to the environment's. `stream` is not a default and must be NULL. */
XGEMM_API xgemm_status xgemm_set_defaults(const xgemm_options *options);

/* Frees cached workspaces and device buffers that no running call uses. */
XGEMM_API xgemm_status xgemm_release_memory(void);

/* ---------------------------------------------------------------- plans */

/* A plan holds what xgemm() would decide for a problem: engine, kernel, blocking, threads. It
 * depends on sizes, strides, scalars' zero-ness and types, never on pointers. */
typedef struct xgemm_plan xgemm_plan;

/* *plan is set to NULL on failure. Data pointers of `problem` may be NULL when its spaces are not
 * AUTO; with AUTO a NULL pointer counts as host memory. */
XGEMM_API xgemm_status xgemm_plan_create(xgemm_plan **plan, const xgemm_problem *problem,
                                         const xgemm_options *options);
/* Same m, n, k, types, strides and spaces as at creation (else XGEMM_INVALID_ARGUMENT), any
 * pointers, any alpha and beta. Of the options only `stream` counts; the others are 0 or as at
 * creation. A plan may be run from many threads at once. */
XGEMM_API xgemm_status xgemm_plan_run(const xgemm_plan *plan, const xgemm_problem *problem,
                                      const xgemm_options *options);
/* Bytes of workspace that a run takes (from the library's own pool). */
XGEMM_API size_t xgemm_plan_workspace(const xgemm_plan *plan);
/* Level 0: one line; level 1: every backend, its predicted time or why it cannot. Writes at most
 * `size` bytes, always terminated when size > 0; returns the length of the whole text. */
XGEMM_API int xgemm_plan_describe(const xgemm_plan *plan, int level, char *buffer, size_t size);
/* NULL is allowed. */
XGEMM_API void xgemm_plan_destroy(xgemm_plan *plan);

#ifdef __cplusplus
}
#endif

#endif
