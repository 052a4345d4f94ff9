# XG_HWLOC - hwloc 2, which says how many cores there are and which share caches.
AC_DEFUN([XG_HWLOC], [
  PKG_CHECK_MODULES([HWLOC], [hwloc >= 2.0], [],
    [AC_MSG_ERROR([hwloc 2.0 or later is needed: install libhwloc-dev (or name it in HWLOC_CFLAGS and HWLOC_LIBS).
$HWLOC_PKG_ERRORS])])
])
