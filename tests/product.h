/* One product to run and judge: operands in hostile memory (pages that fault right behind each, a
 * NaN in every byte that is not an element), and what is right. For CMocka programs. */
#ifndef PRODUCT_H
#define PRODUCT_H

#include "hostile.h"
#include "reference.h"
#include "xgemm.h"

struct product {
  xgemm_problem p; /* alpha 1, beta 0 until the test says otherwise */
  struct hostile_matrix a, b, c;
  double *value, *size; /* after product_expect */
  void *first;          /* C's elements as they were then */
};

/* How the operands lie, one letter each for A, B and C: 'r' rows contiguous, 'c' columns
 * contiguous, 'R' and 'C' the same with a padded leading dimension, 'g' no unit stride, 'n' no unit
 * stride and both negative, '0' (A and B) both strides 0. */
void product_make(struct product *x, xgemm_type type, int64_t m, int64_t n, int64_t k,
                  const char *layout, uint64_t seed);
void product_free(struct product *x);

/* Integers so small that every order of additions gives the same bits (the default), or reals. */
void product_fill(struct product *x, uint64_t seed, int exact);

/* Computes what is right for the operands and scalars as they are now. */
void product_expect(struct product *x);
/* C as it was then. */
void product_rewind(struct product *x);

/* 1 if C is right and nothing else was written; else the first difference goes to stderr. */
int product_is_right(const struct product *x, int exact);
/* 1 if nothing at all was written since product_expect. */
int product_is_untouched(const struct product *x);

/* C's elements, tightly packed row by row, for comparing bits. m*n*size bytes; free() it. */
void *product_bits(const struct product *x);
size_t product_bytes(const struct product *x);

/* expect, run, check for equality: the whole test in one. Fails the CMocka test otherwise. */
void product_must_be_right(struct product *x, const xgemm_options *options);
/* expect, run, must refuse with this status, a reason, and nothing written. */
void product_must_fail(struct product *x, const xgemm_options *options, xgemm_status status);

#endif
