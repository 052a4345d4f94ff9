/* Device memory and device clocks through the CUDA runtime that is linked in statically. */
#include "device.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>

#include "timing.h"

static char error_text[256];
static cudaStream_t stream;
static cudaEvent_t first, last;

static int failed(const char *what, cudaError_t error)
{
  if (error == cudaSuccess) return 0;
  snprintf(error_text, sizeof error_text, "%s: %s", what, cudaGetErrorString(error));
  cudaGetLastError();
  return -1;
}

const char *xgb_device_error(void)
{
  return error_text;
}

const char *xgb_device_reason(void)
{
  static int state; /* 0 not tried, 1 usable, 2 not */
  int count = 0;
  if (state == 0) {
    state = 2;
    if (failed("cudaGetDeviceCount", cudaGetDeviceCount(&count)) == 0 &&
        failed("cudaStreamCreate", cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)) ==
            0 &&
        failed("cudaEventCreate", cudaEventCreate(&first)) == 0 &&
        failed("cudaEventCreate", cudaEventCreate(&last)) == 0)
      state = 1;
  }
  return state == 1 ? NULL : error_text;
}

static int attribute(enum cudaDeviceAttr which)
{
  int value = 0, device = 0;
  cudaGetDevice(&device);
  return cudaDeviceGetAttribute(&value, which, device) == cudaSuccess ? value : 0;
}

static int properties(struct cudaDeviceProp *p)
{
  int device = 0;
  cudaGetDevice(&device);
  return failed("cudaGetDeviceProperties", cudaGetDeviceProperties(p, device));
}

void xgb_device_name(char *text, size_t size)
{
  struct cudaDeviceProp p;
  if (size > 0) text[0] = 0;
  if (!xgb_device_reason() && properties(&p) == 0) snprintf(text, size, "%s", p.name);
}

/* Bytes/s of the best of three copies. */
static double copy_rate(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
  double best = 0;
  for (int i = 0; i < 4; i++) { /* the first warms up */
    double start = xgb_now();
    if (cudaMemcpyAsync(to, from, bytes, kind, stream) != cudaSuccess ||
        cudaStreamSynchronize(stream) != cudaSuccess)
      return 0;
    double rate = (double)bytes / (xgb_now() - start);
    if (i > 0 && rate > best) best = rate;
  }
  return best;
}

static void describe_copies(FILE *out)
{
  size_t bytes = (size_t)1 << 28;
  void *a = xgb_device_alloc(bytes), *b = xgb_device_alloc(bytes), *pinned = NULL;
  void *pageable = calloc(1, bytes);
  if (a && b && pageable && cudaMallocHost(&pinned, bytes) == cudaSuccess)
    fprintf(out,
            "  copies     device to device %.0f GB/s (read and write counted), host to device %.1f "
            "(pinned), %.1f (pageable), back %.1f (pinned), %.1f (pageable)\n",
            2e-9 * copy_rate(a, b, bytes, cudaMemcpyDeviceToDevice),
            1e-9 * copy_rate(a, pinned, bytes, cudaMemcpyHostToDevice),
            1e-9 * copy_rate(a, pageable, bytes, cudaMemcpyHostToDevice),
            1e-9 * copy_rate(pinned, a, bytes, cudaMemcpyDeviceToHost),
            1e-9 * copy_rate(pageable, a, bytes, cudaMemcpyDeviceToHost));
  xgb_device_free(a);
  xgb_device_free(b);
  if (pinned) cudaFreeHost(pinned);
  free(pageable);
}

void xgb_device_describe(FILE *out)
{
  struct cudaDeviceProp p;
  int driver = 0, runtime = 0;
  if (xgb_device_reason() || properties(&p)) return;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  fprintf(out, "  card       %s, compute capability %d.%d, %d SMs, %.1f GiB, L2 %.0f MiB\n", p.name,
          p.major, p.minor, p.multiProcessorCount, (double)p.totalGlobalMem / (1 << 30),
          (double)p.l2CacheSize / (1 << 20));
  fprintf(out, "  driver     supports CUDA %d.%d; runtime built in: %d.%d\n", driver / 1000,
          driver / 10 % 100, runtime / 1000, runtime / 10 % 100);
  fprintf(out, "  peak       f32 %.1f, f64 %.1f TFLOP/s by units and highest clock\n",
          1e-12 * xgb_device_peak(XGEMM_F32), 1e-12 * xgb_device_peak(XGEMM_F64));
  describe_copies(out);
}

