#!/bin/sh
# LAPACK's linear-equation and some eigenvalue test programs (Debian: liblapack-test) with netlib's
# liblapack over libxgemm: hundreds of thousands of products of the sizes real codes make. By hand:
# a few minutes, most of them for the log lines that prove who computed.
. "$(dirname "$0")/common.sh"
folder=$multiarch/lapack
[ -x "$folder/xlintstd" ] || skip 'no xlintstd (Debian package liblapack-test)'
[ -d "$multiarch/blas" ] || skip "no netlib BLAS in $multiarch/blas (Debian package libblas3)"

# drive PROGRAM INPUT LETTER
drive() {
  # Only what the products are is logged; the log of a million lines goes to a pipe that counts.
  mkfifo "$work/pipe"
  grep -c "^xgemm: ${3}gemm " <"$work/pipe" >"$work/count" &
  exec 9>"$work/pipe"
  (cd "$work" && LD_LIBRARY_PATH=$multiarch/blas:$folder LD_PRELOAD=$library XGEMM_VERBOSE=1 \
    XGEMM_LOG_FILE=$work/pipe "$folder/$1" <"$folder/$2" >"$work/output" 2>&1 9>&-) ||
    fail "$1 < $2 ended with status $?"
  exec 9>&-
  wait
  rm -f "$work/pipe"
  passed=$(grep -cE 'passed the (threshold|tests)|All tests for' "$work/output")
  count=$(cat "$work/count")
  if grep -qE 'failed to pass|out of.*tests failed|\*\*\*' "$work/output"; then
    fail "$1 < $2"
    grep -E 'failed|\*\*\*' "$work/output" | head
  fi
  [ "$passed" -gt 0 ] || fail "$1 < $2: nothing passed"
  [ "${count:-0}" -gt 1000 ] || fail "$1 < $2: libxgemm computed ${count:-0} products"
  echo "$1 < $2: $passed passed, $count products by libxgemm"
}

drive xlintsts stest.in s
drive xlintstd dtest.in d
drive xeigtstd nep.in d
drive xeigtstd svd.in d
exit $broken
