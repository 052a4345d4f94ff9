#!/bin/sh
# Runs checkgemm on emulated CPUs: one without AVX-512 and one without AVX2 either. An instruction
# that the CPU lacks is SIGILL there, so this proves that each kernel is reached only where it may be.
# By hand, from the build folder, after `make check`; needs qemu-user 7.2 or later.
: "${top_builddir:=.}"
command -v qemu-x86_64 >/dev/null || { echo 'SKIP: no qemu-x86_64 (package qemu-user)'; exit 77; }
top_builddir=$(cd "$top_builddir" && pwd)
checkgemm=$top_builddir/tests/checkgemm
xgemm=$top_builddir/xgemm
[ -x "$checkgemm" ] && [ -x "$xgemm" ] || { echo "FAIL: $checkgemm and $xgemm are not built"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
broken=0
fail() { printf 'FAIL: %s\n' "$*"; broken=1; }

# emulate CPU HIGHEST LACKING: HIGHEST is the best instruction set there, LACKING must not be used.
emulate() {
  cpu=$1 highest=$2 lacking=$3
  echo "==> $cpu: kernels up to $highest"
  run="qemu-x86_64 -cpu $cpu"
  $run "$checkgemm" --quick >"$work/out" 2>&1 || fail "$cpu: checkgemm --quick: status $?"
  tail -n 1 "$work/out"
  $run "$checkgemm" --list >"$work/out" 2>&1 || fail "$cpu: checkgemm --list: status $?"
  grep -q "_${highest}_.* yes$" "$work/out" || fail "$cpu: no $highest kernel runs"
  grep "_${lacking}_.* yes$" "$work/out" && fail "$cpu: a $lacking kernel that should run here?"
  $run "$xgemm" bench --backend cpu --reps 1 --min-time 0 --csv "$work/rows.csv" m=n=k=8,200 >"$work/out" 2>&1 ||
    { fail "$cpu: xgemm bench: status $?"; tail -n 5 "$work/out"; }
  grep -q "_${highest}_" "$work/rows.csv" || { fail "$cpu: not computed by $highest kernels"; cat "$work/rows.csv"; }
  XGEMM_CPU=$lacking $run "$xgemm" bench --backend cpu --reps 1 --min-time 0 m=n=k=8,200 >"$work/out" 2>&1
  status=$?
  echo "XGEMM_CPU=$lacking: status $status, $(grep -m 1 "$lacking" "$work/out")"
  [ $status -lt 128 ] || fail "$cpu: XGEMM_CPU=$lacking ends with signal $((status - 128))"
}

emulate Haswell avx2 avx512
emulate Nehalem base avx2
[ $broken = 0 ] && echo 'emulated-cpu: right on both'
exit $broken
