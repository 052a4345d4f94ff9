#include "device.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../common/env.h"
#include "../common/status.h"

/* ---------------------------------------------------------------- cards */

/* FMA units per multiprocessor and clock, by compute capability: the datacentre chips differ. */
static int units_s(int cc)
{
  return cc == 80 ? 64 : 128;
}

static int units_d(int cc)
{
  return cc == 80 ? 32 : cc == 90 || cc == 100 ? 64 : 2;
}

/* Tensor Cores, as a multiple of the FMA units. */
static int tensor_d(int cc)
{
  return cc == 80 || cc == 90 ? 2 : 1;
}

double xg_gpu_peak(const struct xg_gpu_card *card, xgemm_type type)
{
  return type == XGEMM_F64 ? card->peak_d : card->peak_s;
}

const struct xg_gpu_card *xg_gpu_assumed_card(void)
{
  static const struct xg_gpu_card card = {.id = -1,
                                          .name = "not asked yet",
                                          .cc = XG_LEAST_CC,
                                          .sms = 80,
                                          .clock = 1.4e9,
                                          .bandwidth = 1e12,
                                          .peak_s = 10e12,
                                          .peak_d = 2.5e12,
                                          .peak_tensor_d = 2.5e12,
                                          .memory = UINT64_MAX};
  return &card;
}

void xg_gpu_judge(struct xg_gpu_card *card)
{
  card->reason[0] = 0;
  if (card->cc < XG_LEAST_CC)
    snprintf(card->reason, sizeof card->reason,
             "%s has compute capability %d.%d, and the least supported is %d.%d", card->name,
             card->cc / 10, card->cc % 10, XG_LEAST_CC / 10, XG_LEAST_CC % 10);
}

static cudaError_t fill_card(struct xg_gpu_card *card, int id)
{
  struct cudaDeviceProp properties;
  cudaError_t error = cudaGetDeviceProperties(&properties, id);
  int clock = 0, memory_clock = 0, bus = 0, pools = 0;
  if (!error) error = cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, id);
  if (!error) error = cudaDeviceGetAttribute(&memory_clock, cudaDevAttrMemoryClockRate, id);
  if (!error) error = cudaDeviceGetAttribute(&bus, cudaDevAttrGlobalMemoryBusWidth, id);
  if (!error) error = cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, id);
  if (error) return error;
  *card = (struct xg_gpu_card){.id = id,
                               .cc = 10 * properties.major + properties.minor,
                               .sms = properties.multiProcessorCount,
                               .clock = 1e3 * clock,
                               .bandwidth = 2e3 * memory_clock * bus / 8,
                               .memory = properties.totalGlobalMem,
                               .pools = pools};
  snprintf(card->name, sizeof card->name, "%s", properties.name);
  double fma = 2.0 * card->sms * card->clock;
  card->peak_s = fma * units_s(card->cc), card->peak_d = fma * units_d(card->cc);
  card->peak_tensor_d = card->peak_d * tensor_d(card->cc);
  xg_gpu_judge(card);
  return cudaSuccess;
}

/* ---------------------------------------------------------------- the start, once */

enum state { UNTRIED, STARTED, FAILED };

static atomic_int state, forked;
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
static char failure[768];
static struct xg_gpu_card cards[XG_MAX_DEVICES];
static int card_count;

static const char after_fork[] = "CUDA was started before this process was forked";

static void in_child(void)
{
  atomic_store(&forked, 1);
}

void xg_gpu_explain(cudaError_t error, int driver, int needed, char *why, size_t size)
{
  if (error == cudaErrorNoDevice)
    snprintf(why, size, "the driver found no CUDA device");
  else if (driver == 0)
    snprintf(why, size, "no NVIDIA driver is installed (libcuda.so.1 was not found)");
  else if (error == cudaErrorInsufficientDriver || driver < needed / 1000 * 1000)
    snprintf(why, size,
             "the NVIDIA driver is too old: it supports CUDA %d.%d, and a driver for CUDA %d.0 or "
             "newer is needed",
             driver / 1000, driver % 1000 / 10, needed / 1000);
  else if (error == cudaErrorInitializationError)
    snprintf(why, size,
             "CUDA could not be initialised (%s); a process forked from one that uses CUDA cannot",
             cudaGetErrorString(error));
  else
    snprintf(why, size, "CUDA could not be started: %s (%s)", cudaGetErrorString(error),
             cudaGetErrorName(error));
}

