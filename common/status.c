#include "status.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local char reason[256];

xgemm_status xg_fail(xgemm_status status, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  vsnprintf(reason, sizeof reason, format, args);
  va_end(args);
  return status;
}

const char *xgemm_last_reason(void)
{
  return reason;
}

const char *xgemm_strerror(xgemm_status status)
{
  switch (status) {
  case XGEMM_OK:
    return "XGEMM_OK";
  case XGEMM_INVALID_ARGUMENT:
    return "XGEMM_INVALID_ARGUMENT";
  case XGEMM_UNSUPPORTED:
    return "XGEMM_UNSUPPORTED";
  case XGEMM_UNKNOWN_NAME:
    return "XGEMM_UNKNOWN_NAME";
  case XGEMM_OUT_OF_MEMORY:
    return "XGEMM_OUT_OF_MEMORY";
  case XGEMM_NO_DEVICE:
    return "XGEMM_NO_DEVICE";
  case XGEMM_DEVICE_ERROR:
    return "XGEMM_DEVICE_ERROR";
  }
  return "unknown xgemm_status";
}

int xgemm_version(void)
{
  return XGEMM_VERSION;
}
