/* checkgemm: every layer of the library against its contract, in one program.
 *
 *   checkgemm.c          arguments, tiers, the list of kernels
 *   checkgemm_case.c     what a case is called, how a failure is told, how -p is read
 *   checkgemm_call.c     calling a kernel and looking at the registers afterwards
 *   checkgemm_ukr.c      micro-kernels              checkgemm_pack.c   packing
 *   checkgemm_stream.c   stream kernels             checkgemm_thin.c   thin products
 *   checkgemm_product.c  one product in hostile memory, used by the next two
 *   checkgemm_loops.c    loops, backends, GPU       checkgemm_blas.c   BLAS names, OpenBLAS
 *   checkgemm_big.c      sizes beyond 2^31 elements, deep shapes
 *   checkgemm_bench.c    -b                         checkgemm_broken*.c the selftest
 */
#ifndef CHECKGEMM_H
#define CHECKGEMM_H

#include <stddef.h>
#include <stdint.h>

#include "common/backend.h"
#include "cpu/ukr.h"
#include "hostile.h"
#include "reference.h"

enum check_tier { CHECK_QUICK, CHECK_FULL, CHECK_BIG };

struct check {
  const char *program;
  uint64_t seed;
  const char *kernel;  /* -k: glob, NULL: all */
  const char *problem; /* -p: one case, NULL: the tier's cases */
  const char *backend; /* --backend, NULL: all */
  enum check_tier tier;
  int verbose;

  long cases, failures, skips;
  int printed;        /* failures of the unit at work; after a few the rest are only counted */
  int silent;         /* selftest: count and remember, do not print */
  char first[256];    /* selftest: what the first failure said */
  const char *layers; /* layers that -p names, see check_wants */
};

/* ---------------------------------------------------------------- cases (checkgemm_case.c) */

/* One parameter of a case: how -p spells it and where it is. kind: 'i' int64_t, 'd' double, 'c' a
 * letter. A list ends with key NULL. */
struct check_field {
  const char *key;
  char kind;
  void *at;
};

/* "layer=ukr,m=3,n=7,...", the form that -p takes. */
void check_format(const char *layer, const struct check_field *fields, char *text, size_t size);
/* Sets the fields that -p names; exits 2, naming the keys there are, when it names another. */
void check_parse(const struct check *k, const struct check_field *fields);
/* 1 if -p is not given or is about this layer. */
int check_wants(const struct check *k, const char *layer);
/* 1 if -k is not given or matches. */
int check_wants_kernel(const struct check *k, const char *name);
int check_wants_backend(const struct check *k, const char *name);

/* The random stream of a case depends on the seed and on its text alone, so it runs alone as it ran
 * among others. */
struct reference_rng check_rng(const struct check *k, const char *text);

/* Told if the case about to run ends in a fault that nobody can catch (in another thread, say). */
void check_running(const struct check *k, const char *kernel, const char *backend,
                   const char *text);
/* Counts a failure and prints it with the command that repeats it. `kernel` and `backend` may be
 * NULL; `text` is the case, or "--layer loops" and the like. */
void check_fail(struct check *k, const char *kernel, const char *backend, const char *text,
                const char *format, ...) __attribute__((format(printf, 5, 6)));
/* A unit (kernel, backend, name) starts or ends; prints its line: what ran and what became of it.
 */
void check_unit_begin(struct check *k);
void check_unit_end(struct check *k, const char *name, long cases_before, long failures_before,
                    const char *remark);
void check_skip(struct check *k, const char *name, const char *why);

/* ---------------------------------------------------------------- calls (checkgemm_call.c) */

/* Calls f with up to 14 integer or pointer arguments, then looks at what a callee must preserve:
 * NULL, or what it did not ("rbx", "MXCSR", ...). Elsewhere than on x86-64 it only calls. */
const char *check_call(void (*f)(void), const int64_t *arguments);

/* ---------------------------------------------------------------- layers */

void check_ukr(struct check *k);
void check_one_ukr(struct check *k, const struct xg_ukr *u);
void check_one_stream(struct check *k, const struct xg_ukr *u);
void check_pack(struct check *k);
void check_one_pack(struct check *k, const struct xg_ukr *u);
void check_loops(struct check *k);
void check_thin(struct check *k);
void check_strip(struct check *k);

struct check_product;
/* A product through xgemm() on 1 to 3 threads: 1 if it is right on each, with the same bits. */
int check_threads_of(struct check *k, const struct check_product *x);

void check_blas(struct check *k);
void check_big(struct check *k);
void check_bench(struct check *k);
/* 0 if every broken unit was reported. */
int check_selftest(struct check *k);

/* NULL if the kernel can run here, else why not. */
const char *check_ukr_reason(const struct xg_ukr *u);

/* ---------------------------------------------------------------- products (checkgemm_product.c)
 */

/* C = alpha*A*B + beta*C with strides in elements. */
struct check_product {
  char type; /* s, d */
  int64_t m, n, k;
  int64_t rsa, csa, rsb, csb, rsc, csc;
  double alpha, beta;
  char data; /* i: integers, compared for equality; r: reals; n: reals, some NaN and infinite */
  char side; /* e, s: which end of the operands touches forbidden memory */
};

/* Runs the product on *p; what xgemm() would return. */
typedef int check_runner(void *context, const xgemm_problem *p);

enum check_verdict { CHECK_RIGHT, CHECK_WRONG, CHECK_REFUSED };

/* Builds the operands, runs, compares. `why` says what is wrong, *hash gets a digest of C's bits
 * (may be NULL). REFUSED: the status was UNSUPPORTED and C is untouched. */
enum check_verdict check_product(const struct check_product *x, struct reference_rng rng,
                                 check_runner *run, void *context, uint64_t *hash, char *why,
                                 size_t size);

/* The drawn cases of the loops through another product than xgemm(). */
void check_one_runner(struct check *k, xgemm_type type, check_runner *run);

/* The fields of a product, appended at fields[0..]; returns how many. */
enum { CHECK_PRODUCT_FIELDS = 14 };
int check_product_fields(struct check_product *x, struct check_field *fields);

/* Strides for a rows x cols operand. kind: r row-major, c column-major, g neither is 1, - both
 * negative, x row-major backwards within rows, z/y row or column stride 0, o both 0. */
void check_strides(char kind, int64_t rows, int64_t cols, int64_t pad, int64_t *rs, int64_t *cs);

#endif
