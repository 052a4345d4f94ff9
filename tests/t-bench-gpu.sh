#!/bin/sh
# What the `xgemm` command says of products on a card: graphs, floors, the choice of kernels, the
# ladder. SKIP without a card.
xgemm=${top_builddir:-.}/xgemm
[ -x "$xgemm" ] || { echo "FAIL: there is no $xgemm"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
fail() { echo "FAIL: $*"; failures=$((failures + 1)); }
has() { # has FILE COUNT TEXT: in so many lines
  [ "$(grep -c -e "$3" "$1")" = "$2" ] || { fail "$1: \"$3\" not $2 times"; cat "$1"; }
}

run() { # run NAME ARGS...
  name=$1; shift
  "$xgemm" "$@" --json "$work/$name.json" >"$work/out" 2>&1 || { fail "xgemm $*"; cat "$work/out"; }
  command -v python3 >/dev/null && { python3 -m json.tool "$work/$name.json" >/dev/null || fail "$name is no JSON"; }
}
run probe bench m=n=k=8 --backend device --reps 1 --min-time 0
why=$(sed -n 's/.*"status": "unsupported".*"reason": "\([^"]*\)".*/\1/p' "$work/probe.json")
[ -z "$why" ] || { echo "SKIP: $why"; exit 77; }

# Short calls have a graph, long ones need none.
run short bench m=n=k=96 --type f32,f64 --backend device --reps 5 --min-time 0
has "$work/short.json" 2 '"engine": "gpu", "status": "good".*"graph_s": .*"bytes": .*"gb_s": .*"copy_gb_s": .*"graph_samples_s": \['
has "$work/short.json" 0 'no CUDA graph'
has "$work/short.json" 1 '"card": {"sms": '
run long bench m=n=k=3000 --backend device --reps 5 --min-time 0
has "$work/long.json" 0 '"graph_s"'
run thin bench m=8,n=4096,k=4096 --backend device --reps 5 --min-time 0
has "$work/thin.json" 1 '"memory_floor": {"share88": [0-9.]*, "share92": '
run update bench m=n=k=64 --alpha -1 --beta 1 --backend device --reps 5 --min-time 0
has "$work/update.json" 1 '"status": "good".*"bytes": 65536'

# Every legal kernel beside the one that is taken; rungs only on request.
run kernels bench m=n=k=200 --type f32,f64 --kernels all --backend device --reps 5 --min-time 0
has "$work/kernels.json" 2 '"choice": {"ratio": [0-9.]*, "chosen": "[a-z0-9_]*", "best": "'
has "$work/kernels.json" 0 '"engine": "[a-z]*_ladder_'
grep -q '"model": {"bm": [0-9]*, "bn": [0-9]*, "blocks": [0-9]*, "split": [0-9]*, "sms": [0-9]*, "streams": ' "$work/kernels.json" ||
  fail 'what the cost model made of a kernel'
grep -q '"choices": \[' "$work/kernels.json" || fail 'the summary of the choices'
grep -q '^kernels, f64: chosen / best legal <= 1.05 for ' "$work/out" || fail 'the line of the choices'
run rungs bench m=n=k=64 --kernels all,ladder --backend device --reps 5 --min-time 0
grep -q '"engine": "sgemm_ladder_1_naive", "status": "good"' "$work/rungs.json" || fail '--kernels ladder'

# The faster entry of cuBLAS has a name.
if "$xgemm" bench m=n=k=8 --peer cublas --backend device --reps 1 --min-time 0 >"$work/out" 2>&1; then
  run peer bench m=n=k=512 --type f32,f64 --peer cublas --backend device --reps 5 --min-time 0
  has "$work/peer.json" 2 '"engine": "cublas", "status": "good", "backend": "peer", "kernel": "cublas\(Sgemm\|Dgemm\|LtMatmul\)"'
  has "$work/peer.json" 2 '"ratio": {"cublas": [0-9.]*}, "eager_ratio": {"cublas": '
else
  grep -q 'is not installed' "$work/out" || { fail 'the peer cublas'; cat "$work/out"; }
fi

run ladder ladder --sizes 100,600 --trans NN,TT --reps 5 --max-time 1
has "$work/ladder.json" 0 '"status": "wrong"'
has "$work/ladder.json" 0 '"engine": "ladder", "status": "unsupported"'
has "$work/ladder.json" 4 '"engine": "ladder", "status": "good".*sgemm_ladder_2_tiled.*"limit": {"binds": "'
run once ladder --once --sizes 100 --type f32
has "$work/once.json" 0 '"status": "wrong"'
has "$work/once.json" 9 '"engine": "ladder", "status": "good"'
[ $failures = 0 ] || { echo "$failures failures"; exit 1; }
echo 'all passed'
