#!/bin/sh
# The reference level-3 test drivers (Debian: libblas-test) over LD_PRELOAD: all operand pairs,
# scalars, sizes 0 .. 9, the error exits, and for the C ones both layouts.
. "$(dirname "$0")/common.sh"
folder=$multiarch/blas
[ -x "$folder/xblat3d" ] || skip 'no xblat3d (Debian package libblas-test)'

# drive PROGRAM INPUT LETTER PASSES GEMM-PASSES PRODUCTS
drive() {
  program=$1 input=$2 letter=$3 passes=$4 gemm=$5 products=$6
  (cd "$work" && rm -f ./*.out && LD_LIBRARY_PATH=$folder over "$folder/$program" <"$folder/$input" \
    >"$work/output" 2>&1) || fail "$program ended with status $?"
  cat "$work"/*.out >>"$work/output" 2>/dev/null
  got=$(grep -c 'PASSED THE' "$work/output")
  got_gemm=$(grep -ci "${letter}gemm  *PASSED THE" "$work/output")
  got_served=$(served "$letter")
  if [ "$got" != "$passes" ] || [ "$got_gemm" != "$gemm" ]; then
    fail "$program: $got lines PASSED instead of $passes, $got_gemm instead of $gemm of them gemm's"
    grep -v PASSED "$work/output" | head -40
  fi
  if grep -qE 'FAIL|\*\*\*|SUSPECT' "$work/output"; then
    fail "$program reports failures"
    grep -E 'FAIL|\*\*\*|SUSPECT' "$work/output" | head
  fi
  [ "${got_served:-0}" -ge "$products" ] ||
    fail "$program: libxgemm computed ${got_served:-0} products, at least $products were due"
  echo "$program: $got passed, $got_served products by libxgemm"
}

# Of 17496 calls each layout, those with nothing to compute leave no line in the log.
drive xblat3s sblat3.in s 12 2 10000
drive xblat3d dblat3.in d 12 2 10000
drive xscblat3 sin3 s 18 3 20000
drive xdcblat3 din3 d 18 3 30000
exit $broken
