/* The build has no CUDA. */
#include "device.h"

const char *xgb_device_reason(void)
{
  return "this build has no CUDA";
}

const char *xgb_device_error(void)
{
  return xgb_device_reason();
}

void xgb_device_name(char *text, size_t size)
{
  if (size > 0) text[0] = 0;
}

void xgb_device_describe(FILE *out)
{
  (void)out;
}

double xgb_device_peak(xgemm_type type)
{
  (void)type;
  return 0;
}

double xgb_device_peak_half(void)
{
  return 0;
}

size_t xgb_device_l2(void)
{
  return 0;
}

int xgb_device_sms(void)
{
  return 0;
}

double xgb_device_clock(void)
{
  return 0;
}

int xgb_device_cc(void)
{
  return 0;
}

double xgb_device_copy_rate(void)
{
  return 0;
}

void *xgb_device_alloc(size_t bytes)
{
  (void)bytes;
  return NULL;
}

void xgb_device_free(void *pointer)
{
  (void)pointer;
}

int xgb_device_upload(void *device, const void *host, size_t bytes)
{
  (void)device, (void)host, (void)bytes;
  return -1;
}

int xgb_device_copy(void *to, const void *from, size_t bytes)
{
  (void)to, (void)from, (void)bytes;
  return -1;
}

int xgb_device_download(void *host, const void *device, size_t bytes)
{
  (void)host, (void)device, (void)bytes;
  return -1;
}

int xgb_device_set(void *device, int byte, size_t bytes)
{
  (void)device, (void)byte, (void)bytes;
  return -1;
}

int xgb_device_flush(void)
{
  return -1;
}

void *xgb_device_stream(void)
{
  return NULL;
}

double xgb_device_time(int (*work)(void *context, long i), void *context, long calls)
{
  (void)work, (void)context, (void)calls;
  return -1;
}

void *xgb_device_capture(int (*work)(void *context, long i), void *context, long calls)
{
  (void)work, (void)context, (void)calls;
  return NULL;
}

double xgb_device_replay(void *graph)
{
  (void)graph;
  return -1;
}

void xgb_device_graph_free(void *graph)
{
  (void)graph;
}
