/* The six spellings of each product as one call with 64-bit integers and double scalars, so that a
 * test can walk over them. */
#ifndef BLAS_NAMES_H
#define BLAS_NAMES_H

#include <stdint.h>

struct blas_call {
  int layout, transa, transb; /* CBLAS numbers, or letters and no layout for Fortran */
  int64_t m, n, k, lda, ldb, ldc;
  double alpha, beta;
  const void *a, *b;
  void *c;
};

struct blas_name {
  const char *name;    /* the symbol */
  const char *reports; /* what its handler hears: "SGEMM " or "cblas_sgemm" */
  int fortran, single;
  void (*call)(const struct blas_call *g);
};

enum { BLAS_NAMES = 10 };
extern const struct blas_name blas_names[BLAS_NAMES];

#endif