static int allowed(int id)
{
  const struct xg_env *env = xg_env();
  for (int i = 0; i < env->device_count; i++)
    if (env->devices[i] == id) return 1;
  return env->device_count == 0;
}

/* The first card that can be used, the current one before the others. */
static const struct xg_gpu_card *first_usable(void)
{
  int current = 0;
  if (cudaGetDevice(&current) || current < 0 || current >= card_count) current = 0;
  for (int i = 0; i < card_count; i++) {
    int id = (current + i) % card_count;
    if (allowed(id) && !cards[id].reason[0]) return &cards[id];
  }
  return NULL;
}

/* Ends with the primary context of the first usable card in place: that is what takes the time. */
static enum state start_cuda(void)
{
  int driver = 0, runtime = 0, count = 0;
  cudaError_t error = cudaDriverGetVersion(&driver);
  if (!error) error = cudaRuntimeGetVersion(&runtime);
  if (!error) error = cudaGetDeviceCount(&count);
  if (count > XG_MAX_DEVICES) count = XG_MAX_DEVICES;
  for (int i = 0; i < count && !error; i++) error = fill_card(&cards[i], i);
  if (!error && count == 0) error = cudaErrorNoDevice;
  if (error) {
    xg_gpu_explain(error, driver, runtime, failure, sizeof failure);
    cudaGetLastError();
    return FAILED;
  }
  card_count = count;
  const struct xg_gpu_card *card = first_usable();
  if (!card) {
    const char *why =
        cards[0].reason[0] ? cards[0].reason : "XGEMM_DEVICES names no card that is here";
    snprintf(failure, sizeof failure, "%s", why);
    return FAILED;
  }
  error = cudaInitDevice(card->id, 0, 0);
  if (error) {
    snprintf(failure, sizeof failure, "card %d (%s) could not be opened: %s", card->id, card->name,
             cudaGetErrorString(error));
    cudaGetLastError();
    return FAILED;
  }
  return STARTED;
}

/* A driver that is not there is seen without loading anything. */
static int driver_in_sight(void)
{
  return access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0;
}

static const char *answer(int now)
{
  if (now == FAILED) return failure;
  return atomic_load(&forked) ? after_fork : NULL;
}

const char *xg_gpu_available(int start)
{
  int now = atomic_load_explicit(&state, memory_order_acquire);
  if (now != UNTRIED || atomic_load(&forked)) return answer(now);
  if (!driver_in_sight()) return "no NVIDIA driver is loaded (there is no /dev/nvidiactl)";
  if (!start) return NULL;
  pthread_mutex_lock(&starting);
  now = atomic_load(&state);
  if (now == UNTRIED) {
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    pthread_atfork(NULL, NULL, in_child);
    cudaThreadExchangeStreamCaptureMode(&mode);
    now = start_cuda();
    cudaThreadExchangeStreamCaptureMode(&mode);
    atomic_store_explicit(&state, now, memory_order_release);
  }
  pthread_mutex_unlock(&starting);
  return answer(now);
}

int xg_gpu_started(void)
{
  return atomic_load_explicit(&state, memory_order_acquire) == STARTED && !atomic_load(&forked);
}

int xg_gpu_count(void)
{
  return atomic_load_explicit(&state, memory_order_acquire) == UNTRIED ? 0 : card_count;
}

const struct xg_gpu_card *xg_gpu_card(int id)
{
  return id >= 0 && id < xg_gpu_count() ? &cards[id] : NULL;
}

