# XG_CUDA - the CUDA toolkit, which the GPU engine is built with.
#
#   --with-cuda[=DIR]             must work, or configure stops with nvcc's words
#   --without-cuda                CPU only
#   neither                       $CUDA_HOME, nvcc in PATH, /usr/local/cuda; CPU only if none works
#   --with-cuda-host-compiler=CXX for nvcc -ccbin
#   --with-gpu-archs=LIST         sm_N: machine code; compute_N: PTX, compiled by newer drivers
#
# A .cu is compiled and linked to be sure. Sets NVCC, NVCCFLAGS, CUDA_CPPFLAGS, CUDA_LIBS (the static
# runtime), the conditional HAVE_CUDA, and xg_cuda_summary.
AC_DEFUN([XG_CUDA_MINIMUM], [12.0])

AC_DEFUN([XG_CUDA], [
  AC_ARG_WITH([cuda], [AS_HELP_STRING([--with-cuda=DIR], [CUDA toolkit (default: found, or CPU only)])],
    [], [with_cuda=auto])
  AC_ARG_WITH([cuda-host-compiler],
    [AS_HELP_STRING([--with-cuda-host-compiler=CXX], [C++ compiler for nvcc (default: nvcc's choice)])])
  AC_ARG_WITH([gpu-archs],
    [AS_HELP_STRING([--with-gpu-archs=LIST], [default: sm_80,sm_90a,compute_80])],
    [], [with_gpu_archs=sm_80,sm_90a,compute_80])

  have_cuda=no
  xg_cuda_why="switched off by --without-cuda"
  AS_IF([test "x$with_cuda" != xno], [XG_CUDA_FIND])
  AS_IF([test $have_cuda = yes], [XG_CUDA_TRY])
  AS_IF([test $have_cuda = yes],
    [xg_cuda_summary="CUDA $xg_cuda_version ($xg_cuda_dir), $with_gpu_archs"],
    [test "x$with_cuda" = xauto || test "x$with_cuda" = xno],
    [xg_cuda_summary="none: $xg_cuda_why"],
    [AC_MSG_ERROR([--with-cuda: $xg_cuda_why
$xg_cuda_said
Remedy: name a CUDA toolkit of XG_CUDA_MINIMUM or later with --with-cuda=DIR (the folder that holds bin/nvcc) and,
if nvcc refuses the C++ compiler, an older one with --with-cuda-host-compiler=CXX; or --without-cuda.])])
  AM_CONDITIONAL([HAVE_CUDA], [test $have_cuda = yes])
  dnl With -shared libtool compiles once, not once for each kind of library.
  AS_IF([test "x$enable_shared" = xyes], [NVCC_LIBTOOL=-shared], [NVCC_LIBTOOL=])
  AC_SUBST([NVCC_LIBTOOL])
  AC_SUBST([NVCC])
  AC_SUBST([NVCCFLAGS])
  AC_SUBST([NVCCFLAGS_ARCHS])
  AC_SUBST([NVCCFLAGS_SM90])
  AC_SUBST([CUDA_CPPFLAGS])
  AC_SUBST([CUDA_LIBS])
])

# have_cuda=yes if there is an nvcc that is new enough; else xg_cuda_why.
AC_DEFUN([XG_CUDA_FIND], [
  AS_CASE([$with_cuda],
    [yes | auto], [xg_cuda_path="${CUDA_HOME:+$CUDA_HOME/bin:}$PATH:/usr/local/cuda/bin"],
    [xg_cuda_path="$with_cuda/bin"])
  AC_PATH_PROG([NVCC], [nvcc], [], [$xg_cuda_path])
  AS_IF([test -z "$NVCC"],
    [xg_cuda_why="no nvcc in $xg_cuda_path"],
    [xg_cuda_version=`"$NVCC" --version | $SED -n 's/.*release \([[0-9]]*\.[[0-9]]*\).*/\1/p'`
     AS_VERSION_COMPARE([$xg_cuda_version], [XG_CUDA_MINIMUM],
       [xg_cuda_why="$NVCC is of CUDA $xg_cuda_version; XG_CUDA_MINIMUM or later is needed"],
       [have_cuda=yes], [have_cuda=yes])])
])

# Compiles and links a kernel; have_cuda=no, xg_cuda_why and xg_cuda_said if that fails.
AC_DEFUN([XG_CUDA_TRY], [
  dnl nvcc itself says where its toolkit is, whatever symbolic link or package it came by.
  xg_cuda_dir=`"$NVCC" --dryrun -c -x cu /dev/null 2>&1 | $SED -n 's/^#\$ TOP=//p'`
  xg_cuda_dir=`cd "$xg_cuda_dir" && pwd -P`
  CUDA_CPPFLAGS="-isystem $xg_cuda_dir/include"
  for xg_dir in lib64 lib targets/x86_64-linux/lib lib/x86_64-linux-gnu; do
    AS_IF([test -f "$xg_cuda_dir/$xg_dir/libcudart_static.a"],
      [CUDA_LIBS="-L$xg_cuda_dir/$xg_dir -lcudart_static -ldl -lrt -lpthread"; break])
  done

  dnl No libstdc++ in a C library: nvcc's host stubs want none of these.
  NVCCFLAGS="-std=c++20 -O3 -Xcompiler=-fvisibility=hidden,-fno-exceptions,-fno-rtti,-fno-threadsafe-statics"
  AS_IF([test -n "$with_cuda_host_compiler"], [NVCCFLAGS="-ccbin $with_cuda_host_compiler $NVCCFLAGS"])
  dnl gpu/kernel/sm90 uses what only that chip has, and its code runs on no other.
  NVCCFLAGS_ARCHS=
  NVCCFLAGS_SM90="-gencode arch=compute_90a,code=sm_90a"
  for xg_arch in `echo "$with_gpu_archs" | tr , ' '`; do
    xg_virtual=`echo $xg_arch | $SED 's/^sm_/compute_/'`
    NVCCFLAGS_ARCHS="$NVCCFLAGS_ARCHS -gencode arch=$xg_virtual,code=$xg_arch"
  done
  dnl A kernel that spills registers is a mistake, so a warning, so an error where warnings are.
  NVCCFLAGS="$NVCCFLAGS -Xptxas=-warn-spills"
  AS_IF([test "x$enable_werror" = xyes], [NVCCFLAGS="$NVCCFLAGS -Werror=all-warnings -Xptxas=-Werror"])
  AS_IF([echo '__global__ void f(){}' >conftest.cu
         "$NVCC" --compress-mode=size -cubin -o conftest.o conftest.cu >/dev/null 2>&1],
    [NVCCFLAGS="$NVCCFLAGS --compress-mode=size"],
    [NVCCFLAGS="$NVCCFLAGS -Xfatbin=-compress-all"])

  AC_MSG_CHECKING([whether $NVCC compiles a kernel])
  cat >conftest.cu <<'CU'
#include <cuda_runtime.h>
__global__ void twice(float *x) { *x *= 2; }
extern "C" int launch_twice(float *x) { twice<<<1, 1>>>(x); return (int)cudaGetLastError(); }
CU
  echo "int launch_twice(float *x); int main(void) { return launch_twice(0); }" >conftest.c
  xg_line="$NVCC $NVCCFLAGS $NVCCFLAGS_ARCHS -c conftest.cu -o conftest_cu.o"
  AS_IF([xg_cuda_said=`$xg_line 2>&1`],
    [xg_line="$CC $CFLAGS conftest.c conftest_cu.o $CUDA_LIBS -o conftest$ac_exeext"
     AS_IF([xg_cuda_said=`$xg_line 2>&1`], [],
       [have_cuda=no; xg_cuda_why="a program with a kernel does not link"])],
    [have_cuda=no; xg_cuda_why="nvcc cannot compile a kernel"])
  AC_MSG_RESULT([$have_cuda])
  AS_IF([test $have_cuda = no],
    [xg_cuda_said="  $xg_line
$xg_cuda_said"
     AS_IF([test "x$with_cuda" = xauto], [AC_MSG_WARN([no GPU engine: $xg_cuda_why:
$xg_cuda_said])])])
  rm -f conftest*
])
