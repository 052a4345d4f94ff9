# XG_ISA - flags for each CPU instruction set with kernels of its own.
# Sets AVX2_CFLAGS and AVX512_CFLAGS and the conditional XG_X86. The library chooses at run time, so
# a compiler that cannot make them is an error rather than a slower library.
AC_DEFUN([XG_ISA], [
  AC_CANONICAL_HOST
  AVX2_CFLAGS="-mavx2 -mfma"
  AVX512_CFLAGS="-mavx512f -mavx512dq -mavx512bw -mavx512vl -mfma -mprefer-vector-width=512"
  AS_CASE([$host_cpu], [x86_64 | amd64], [xg_x86=yes], [xg_x86=no])
  AS_IF([test $xg_x86 = yes],
    [AC_CACHE_CHECK([whether $CC makes AVX2 and AVX-512 code], [xg_cv_isa],
       [xg_save_CFLAGS=$CFLAGS
        CFLAGS="$CFLAGS $AVX2_CFLAGS $AVX512_CFLAGS"
        AC_COMPILE_IFELSE(
          [AC_LANG_PROGRAM([[#include <immintrin.h>
                             __m512 f(__m512 a) { return _mm512_fmadd_ps(a, a, a); }]])],
          [xg_cv_isa=yes], [xg_cv_isa=no])
        CFLAGS=$xg_save_CFLAGS])
     AS_IF([test $xg_cv_isa = no],
       [AC_MSG_ERROR([$CC does not take $AVX512_CFLAGS: gcc 11 or clang 14 is the oldest that will do])])
     xg_isa_summary="base avx2 avx512, chosen at run time"],
    [xg_isa_summary="base ($host_cpu has no kernels of its own yet)"])
  AM_CONDITIONAL([XG_X86], [test $xg_x86 = yes])
  AC_SUBST([AVX2_CFLAGS])
  AC_SUBST([AVX512_CFLAGS])
])
