# XG_OPENMP - OpenMP, which cpu/team.c needs.
# Sets OPENMP_CFLAGS, for compiling and linking, and OPENMP_LIBS, the run-time library by name, for
# those who link the static library (xgemm.pc).
AC_DEFUN([XG_OPENMP], [
  AC_OPENMP
  AC_CACHE_CHECK([whether OpenMP programs link], [xg_cv_openmp],
    [xg_save_CFLAGS=$CFLAGS
     CFLAGS="$CFLAGS $OPENMP_CFLAGS"
     AC_LINK_IFELSE(
       [AC_LANG_PROGRAM([[#include <omp.h>
                          #ifndef _OPENMP
                          #error no OpenMP
                          #endif]], [[return omp_get_max_threads();]])],
       [xg_cv_openmp=yes], [xg_cv_openmp=no])
     CFLAGS=$xg_save_CFLAGS])
  AS_IF([test $xg_cv_openmp = no],
    [AC_MSG_ERROR([OpenMP does not work with $CC. gcc has it built in; for clang install libomp-dev.])])
  AC_COMPILE_IFELSE([AC_LANG_SOURCE([[#ifdef __clang__
                                      #error libomp
                                      #endif]])],
    [OPENMP_LIBS=-lgomp], [OPENMP_LIBS=-lomp])
  AC_SUBST([OPENMP_LIBS])
])
