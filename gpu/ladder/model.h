/* What paper says of the rungs of the ladder: work, traffic and tiles, to be printed beside what a
 * card measured. Plain C, no CUDA.
 *
 * For C (m x n) = A (m x k) B (k x n), elements of e bytes, block tile BM x BN, thread tile TM x
 * TN:
 *
 *     flops             2 mnk, whatever the kernel
 *     device memory     ideal  e (mk + kn + mn)                   each matrix moved once
 *                       tiled  e (mk n/BN + kn m/BM + mn)         nothing caught by a cache
 *     shared memory     mnk (1/TM + 1/TN) elements read, counted for every thread that reads one;
 *                       mnk (1/WM + 1/WN) delivered, counted once for the lanes of a warp, whose
 *                       rows and columns of C together are WM x WN
 *
 * (n/BN, m/BM rounded up; beta != 0: C is moved twice.) What the L2 catches of the block tile's
 * re-reads puts the measured figure between ideal and tiled; writes that it still holds when a
 * kernel ends are not counted, which shows where C is smaller than the L2. The mma rungs read
 * fragments for a whole warp at once: TM x TN is the warp's tile.
 *
 * Counters of Nsight Compute that bench/ncu.sh takes:
 *     device memory     dram__bytes.sum
 *     shared memory     128 bytes * l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum: passes,
 *                       more than what is delivered where lanes meet in a bank, less than what
 *                       threads read where lanes share an address
 * nvcc puts 3 loads that load nothing before a piece's asynchronous copies: rung 8 executes 9 %
 * more than it reads with. WMMA makes ldmatrix for fp16, ordinary loads for bf16. */
#ifndef XG_LADDER_MODEL_H
#define XG_LADDER_MODEL_H

#include "../gkr.h"

/* "any", "small", "medium", "large"; the class of a name, or -1. */
const char *xg_size_class_name(enum xg_size_class size);
int xg_size_class_named(const char *name);

/* What a rung does with a product of one class. */
struct xg_rung_tile {
  int bm, bn, bk; /* block tile; 0: there is none */
  int tm, tn;     /* thread tile; of the mma rungs the warp's */
  int wm, wn;     /* the piece of C whose elements a warp reads for */
  int stages;     /* pieces of bk steps in shared memory at a time */
  int threads;    /* per block */
  int shared;     /* bytes of shared memory per block */
  int blocks;     /* resident on one multiprocessor of an H100 or H200 */
};

struct xg_rung {
  const char *number; /* "1", "5b" */
  const char *kernel; /* descriptor, "sgemm_ladder_1_naive" */
  const char *idea;
  char type;                   /* as in struct xg_gkr */
  int published;               /* per cent of cuBLAS, as published for an RTX 3080; 0: not */
  struct xg_rung_tile tile[3]; /* small, medium, large; rungs 1 to 4 have one for all */
};

/* The rungs in the order they are read in; the list ends with a kernel of NULL. */
extern const struct xg_rung xg_ladder[];

/* NULL if there is no such rung. */
const struct xg_rung *xg_rung_of(const char *kernel);

struct xg_rung_model {
  enum xg_size_class size;  /* the product's own, or the one forced */
  struct xg_rung_tile tile; /* of that class */
  double flops;
  double ideal_bytes; /* device memory */
  double tiled_bytes;
  double shared_bytes;    /* shared memory, read by threads; 0 where none is used */
  double delivered_bytes; /* the same, once a warp */
  double ideal_intensity; /* flop per byte of device memory */
  double tiled_intensity;
  double tiles, waves; /* blocks; rounds of one block a multiprocessor, rounded up */
  double fill;         /* tiles / (waves * sms): the share of the peak that can be reached */
};

/* `size` XG_SIZE_ANY: the product's own class. `beta`: 0 or not. `sms`: multiprocessors, 132. */
struct xg_rung_model xg_rung_model(const struct xg_rung *rung, int64_t m, int64_t n, int64_t k,
                                   double beta, enum xg_size_class size, int sms);

/* One more pass over C for each step (bias, ReLU) that is not in the kernel: read and written. */
double xg_pass_bytes(int64_t m, int64_t n, char type);

#endif
