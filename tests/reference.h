/* The product as the definition says it, written apart from the library: long double sums, no
 * blocking, no kernels. With it come the test data, the error bound and the comparison. Plain C, no
 * test framework: the bench uses it too. Every function works on the public xgemm_problem. */
#ifndef REFERENCE_H
#define REFERENCE_H

#include <stddef.h>
#include <stdint.h>

#include "xgemm.h"

/* ---------------------------------------------------------------- data from a seed */

struct reference_rng {
  uint64_t state;
};

uint64_t reference_next(struct reference_rng *rng);
/* In [-1, 1), 24 random bits: exact in both types. */
double reference_uniform(struct reference_rng *rng);
/* low <= value <= high. */
int64_t reference_integer(struct reference_rng *rng, int64_t low, int64_t high);

double reference_get(const xgemm_matrix *x, int64_t i, int64_t j);
void reference_set(const xgemm_matrix *x, int64_t i, int64_t j, double value);

/* limit > 0: integers in [-limit, limit]; 0: reals in [-1, 1) with all bits of the type in use. */
void reference_fill(const xgemm_matrix *x, int64_t rows, int64_t cols, struct reference_rng *rng,
                    int64_t limit);
/* One value everywhere, NaN for example. */
void reference_fill_with(const xgemm_matrix *x, int64_t rows, int64_t cols, double value);

/* Largest limit (at most 16) with which any order of additions is exact for this k and scalars of
 * magnitude up to 4: 4*k*limit^2 + 4*limit <= 2^24 (f32) or 2^53 (f64); 0 if there is none. Results
 * may then be compared for equality, which finds every wrong index. */
int64_t reference_exact_limit(xgemm_type type, int64_t k);

/* ---------------------------------------------------------------- the product */

/* value[i*n+j] = the element of alpha*A*B + beta*C that is right, C being what p->c holds now, and
 * size[i*n+j] = |alpha||A||B| + |beta||C|. Nothing of the problem is written. BLAS's rules: alpha =
 * 0 or k = 0: A and B are not read; beta = 0: C is not read; m, n may be 0. A subset of rows or
 * columns is a problem with other pointers and a smaller m or n. `size` may be NULL. */
void reference_gemm(const xgemm_problem *p, double *value, double *size);

/* What a product may be off by in one element: (k + 4) u size, plus what underflow may cost. It
 * holds for any order of k multiply-adds in the type's own precision, fused or not, alpha last or
 * first. */
double reference_bound(const xgemm_problem *p, double size);

struct reference_miss {
  int64_t i, j; /* first element that is wrong */
  double got, expected, error, bound;
};

/* Compares p->c as it is now with value and size; exact: elements must be equal (zeros of either
 * sign are). NaN is right exactly where value is NaN. Returns how many elements are wrong; the
 * first is described in *miss (may be NULL). The largest error / bound seen goes to *worst (may be
 * NULL). */
int64_t reference_check(const xgemm_problem *p, const double *value, const double *size, int exact,
                        struct reference_miss *miss, double *worst);

/* All in one for large products: keeps `count` rows picked by the rng, to be called around the run.
 *   struct reference_sample *s = reference_sample_take(&p, 8, &rng);   before: reads A, B and C
 *   ... run ...
 *   bad = reference_sample_check(s, &p, &miss, &worst); reference_sample_free(s);
 * The first and the last row are always among them. NULL if there is no memory. */
struct reference_sample;
struct reference_sample *reference_sample_take(const xgemm_problem *p, int64_t count,
                                               struct reference_rng *rng);
int64_t reference_sample_check(const struct reference_sample *s, const xgemm_problem *p,
                               struct reference_miss *miss, double *worst);
void reference_sample_free(struct reference_sample *s);

/* ---------------------------------------------------------------- order */

/* Element (i,j) to the bit, as products added in order give it: k in runs of `run` steps, each in
 * so many lanes (1, 2, 4, 8 or 16), whose sums are added by halves, and the sums of the runs in
 * order. `c` is what C held, `fused` whether a multiplication and its addition are rounded once. */
double reference_in_order(const xgemm_problem *p, int64_t run, int lanes, int64_t i, int64_t j,
                          double c, int fused);

#endif
