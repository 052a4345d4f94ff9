/* CMocka with the headers it wants before it. */
#ifndef CM_H
#define CM_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
