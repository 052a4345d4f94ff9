#include "staging.h"

#include <pthread.h>
#include <stdatomic.h>

#include "../common/alloc.h"
#include "../common/env.h"
#include "../common/status.h"
#include "box.h"
#include "gather.h"
#include "pick.h"
#include "scale.h"

/* ---------------------------------------------------------------- what is kept between calls */

enum { KEPT_STREAMS = 16 };

/* For each card: idle streams, and a memory pool of our own that keeps what it has been given, so
 * that a call does not pay for the driver's allocator. The program's default pool is left alone. */
static struct keep {
  cudaStream_t streams[KEPT_STREAMS];
  int count;
  cudaMemPool_t pool;
  uint64_t in_use; /* bytes that running calls hold */
} kept[XG_MAX_DEVICES];
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

static xgemm_status take_stream(struct xg_gpu_call *call, cudaStream_t *stream)
{
  struct keep *keep = &kept[call->card];
  *stream = NULL;
  pthread_mutex_lock(&guard);
  if (keep->count > 0) *stream = keep->streams[--keep->count];
  pthread_mutex_unlock(&guard);
  if (*stream) return XGEMM_OK;
  return XG_CUDA(call, cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
}

static void give_stream(const struct xg_gpu_call *call, cudaStream_t stream)
{
  struct keep *keep = &kept[call->card];
  pthread_mutex_lock(&guard);
  int keeps = keep->count < KEPT_STREAMS;
  if (keeps) keep->streams[keep->count++] = stream;
  pthread_mutex_unlock(&guard);
  if (!keeps) cudaStreamDestroy(stream);
}

static xgemm_status make_pool(struct xg_gpu_call *call, cudaMemPool_t *pool)
{
  struct cudaMemPoolProps properties = {.allocType = cudaMemAllocationTypePinned};
  properties.location.type = cudaMemLocationTypeDevice, properties.location.id = call->card;
  uint64_t keep_all = UINT64_MAX;
  xgemm_status status = XG_CUDA(call, cudaMemPoolCreate(pool, &properties));
  if (status != XGEMM_OK) return status;
  status =
      XG_CUDA(call, cudaMemPoolSetAttribute(*pool, cudaMemPoolAttrReleaseThreshold, &keep_all));
  if (status != XGEMM_OK) cudaMemPoolDestroy(*pool), *pool = NULL;
  return status;
}

/* Device memory in the order of `stream`. */
static xgemm_status take_memory(struct xg_gpu_call *call, cudaStream_t stream, size_t bytes,
                                void **memory)
{
  struct keep *keep = &kept[call->card];
  if (!xg_gpu_card(call->card)->pools) return XG_CUDA(call, cudaMalloc(memory, bytes));
  pthread_mutex_lock(&guard);
  xgemm_status status = keep->pool ? XGEMM_OK : make_pool(call, &keep->pool);
  pthread_mutex_unlock(&guard);
  if (status != XGEMM_OK) return status;
  return XG_CUDA(call, cudaMallocFromPoolAsync(memory, bytes, keep->pool, stream));
}

static cudaError_t give_memory(const struct xg_gpu_call *call, cudaStream_t stream, void *memory)
{
  return xg_gpu_card(call->card)->pools ? cudaFreeAsync(memory, stream) : cudaFree(memory);
}

/* XGEMM_GPU_MEMORY holds for all running calls together. */
static xgemm_status reserve(const struct xg_gpu_call *call, uint64_t bytes)
{
  uint64_t limit = xg_env()->gpu_memory;
  pthread_mutex_lock(&guard);
  uint64_t used = kept[call->card].in_use;
  int fits = !limit || (used <= limit && bytes <= limit - used);
  if (fits) kept[call->card].in_use += bytes;
  pthread_mutex_unlock(&guard);
  if (fits) return XGEMM_OK;
  return xg_fail(XGEMM_OUT_OF_MEMORY,
                 "%llu bytes of device memory are needed, other calls hold %llu, and "
                 "XGEMM_GPU_MEMORY allows %llu",
                 (unsigned long long)bytes, (unsigned long long)used, (unsigned long long)limit);
}

static void unreserve(const struct xg_gpu_call *call, uint64_t bytes)
{
  pthread_mutex_lock(&guard);
  kept[call->card].in_use -= bytes;
  pthread_mutex_unlock(&guard);
}

static xgemm_status release_card(int card)
{
  struct xg_gpu_call call;
  xgemm_status status = xg_gpu_enter(&call, card);
  if (status == XGEMM_OK) status = XG_CUDA(&call, cudaMemPoolTrimTo(kept[card].pool, 0));
  return xg_gpu_leave(&call, status);
}

xgemm_status xg_gpu_release(void)
{
  xgemm_status status = XGEMM_OK;
  for (int i = 0; i < xg_gpu_count() && status == XGEMM_OK; i++)
    if (kept[i].pool) status = release_card(i);
  return status;
}

/* ---------------------------------------------------------------- copies */

enum { BOUNCE = 16 << 20 }; /* bytes gathered before they are copied */

static int64_t bounce_lines(const struct xg_box *box)
{
  int64_t lines = BOUNCE / (int64_t)xg_box_line_bytes(box);
  if (lines < 1) lines = 1;
  return lines < box->lines ? lines : box->lines;
}

static xgemm_status copy_direct(struct xg_gpu_call *call, const struct xg_box *box, char *card,
                                enum cudaMemcpyKind kind, cudaStream_t stream)
{
  size_t width = (size_t)box->width * box->size, pitch = (size_t)box->pitch * box->size;
  size_t line = xg_box_line_bytes(box), lines = (size_t)box->lines;
  if (pitch == width && line == width)
    width *= lines, pitch = line = width, lines = 1; /* no gaps */
  if (kind == cudaMemcpyHostToDevice)
    return XG_CUDA(call,
                   cudaMemcpy2DAsync(card, line, box->base, pitch, width, lines, kind, stream));
  return XG_CUDA(call, cudaMemcpy2DAsync(box->base, pitch, card, line, width, lines, kind, stream));
}

/* By way of a dense buffer. The buffer is pageable, so a copy from it has left it on return. */
static xgemm_status copy_bounced(struct xg_gpu_call *call, const struct xg_box *box, char *card,
                                 enum cudaMemcpyKind kind, cudaStream_t stream)
{
  int64_t lines = bounce_lines(box);
  size_t line = xg_box_line_bytes(box);
  char *buffer = xg_alloc((size_t)lines * line);
  if (!buffer) return xg_fail(XGEMM_OUT_OF_MEMORY, "no host memory to gather strided operands in");
  xgemm_status status = XGEMM_OK;
  for (int64_t first = 0; first < box->lines && status == XGEMM_OK; first += lines) {
    int64_t count = box->lines - first < lines ? box->lines - first : lines;
    size_t bytes = (size_t)count * line;
    char *there = card + (size_t)first * line;
    if (kind == cudaMemcpyHostToDevice) {
      xg_box_gather(box, first, count, buffer);
      status = XG_CUDA(call, cudaMemcpyAsync(there, buffer, bytes, kind, stream));
    } else {
      status = XG_CUDA(call, cudaMemcpyAsync(buffer, there, bytes, kind, stream));
    }
    if (status == XGEMM_OK) status = XG_CUDA(call, cudaStreamSynchronize(stream));
    if (status == XGEMM_OK && kind == cudaMemcpyDeviceToHost)
      xg_box_scatter(box, first, count, buffer);
  }
  cudaStreamSynchronize(stream); /* nothing may still use the buffer, whatever failed */
  xg_free(buffer);
  return status;
}

static xgemm_status copy(struct xg_gpu_call *call, const struct xg_box *box, char *card,
                         enum cudaMemcpyKind kind, cudaStream_t stream)
{
  return xg_box_is_direct(box) ? copy_direct(call, box, card, kind, stream)
                               : copy_bounced(call, box, card, kind, stream);
}

/* ---------------------------------------------------------------- a staged product */

/* The three operands' places in one piece of device memory. */
struct stage {
  struct xg_box a, b, c;
  size_t at_b, at_c, bytes; /* A is at 0 */
};

static size_t box_bytes(const struct xg_box *box)
{
  const size_t unit = 256;
  return ((size_t)box->lines * xg_box_line_bytes(box) + unit - 1) / unit * unit;
}

static struct stage stage_of(const struct xg_problem *p)
{
  struct stage s = {.c = xg_box_of(&p->c, p->m, p->n, p->type)};
  if (!xg_is_scale_only(p)) {
    s.a = xg_box_of(&p->a, p->m, p->k, p->type);
    s.b = xg_box_of(&p->b, p->k, p->n, p->type);
    s.at_b = box_bytes(&s.a), s.at_c = s.at_b + box_bytes(&s.b);
  }
  s.bytes = s.at_c + box_bytes(&s.c);
  return s;
}

double xg_gpu_staging_bytes(const struct xg_problem *p)
{
  double e = (double)xg_sizeof(p->type), m = (double)p->m, n = (double)p->n, k = (double)p->k;
  double a = (p->a.rs ? m : 1) * (p->a.cs ? k : 1), b = (p->b.rs ? k : 1) * (p->b.cs ? n : 1);
  return e * (m * n + (xg_is_scale_only(p) ? 0 : a + b));
}

double xg_gpu_staging_seconds(const struct xg_problem *p)
{
  /* Ordinary (pageable) host memory on an H200 machine; page-locked memory is several times faster
   * but it is not asked whether the operands are. */
  const double in_rate = 8.5e9, out_rate = 17.4e9, each = 10e-6;
  double out = (double)xg_sizeof(p->type) * (double)p->m * (double)p->n;
  double in = xg_gpu_staging_bytes(p) - (p->beta != 0 ? 0 : out);
  return in / in_rate + out / out_rate + 4 * each;
}

/* `memory` may be a place that is only thought of: it is a number here. */
static struct xg_operand on_card(uintptr_t memory, const struct xg_box *box)
{
  uintptr_t first = memory + (uintptr_t)(box->first * (int64_t)box->size);
  return (struct xg_operand){(void *)first, box->card_rs, box->card_cs};
}

struct xg_problem xg_gpu_staged(const struct xg_problem *p, char *memory)
{
  struct stage s = stage_of(p);
  struct xg_problem q = *p;
  q.space = XGEMM_SPACE_DEVICE;
  uintptr_t at = (uintptr_t)memory;
  q.c = on_card(at + s.at_c, &s.c);
  if (xg_is_scale_only(p)) return q;
  q.a = on_card(at, &s.a), q.b = on_card(at + s.at_b, &s.b);
  return q;
}

/* The operands that are copied first, to the workspace. */
static xgemm_status gather(struct xg_gpu_call *call, const struct xg_problem *p,
                           const struct xg_gather *g, struct xg_gkr_args *args, void *stream)
{
  char *to = args->workspace;
  size_t size = xg_sizeof(p->type);
  xgemm_status status = XGEMM_OK;
  if (g->a) {
    args->a = to;
    status = XG_CUDA(call, (cudaError_t)xg_gpu_gather(size, p->m, p->k, p->a.data, p->a.rs, p->a.cs,
                                                      to, args->rs_a, args->cs_a, stream));
  }
  if (g->b && status == XGEMM_OK) {
    args->b = to + g->at_b;
    status =
        XG_CUDA(call, (cudaError_t)xg_gpu_gather(size, p->k, p->n, p->b.data, p->b.rs, p->b.cs,
                                                 to + g->at_b, args->rs_b, args->cs_b, stream));
  }
  args->workspace = to + g->bytes;
  return status;
}

xgemm_status xg_gpu_enqueue(struct xg_gpu_call *call, const struct xg_gkr *kernel,
                            const struct xg_problem *p, void *stream)
{
  struct xg_gather g;
  struct xg_gkr_args args = xg_gpu_args(p, xg_gpu_card(call->card), kernel ? &g : NULL);
  if (!kernel) return XG_CUDA(call, (cudaError_t)xg_gpu_scale(&args, xg_letter(p->type), stream));
  size_t bytes = g.bytes + (kernel->workspace ? kernel->workspace(&args) : 0);
  if (!bytes) return XG_CUDA(call, (cudaError_t)kernel->launch(&args, stream));
  void *memory;
  xgemm_status status = take_memory(call, stream, bytes, &memory);
  if (status != XGEMM_OK) return status;
  args.workspace = memory;
  status = gather(call, p, &g, &args, stream);
  if (status == XGEMM_OK) status = XG_CUDA(call, (cudaError_t)kernel->launch(&args, stream));
  cudaError_t freed = give_memory(call, stream, memory);
  return status != XGEMM_OK ? status : xg_cuda_check(call, freed, "cudaFreeAsync");
}

static xgemm_status stage_and_run(struct xg_gpu_call *call, const struct xg_gkr *kernel,
                                  const struct xg_problem *p, const struct stage *s, char *memory,
                                  cudaStream_t stream)
{
  xgemm_status status = XGEMM_OK;
  struct xg_problem q = xg_gpu_staged(p, memory);
  if (kernel) {
    status = copy(call, &s->a, memory, cudaMemcpyHostToDevice, stream);
    if (status == XGEMM_OK)
      status = copy(call, &s->b, memory + s->at_b, cudaMemcpyHostToDevice, stream);
  }
  if (status == XGEMM_OK && p->beta != 0)
    status = copy(call, &s->c, memory + s->at_c, cudaMemcpyHostToDevice, stream);
  if (status == XGEMM_OK) status = xg_gpu_enqueue(call, kernel, &q, stream);
  if (status != XGEMM_OK) return status;
  call->launched = 1;
  /* Waiting here keeps C as it was if the kernel fails. */
  status = XG_CUDA(call, cudaStreamSynchronize(stream));
  if (status == XGEMM_OK)
    status = copy(call, &s->c, memory + s->at_c, cudaMemcpyDeviceToHost, stream);
  return status;
}

static xgemm_status run_in(struct xg_gpu_call *call, const struct xg_gkr *kernel,
                           const struct xg_problem *p)
{
  struct stage s = stage_of(p);
  cudaStream_t stream;
  void *memory = NULL;
  xgemm_status status = take_stream(call, &stream);
  if (status != XGEMM_OK) return status;
  status = take_memory(call, stream, s.bytes, &memory);
  if (status == XGEMM_OK) status = stage_and_run(call, kernel, p, &s, memory, stream);
  cudaError_t freed = memory ? give_memory(call, stream, memory) : cudaSuccess;
  cudaError_t ended = cudaStreamSynchronize(stream);
  if (status == XGEMM_OK) status = xg_cuda_check(call, freed, "cudaFreeAsync");
  if (status == XGEMM_OK) status = xg_cuda_check(call, ended, "cudaStreamSynchronize");
  give_stream(call, stream);
  return status;
}

xgemm_status xg_gpu_run_staged(const struct xg_gpu_card *card, const struct xg_gkr *kernel,
                               const struct xg_problem *p)
{
  struct xg_gpu_call call;
  xgemm_status status = xg_gpu_enter(&call, card->id);
  if (status == XGEMM_OK) {
    uint64_t bytes = stage_of(p).bytes;
    status = reserve(&call, bytes);
    if (status == XGEMM_OK) {
      status = run_in(&call, kernel, p);
      unreserve(&call, bytes);
    }
  }
  return xg_gpu_leave(&call, status);
}
