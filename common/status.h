/* The thread-local reason behind a refusing status. */
#ifndef XG_STATUS_H
#define XG_STATUS_H

#include "xgemm.h"

/* Formats the reason of this thread and returns `status`: return xg_fail(XGEMM_..., "m is %lld",
 * m); */
xgemm_status xg_fail(xgemm_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