double xgb_device_peak(xgemm_type type)
{
  /* Multiply-adds of an SM and clock, from the tables of NVIDIA's programming guide and white
   * papers. f64: the tensor cores where they are faster (A100, H100): they round as the FMA units
   * do. */
  static const struct {
    int major, minor, f32, f64;
  } units[] = {{8, 0, 64, 64}, {8, 6, 128, 2},   {8, 7, 128, 2},
               {8, 9, 128, 2}, {9, 0, 128, 128}, {10, 0, 128, 64}};
  if (xgb_device_reason()) return 0;
  int major = attribute(cudaDevAttrComputeCapabilityMajor);
  int minor = attribute(cudaDevAttrComputeCapabilityMinor);
  double clock = 1e3 * attribute(cudaDevAttrClockRate);
  for (size_t i = 0; i < sizeof units / sizeof *units; i++)
    if (units[i].major == major && units[i].minor == minor)
      return 2.0 * (type == XGEMM_F64 ? units[i].f64 : units[i].f32) * clock *
             attribute(cudaDevAttrMultiProcessorCount);
  return 0;
}

size_t xgb_device_l2(void)
{
  return xgb_device_reason() ? 0 : (size_t)attribute(cudaDevAttrL2CacheSize);
}

void *xgb_device_alloc(size_t bytes)
{
  void *pointer = NULL;
  if (xgb_device_reason() || failed("cudaMalloc", cudaMalloc(&pointer, bytes > 0 ? bytes : 1)))
    return NULL;
  return pointer;
}

void xgb_device_free(void *pointer)
{
  if (pointer) cudaFree(pointer);
}

static int copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
  if (bytes == 0) return 0;
  return failed("cudaMemcpy", cudaMemcpyAsync(to, from, bytes, kind, stream)) ||
                 failed("cudaStreamSynchronize", cudaStreamSynchronize(stream))
             ? -1
             : 0;
}

int xgb_device_upload(void *device, const void *host, size_t bytes)
{
  return copy(device, host, bytes, cudaMemcpyHostToDevice);
}

int xgb_device_copy(void *to, const void *from, size_t bytes)
{
  return copy(to, from, bytes, cudaMemcpyDeviceToDevice);
}

int xgb_device_download(void *host, const void *device, size_t bytes)
{
  return copy(host, device, bytes, cudaMemcpyDeviceToHost);
}

void *xgb_device_stream(void)
{
  return stream;
}

double xgb_device_time(int (*work)(void *context, long i), void *context, long calls)
{
  float milliseconds = 0;
  int bad = failed("cudaEventRecord", cudaEventRecord(first, stream));
  for (long i = 0; i < calls && !bad; i++) bad = work(context, i);
  if (bad || failed("cudaEventRecord", cudaEventRecord(last, stream)) ||
      failed("cudaEventSynchronize", cudaEventSynchronize(last)) ||
      failed("cudaEventElapsedTime", cudaEventElapsedTime(&milliseconds, first, last)))
    return -1;
  return 1e-3 * milliseconds;
}

static int launch_graph(void *graph, long i)
{
  (void)i;
  return failed("cudaGraphLaunch", cudaGraphLaunch(graph, stream));
}

double xgb_device_graph_time(int (*work)(void *context, long i), void *context, long calls,
                             int repeats)
{
  enum { MOST = 64 };
  double seconds[MOST];
  cudaGraph_t graph = NULL;
  cudaGraphExec_t exec = NULL;
  int bad = failed("cudaStreamBeginCapture",
                   cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  if (bad) return -1;
  for (long i = 0; i < calls && !bad; i++) bad = work(context, i);
  if (failed("cudaStreamEndCapture", cudaStreamEndCapture(stream, &graph))) bad = -1;
  if (!bad) bad = failed("cudaGraphInstantiate", cudaGraphInstantiate(&exec, graph, 0));
  if (!bad) bad = xgb_device_time(launch_graph, exec, 1) < 0;
  int count = repeats < MOST ? repeats : MOST;
  for (int r = 0; r < count && !bad; r++)
    bad = (seconds[r] = xgb_device_time(launch_graph, exec, 1)) < 0;
  if (exec) cudaGraphExecDestroy(exec);
  if (graph) cudaGraphDestroy(graph);
  return bad ? -1 : xgb_median(seconds, count) / (double)calls;
}
