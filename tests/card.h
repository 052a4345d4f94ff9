/* Products on a card, for the CMocka programs of the GPU engine. Operands are made in host memory
 * (product.h) and mirrored: a span and its gaps go to the card as they are and come back, so that
 * what was written beside the elements is seen there too. */
#ifndef CARD_H
#define CARD_H

#include <cuda_runtime_api.h>

#include "product.h"

#include "../gpu/gkr.h"

/* Prints why and returns 77 if no card can be used, else 0. */
int card_missing(void);

/* Options that force the GPU backend, and a kernel unless it is NULL. */
xgemm_options card_options(const char *kernel);

/* Fails unless a plan for this problem is taken by the GPU, with this kernel unless it is NULL. The
 * kernel's name is in `name` afterwards (64 bytes). */
void card_plan_is(const xgemm_problem *p, const xgemm_options *o, const char *kernel, char *name);

/* The product's problem with its operands on the card, each `shift` elements off a 256-byte border.
 * One set of mirrors exists; the next card_put reuses it. */
xgemm_problem card_put(const struct product *x, int shift);
/* C comes back; A and B and all surroundings must be as they were. */
void card_get(struct product *x);

/* The whole test: expect, run on device operands, compare, the kernel that ran being asserted.
 * Returns 0 if the kernel is not for such a product: then it has said why and touched nothing. */
int card_must_be_right(struct product *x, int shift, const char *kernel, int exact);
/* The same with the operands where they are, in host memory. */
int card_staged_must_be_right(struct product *x, const char *kernel, int exact);

void card_ok(cudaError_t error, const char *what);
#define CARD_OK(call) card_ok(call, #call)

#endif