const struct xg_gpu_card *xg_gpu_find(int operands_on, int asked, char *why, size_t size)
{
  int id = operands_on >= 0 ? operands_on : asked - 1;
  if (operands_on >= 0 && asked > 0 && asked - 1 != operands_on) {
    snprintf(why, size, "the operands are on card %d and card %d was asked for", operands_on,
             asked - 1);
    return NULL;
  }
  if (id < 0) {
    const struct xg_gpu_card *card = first_usable();
    if (!card) snprintf(why, size, "no card can be used");
    return card;
  }
  const struct xg_gpu_card *card = xg_gpu_card(id);
  if (!card)
    snprintf(why, size, "there is no card %d, only %d of them", id, xg_gpu_count());
  else if (!allowed(id))
    snprintf(why, size, "XGEMM_DEVICES does not name card %d", id);
  else if (card->reason[0])
    snprintf(why, size, "%s", card->reason);
  else
    return card;
  return NULL;
}

/* ---------------------------------------------------------------- checked calls */

static atomic_long fail_at, calls;
static atomic_int fail_with;

void xg_cuda_fail_at(long n, cudaError_t error)
{
  atomic_store(&fail_with, (int)error);
  atomic_store(&calls, 0);
  atomic_store(&fail_at, n);
}

long xg_cuda_calls(void)
{
  return atomic_load(&calls);
}

cudaError_t xg_cuda_injected(void)
{
  long n = atomic_fetch_add(&calls, 1) + 1;
  return n == atomic_load(&fail_at) ? (cudaError_t)atomic_load(&fail_with) : cudaSuccess;
}

/* Errors after which a context answers nothing but the same error. */
static int is_lasting(cudaError_t error)
{
  switch (error) {
  case cudaErrorIllegalAddress:
  case cudaErrorLaunchFailure:
  case cudaErrorLaunchTimeout:
  case cudaErrorAssert:
  case cudaErrorHardwareStackError:
  case cudaErrorIllegalInstruction:
  case cudaErrorMisalignedAddress:
  case cudaErrorInvalidAddressSpace:
  case cudaErrorInvalidPc:
  case cudaErrorECCUncorrectable:
  case cudaErrorContextIsDestroyed:
    return 1;
  default:
    return 0;
  }
}

xgemm_status xg_cuda_check(const struct xg_gpu_call *call, cudaError_t error, const char *text)
{
  if (error == cudaSuccess) return XGEMM_OK;
  int name = (int)strcspn(text, "("); /* the function's name is enough */
  if (is_lasting(error) && !call->launched)
    return xg_fail(XGEMM_DEVICE_ERROR, "the CUDA context was already broken before this call: %s",
                   cudaGetErrorString(error));
  xgemm_status status = XGEMM_DEVICE_ERROR;
  if (error == cudaErrorMemoryAllocation) status = XGEMM_OUT_OF_MEMORY;
  if (error == cudaErrorNoDevice || error == cudaErrorDevicesUnavailable) status = XGEMM_NO_DEVICE;
  return xg_fail(status, "%.*s on card %d: %s (%s)", name, text, call->card,
                 cudaGetErrorString(error), cudaGetErrorName(error));
}

xgemm_status xg_gpu_enter(struct xg_gpu_call *call, int card)
{
  *call = (struct xg_gpu_call){.card = card, .mode = cudaStreamCaptureModeRelaxed};
  call->pending = cudaPeekAtLastError();
  /* Loading a kernel for the first time is no part of the caller's stream capture. */
  cudaThreadExchangeStreamCaptureMode(&call->mode);
  if (is_lasting(call->pending)) return xg_cuda_check(call, call->pending, "cudaPeekAtLastError");
  xgemm_status status = XG_CUDA(call, cudaGetDevice(&call->previous));
  if (status == XGEMM_OK && call->previous != card) {
    status = XG_CUDA(call, cudaSetDevice(card));
    call->switched = status == XGEMM_OK;
  }
  return status;
}

xgemm_status xg_gpu_leave(struct xg_gpu_call *call, xgemm_status status)
{
  if (call->switched) cudaSetDevice(call->previous);
  cudaThreadExchangeStreamCaptureMode(&call->mode);
  /* Our own failure has been reported by its status; what the caller had not fetched stays. */
  if (status != XGEMM_OK && call->pending == cudaSuccess) cudaGetLastError();
  return status;
}
