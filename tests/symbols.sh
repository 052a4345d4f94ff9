#!/bin/sh
# What libxgemm.so shows and needs: public names only, no library but libc, libm, OpenMP's and
# hwloc, never to be unloaded, and a bounded size.
: "${top_builddir:=.}" "${NM:=nm}"
[ "${sanitizers:-no}" = yes ] && { echo 'SKIP: the sanitizers add names and libraries'; exit 77; }
library=$top_builddir/.libs/libxgemm.so
[ -f "$library" ] || { echo 'SKIP: no shared library in this build'; exit 77; }
broken=0
fail() { printf 'FAIL: %s\n' "$*"; broken=1; }

names=$($NM -D --defined-only "$library" | awk '{ print $3 }')
for name in $names; do
  case $name in
    xgemm | xgemm_* | [sd]gemm_ | [sd]gemm_64_ | [sd]gemm_64 | cblas_[sd]gemm | cblas_[sd]gemm_64 | \
      cblas_[sd]gemm64_ | RowMajorStrg | CBLAS_CallFromC) ;;
    *) fail "exports $name" ;;
  esac
done
for name in xgemm xgemm_plan_create sgemm_ dgemm_ cblas_sgemm cblas_dgemm sgemm_64_ dgemm_64_ \
  cblas_sgemm_64 cblas_dgemm_64 RowMajorStrg; do
  echo "$names" | grep -qx "$name" || fail "does not export $name"
done

dynamic=$(readelf -dW "$library")
for needed in $(echo "$dynamic" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
  case $needed in
    libc.so.* | ld-linux*.so.* | libm.so.* | libgomp.so.1 | libomp.so* | libhwloc.so.*) ;;
    libdl.so.2 | librt.so.1 | libpthread.so.0) ;; # parts of libc before glibc 2.34
    *) fail "needs $needed" ;;
  esac
done
echo "$dynamic" | grep -q 'SONAME.*\[libxgemm.so.0\]' || fail 'its soname is not libxgemm.so.0'
echo "$dynamic" | grep -q 'NODELETE' || fail 'it can be unloaded (no -z nodelete)'

stripped=$(mktemp)
trap 'rm -f "$stripped"' EXIT
strip -o "$stripped" "$library" || fail 'strip refuses it'
size=$(wc -c <"$stripped")
[ "$size" -le $((16 * 1024 * 1024)) ] || fail "stripped it has $size bytes, more than 16 MiB"

[ $broken = 0 ] && echo "symbols: $(echo "$names" | wc -l) public names, $size bytes stripped"
exit $broken
