/* Where a pointer is. The driver is asked, and only one that is already loaded in the process: a
 * program without CUDA pays a failed look-up, and a program that has not initialised CUDA is not
 * made to (cuPointerGetAttributes, unlike the runtime's function, never does). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cuda.h>

#include "device.h"

typedef CUresult ask_fn(unsigned count, CUpointer_attribute *what, void **values,
                        CUdeviceptr pointer);

static atomic_int forked; /* this process is the child of one that had the library loaded */

static void note_fork(void)
{
  atomic_store_explicit(&forked, 1, memory_order_relaxed);
}

static __attribute__((constructor)) void watch_forks(void)
{
  pthread_atfork(NULL, NULL, note_fork);
}

/* In a forked child the loader's lock may have been taken along from a thread that is not there any
 * more, so dlopen() is not called. There a pointer is the GPU's if the CPU cannot read it. */
static ask_fn *driver(void)
{
  static _Atomic(ask_fn *) known;
  ask_fn *ask = atomic_load_explicit(&known, memory_order_relaxed);
  if (ask || atomic_load_explicit(&forked, memory_order_relaxed)) return ask;
  void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (!library) return NULL;
  *(void **)&ask = dlsym(library, "cuPointerGetAttributes");
  atomic_store_explicit(&known, ask, memory_order_relaxed); /* the handle is kept on purpose */
  return ask;
}

/* Whether the CPU can read a byte there, found without a fault. */
static int readable(const void *pointer)
{
  char byte;
  struct iovec to = {&byte, 1}, from = {(void *)pointer, 1};
  return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 1;
}

xgemm_space xg_gpu_classify(const void *pointer, int *device)
{
  *device = -1;
  ask_fn *ask = driver();
  if (!ask && atomic_load_explicit(&forked, memory_order_relaxed))
    return readable(pointer) ? XGEMM_SPACE_HOST : XGEMM_SPACE_DEVICE;
  if (!ask) return XGEMM_SPACE_HOST;
  CUmemorytype type = 0;
  int managed = 0, ordinal = -1;
  CUpointer_attribute what[3] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                 CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  void *values[3] = {&type, &managed, &ordinal};
  CUresult error = ask(3, what, values, (CUdeviceptr)pointer);
  if (error == CUDA_ERROR_INVALID_VALUE) return XGEMM_SPACE_HOST;
  /* A broken context or a forked child: the driver does not tell. What the CPU cannot read must not
   * go to the CPU; the GPU backend will then say what is wrong. */
  if (error) return readable(pointer) ? XGEMM_SPACE_HOST : XGEMM_SPACE_DEVICE;
  if (managed) {
    *device = ordinal;
    return XGEMM_SPACE_MANAGED;
  }
  if (type != CU_MEMORYTYPE_DEVICE) return XGEMM_SPACE_HOST;
  *device = ordinal;
  return XGEMM_SPACE_DEVICE;
}
