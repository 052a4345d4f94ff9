/* Products of host operands on a card: copy in, compute, copy out. */
#ifndef XG_GPU_STAGING_H
#define XG_GPU_STAGING_H

#include "device.h"
#include "gkr.h"

/* Device bytes that staging the operands takes. */
double xg_gpu_staging_bytes(const struct xg_problem *p);

/* Seconds that the copies take, predicted. */
double xg_gpu_staging_seconds(const struct xg_problem *p);

/* The product as the card will see it, its operands dense in one piece of memory at `memory`. */
struct xg_problem xg_gpu_staged(const struct xg_problem *p, char *memory);

/* kernel NULL: the product is only a scaling of C. C is complete on return, and unchanged if
 * anything failed before it was being copied out. */
xgemm_status xg_gpu_run_staged(const struct xg_gpu_card *card, const struct xg_gkr *kernel,
                               const struct xg_problem *p);

/* Enqueues a product of device operands: gathers what pays, then launches. Workspace is taken and
 * given back in the order of `stream`. */
xgemm_status xg_gpu_enqueue(struct xg_gpu_call *call, const struct xg_gkr *kernel,
                            const struct xg_problem *p, void *stream);

/* Gives cached device memory back to the driver. */
xgemm_status xg_gpu_release(void);

#endif
