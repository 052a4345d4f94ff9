#include "status.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Each thread's text hangs on a key, not in thread-local storage: a library that is opened at run
 * time finds little room there, and only failing calls need this. */
enum { REASON_SIZE = 256 };

static pthread_key_t key;
static int have_key;

static void make_key(void)
{
  have_key = pthread_key_create(&key, free) == 0;
}

static char *reason_buffer(int create)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, make_key);
  char *buffer = have_key ? pthread_getspecific(key) : NULL;
  if (buffer || !create || !have_key) return buffer;
  buffer = calloc(1, REASON_SIZE);
  if (buffer && pthread_setspecific(key, buffer) != 0) {
    free(buffer);
    buffer = NULL;
  }
  return buffer;
}

xgemm_status xg_fail(xgemm_status status, const char *format, ...)
{
  char *reason = reason_buffer(1);
  if (!reason) return status;
  va_list args;
  va_start(args, format);
  vsnprintf(reason, REASON_SIZE, format, args);
  va_end(args);
  return status;
}

const char *xgemm_last_reason(void)
{
  const char *reason = reason_buffer(0);
  return reason ? reason : "";
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
