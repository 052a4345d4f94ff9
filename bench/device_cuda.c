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

/* Multiply-adds of an SM and clock, from the tables of NVIDIA's programming guide and white papers.
 * f64: the tensor cores where they are faster (A100, H100): they round as the FMA units do. half:
 * 16-bit factors, sums in f32. */
struct units {
  int cc, f32, f64, half;
};

static struct units units_of(int cc)
{
  static const struct units known[] = {{80, 64, 64, 1024},   {86, 128, 2, 256},
                                       {87, 128, 2, 256},    {89, 128, 2, 256},
                                       {90, 128, 128, 2048}, {100, 128, 64, 4096}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (known[i].cc == cc) return known[i];
  return (struct units){0};
}

/* Flop/s of `each` multiply-adds of every SM and clock. */
static double rate_of(int each)
{
  if (each == 0) return 0;
  return 2.0 * each * xgb_device_clock() * xgb_device_sms();
}

double xgb_device_peak(xgemm_type type)
{
  struct units units = units_of(xgb_device_cc());
  return rate_of(type == XGEMM_F64 ? units.f64 : units.f32);
}

double xgb_device_peak_half(void)
{
  return rate_of(units_of(xgb_device_cc()).half);
}

size_t xgb_device_l2(void)
{
  return xgb_device_reason() ? 0 : (size_t)attribute(cudaDevAttrL2CacheSize);
}

int xgb_device_sms(void)
{
  return xgb_device_reason() ? 0 : attribute(cudaDevAttrMultiProcessorCount);
}

double xgb_device_clock(void)
{
  return xgb_device_reason() ? 0 : 1e3 * attribute(cudaDevAttrClockRate);
}

int xgb_device_cc(void)
{
  if (xgb_device_reason()) return 0;
  return 10 * attribute(cudaDevAttrComputeCapabilityMajor) +
         attribute(cudaDevAttrComputeCapabilityMinor);
}

struct pair {
  char *to, *from;
  size_t bytes;
};

static int copy_once(void *context, long i)
{
  const struct pair *p = context;
  (void)i;
  return failed("cudaMemcpyAsync",
                cudaMemcpyAsync(p->to, p->from, p->bytes, cudaMemcpyDeviceToDevice, stream));
}

double xgb_device_copy_rate(void)
{
  enum { SAMPLES = 7 };
  static double rate = -1;
  double seconds[SAMPLES];
  struct pair p = {.bytes = (size_t)1 << 29};
  if (rate >= 0) return rate;
  rate = 0;
  p.to = xgb_device_alloc(p.bytes), p.from = xgb_device_alloc(p.bytes);
  int bad = !p.to || !p.from || xgb_device_set(p.from, 1, p.bytes) ||
            xgb_device_time(copy_once, &p, 1) < 0;
  for (int i = 0; i < SAMPLES && !bad; i++)
    bad = (seconds[i] = xgb_device_time(copy_once, &p, 1)) <= 0;
  if (!bad) rate = 2 * (double)p.bytes / xgb_median(seconds, SAMPLES);
  xgb_device_free(p.to);
  xgb_device_free(p.from);
  return rate;
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

int xgb_device_set(void *device, int byte, size_t bytes)
{
  return failed("cudaMemsetAsync", cudaMemsetAsync(device, byte, bytes, stream));
}

int xgb_device_flush(void)
{
  static void *other;
  size_t bytes = 3 * xgb_device_l2();
  if (!other) other = xgb_device_alloc(bytes);
  return other ? xgb_device_set(other, 0, bytes) : -1;
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

void *xgb_device_capture(int (*work)(void *context, long i), void *context, long calls)
{
  cudaGraph_t graph = NULL;
  cudaGraphExec_t exec = NULL;
  if (failed("cudaStreamBeginCapture",
             cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal)))
    return NULL;
  int bad = 0;
  for (long i = 0; i < calls && !bad; i++) bad = work(context, i);
  cudaError_t ended = cudaStreamEndCapture(stream, &graph);
  if (bad)
    snprintf(error_text, sizeof error_text, "a call failed while it was captured");
  else
    bad = failed("cudaStreamEndCapture", ended);
  if (!bad) bad = failed("cudaGraphInstantiate", cudaGraphInstantiate(&exec, graph, 0));
  if (graph) cudaGraphDestroy(graph);
  cudaGetLastError();
  if (bad || xgb_device_replay(exec) >= 0) return bad ? NULL : exec; /* the first one uploads it */
  cudaGraphExecDestroy(exec);
  return NULL;
}

static int launch_graph(void *graph, long i)
{
  (void)i;
  return failed("cudaGraphLaunch", cudaGraphLaunch(graph, stream));
}

double xgb_device_replay(void *graph)
{
  return xgb_device_time(launch_graph, graph, 1);
}

void xgb_device_graph_free(void *graph)
{
  if (graph) cudaGraphExecDestroy(graph);
}
