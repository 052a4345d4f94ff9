#!/bin/sh
# The `xgemm` command: what it refuses, the files it writes, Ctrl-C, and that it does not believe a
# wrong result.
xgemm=${top_builddir:-.}/xgemm
source=${top_srcdir:-$(cd "$(dirname "$0")/.." && pwd)}
[ -x "$xgemm" ] || { echo "FAIL: there is no $xgemm"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
fail() { echo "FAIL: $*"; failures=$((failures + 1)); }

# refused CODE TEXT ARGS...: exits with CODE, and TEXT is in what it says.
refused() {
  code=$1 text=$2; shift 2
  "$xgemm" "$@" >"$work/out" 2>&1; got=$?
  [ $got = "$code" ] || { fail "xgemm $*: exit $got, not $code"; cat "$work/out"; }
  grep -q -e "$text" "$work/out" || { fail "xgemm $*: does not say \"$text\""; cat "$work/out"; }
}
valid() {
  command -v python3 >/dev/null || { echo "no python3: $1 is not parsed"; return; }
  python3 -m json.tool "$1" >/dev/null || fail "$1 is no JSON"
}
quick='--reps 2 --min-time 0 --backend cpu'

# ---- command lines
refused 2 'accepted: info bench' nonsense
refused 2 'accepted: --env' info --nonsense
refused 2 'accepted: --shapes' bench --nonsense m=n=k=4
refused 2 'of f32 f64' bench --type f16 m=n=k=4
refused 2 'of auto cpu gpu ref' bench --backend tpu m=n=k=4
refused 2 'of NN NT TN TT' bench --trans NC m=n=k=4
refused 2 'from 1 on' bench --threads 0 m=n=k=4
refused 2 'no such kernel' bench --kernel nonsense m=n=k=4
refused 2 'of all ladder' bench --kernels some m=n=k=4
refused 2 'whole numbers, separated' bench --pad 0,x m=n=k=4
refused 2 'known names: cublas openblas' bench --peer nonsense m=n=k=4
refused 2 'needs a value' bench m=n=k=4 --reps
refused 2 'no shapes' bench
refused 2 'each be given once' bench m=n=4,m=3,k=2
refused 2 'needs m=, n= and k=' bench m=n=4
refused 2 'first\[:last\[:step\]\]' bench m=n=k=8:4
refused 2 'first\[:last\[:step\]\]' bench m=n=k=4:8:0
refused 2 'first\[:last\[:step\]\]' bench m=n=k=-1
refused 2 'no shape file' bench --shapes "$work/none"
refused 0 '^xgemm [0-9]*\.[0-9]*\.[0-9]*$' --version
refused 0 'usage: xgemm' --help
refused 0 'usage: xgemm bench' bench --help
refused 0 'XGEMM_BACKEND=' info --env
refused 0 'kernels' info
refused 0 'please paste' info --report
XGEMM_BACKEND=quantum refused 2 'XGEMM_BACKEND' info
XGEMM_NUM_THREADS=-3 refused 2 'XGEMM_NUM_THREADS' bench m=n=k=4

# ---- shapes
rows() { grep -c '^"' "$work/rows.csv"; }
counted() { # counted ROWS ARGS...
  want=$1; shift
  # shellcheck disable=SC2086
  "$xgemm" bench $quick --csv "$work/rows.csv" "$@" >"$work/out" 2>&1 || { fail "bench $*"; cat "$work/out"; }
  [ "$(rows)" = "$want" ] || fail "bench $*: $(rows) rows, not $want"
}
counted 3 m=n=k=4:12:4
counted 4 'm=n=k=2:16:*2'
counted 8 m=1,5,n=k=7,9,3:4
counted 2 m=3,n=4,k=5 m=6,n=7,k=8
counted 6 m=n=k=5,6 --pad 0,1,3
counted 12 m=n=k=5 --type f32,f64 --layout col,row --trans NN,NT,TT
grep -q '"5x5x5",f64,row,T,T,5,5,5,' "$work/rows.csv" || fail 'CSV row of the last combination'
counted 1 m=n=k=8,9 --max-dim 8
printf '# c\n3 4 5 N T 1 one alpha=-1 beta=1 # x\n\n 6 7 8 T N 1 two\n9 9 9 N N 5 batch\n' >"$work/shapes"
counted 3 --shapes "$work/shapes"
grep -q '^"one",f32,col,N,T,3,4,5,-1,1,.*,good,' "$work/rows.csv" || fail 'scalars of a shape file'
grep -q '^"batch".*unsupported.*batches are not supported' "$work/rows.csv" || fail 'a batch must be unsupported'
printf 'options: --type f64 --layout row\n3 4 5 N N 1 one\n' >"$work/shapes"
counted 1 --shapes "$work/shapes"
grep -q '^"one",f64,row,' "$work/rows.csv" || fail "a shape file's options"
counted 1 --shapes "$work/shapes" --type f32
grep -q '^"one",f32,row,' "$work/rows.csv" || fail "the command line must win over a shape file's options"
printf '3 4 N N 1 short\n' >"$work/shapes"
refused 2 'shapes:1: expected' bench --shapes "$work/shapes"
for file in "$source"/bench/shapes/*.txt "$source"/bench/quickstart.txt; do
  # Parsed, then all left out.
  "$xgemm" bench --backend cpu --shapes "$file" --max-dim 1 --min-time 0 --reps 1 >"$work/out" 2>&1 ||
    { fail "$file"; cat "$work/out"; }
done

# ---- engines: forced, named, refused
counted 2 m=n=k=5 --backend cpu,ref
grep -q '"cpu",cpu,[a-z0-9_]*,good' "$work/rows.csv" || fail 'the row must name the engine and kernel'
grep -q '"ref",ref,sgemm_ref,good' "$work/rows.csv" || fail 'the reference must name itself'
for via in xgemm plan cblas; do counted 1 m=n=k=5 --via $via; done
# shellcheck disable=SC2086
CUDA_VISIBLE_DEVICES= "$xgemm" bench $quick --backend cpu,gpu m=n=k=5 >"$work/out" 2>&1 ||
  { fail 'cpu,gpu without a card must exit 0'; cat "$work/out"; }
grep -q "gpu: this backend can't, because" "$work/out" || { fail 'no reason for the missing GPU'; cat "$work/out"; }

# No number comes from a card that is not there.
no_number() { # no_number FILE ROWS
  valid "$1"
  [ "$(grep -c '"status": "unsupported"' "$1")" = "$2" ] || { fail "$1: not $2 rows without a card"; cat "$1"; }
  grep -q -e '"status": "good"' -e '_s": ' -e 'gflops' -e '"choice"' -e '"ratio"' "$1" && { fail "$1: a number without a card"; cat "$1"; }
}
CUDA_VISIBLE_DEVICES= "$xgemm" bench --backend device --kernels all,ladder --type f32,f64 --peer 'cublas?' m=n=k=5,6 \
  --json "$work/device.json" >"$work/out" 2>&1 || { fail 'device without a card must exit 0'; cat "$work/out"; }
no_number "$work/device.json" 4
grep -q '^shape.* gpu+copy' "$work/out" && fail '--backend device has no column gpu+copy'

# ---- the ladder
refused 2 'from 1 to 32768' ladder --sizes 0
refused 2 'of f32 f64 f16 bf16' ladder --type f8
refused 2 'of NN NT TN TT' ladder --trans NC
refused 2 'no such rung; there are 1 ' ladder --rung 77
refused 2 'from 1 to 64' ladder --reps 0
refused 2 'No such file' ladder --predict --counters "$work/none"
refused 2 'is not "launch metric value"' ladder --predict --counters "$source/bench/goals.tsv"
refused 0 'usage: xgemm ladder' ladder --help
refused 0 '^1 .* sgemm_ladder_1_naive .* only predicted$' ladder --predict --sizes 1024
CUDA_VISIBLE_DEVICES= "$xgemm" ladder --sizes 64,1024 --type f32 --rung '[12]' --json "$work/ladder.json" >"$work/out" 2>&1 ||
  { fail 'ladder without a card must exit 0'; cat "$work/out"; }
no_number "$work/ladder.json" 8
for field in '"rung": "2"' '"published_percent": 20' '"predicted": {"class": "medium"' '"tiled_bytes": ' '"shared_bytes": ' \
  '"ideal_intensity": ' '"fill": ' '"complete": true'; do
  grep -q -e "$field" "$work/ladder.json" || fail "ladder --json: no $field"
done

# ---- JSON, whole and interrupted
# shellcheck disable=SC2086
"$xgemm" bench $quick m=n=k=5,6 --json "$work/whole.json" >/dev/null || fail 'bench --json'
valid "$work/whole.json"
grep -q '"complete": true' "$work/whole.json" || fail 'complete must be true'
"$xgemm" bench m=n=k=5:500 --backend cpu --min-time 0.05 --json "$work/part.json" >"$work/out" 2>&1 &
pid=$!
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  grep -q '"name": "6x6x6"' "$work/part.json" 2>/dev/null && break
  sleep 0.5
done
kill -INT $pid
wait $pid; code=$?
[ $code = 130 ] || fail "interrupted: exit $code, not 130"
valid "$work/part.json"
grep -q '"complete": false' "$work/part.json" || fail 'interrupted: complete must be false'
grep -q '^6x6x6 ' "$work/out" || fail 'interrupted: finished rows must be printed'

# ---- a wrong result is found, in small products and in large ones
cat >"$work/peer.c" <<'PEER'
void cblas_sgemm(int layout, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda,
                 const float *b, int ldb, float beta, float *c, int ldc)
{
  (void)layout, (void)ta, (void)tb, (void)beta;
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      double sum = 0;
      for (int p = 0; p < k; p++) sum += (double)a[i + (long)p * lda] * b[p + (long)j * ldb];
      c[i + (long)j * ldc] = alpha * (float)sum;
    }
  BREAK;
}
PEER
peer() { # peer NAME STATEMENT: a BLAS for column-major NN whose last statement breaks it
  # shellcheck disable=SC2086
  ${CC:-cc} -O2 -shared -fPIC -DBREAK="$2" -o "$work/lib$1.so" "$work/peer.c" 2>"$work/out" ||
    { cat "$work/out"; fail "cannot compile the peer $1"; }
}
peer right '(void)0'
peer element 'c[m / 2 + 1 + (long)(n / 2) * ldc] += 0.3f'
peer nan 'c[m / 2 + 1 + (long)(n / 2) * ldc] = (float)(0.0 / 0.0)'
peer lastk 'c[1] -= a[1 + (long)(k - 1) * lda] * b[k - 1]'
peer unwritten 'c[(m - 2) + (long)(n - 2) * ldc] = (float)(0.0 / 0.0)'
for size in 16 300; do
  # shellcheck disable=SC2086
  "$xgemm" bench $quick --peer "$work/libright.so" --threads 1 m=n=k=$size >"$work/out" 2>&1 ||
    { fail "a right peer was called wrong ($size)"; cat "$work/out"; }
  for broken in element nan lastk unwritten; do
    # shellcheck disable=SC2086
    "$xgemm" bench $quick --peer "$work/lib$broken.so" --threads 1 --json "$work/wrong.json" m=n=k=$size >"$work/out" 2>&1
    [ $? = 1 ] || fail "$broken $size: the exit code must be 1"
    grep -q 'WRONG' "$work/out" || { fail "$broken $size: not reported"; cat "$work/out"; }
    grep -q '"engine": "'$broken'", "status": "wrong"' "$work/wrong.json" || fail "$broken $size: not in the JSON"
    grep -q '"engine": "'$broken'".*"median_s"' "$work/wrong.json" && fail "$broken $size: a wrong result was timed"
    valid "$work/wrong.json"
  done
done

# ---- two passes: the first finds the faster peer, the second knows only that one and ours
peer slow 'for (volatile long i = 0; i < 3000000; i++)'
# shellcheck disable=SC2086
"$xgemm" bench $quick --best-peer --under 1e6 --peer "$work/libslow.so" --peer "$work/libright.so" --peer "$work/libnan.so" \
  --threads 1 --json "$work/best.json" m=n=k=16,24 >"$work/out" 2>&1
[ $? = 1 ] || fail '--best-peer: a wrong peer must fail the run'
valid "$work/best.json"
[ "$(grep -c '"best_peer": "right", "first_pass_s": {"slow": [^,]*, "right": [^,]*}' "$work/best.json")" = 2 ] ||
  { fail '--best-peer: the peer and the first pass in the JSON'; cat "$work/best.json"; }
grep -q '"engine": "slow"' "$work/best.json" && fail '--best-peer: a slower peer was in the second pass'
grep -q '"own": "cpu", "peer": "best", "type": "f32", "threads": 1, "rows": 2, .*"under": 2' "$work/best.json" ||
  fail '--best-peer: the summary in the JSON'
grep -q '^cpu / best, f32, 1 thread: geomean [0-9.]* of 2 rows, 2 under' "$work/out" || { fail '--best-peer: the summary'; cat "$work/out"; }
grep -q '^16x16x16 .* WRONG ' "$work/out" || { fail '--best-peer: a wrong peer in the table'; cat "$work/out"; }
# ---- JSON into a pipe, finished and stopped
# shellcheck disable=SC2086
{ "$xgemm" bench $quick m=n=k=5,6 --json /dev/fd/3 3>&1 >"$work/out" 2>&1; } | cat >"$work/pipe.json"
valid "$work/pipe.json"
grep -q '"complete": true' "$work/pipe.json" || fail 'JSON into a pipe: complete must be true'
{ timeout --foreground -s INT 2 "$xgemm" bench m=n=k=5:900 --backend cpu --json /dev/fd/3 3>&1 >"$work/out" 2>&1; } | cat >"$work/pipe.json"
valid "$work/pipe.json"
grep -q '"complete": false' "$work/pipe.json" || fail 'JSON into a pipe: complete must be false when stopped'
counted 1 m=n=k=8,80 --max-gflop 1e-3

# ---- parts of shape files, remarks, our one thread beside several, pages and the bound
printf '3 4 5 N N 1 one_a layout=row type=f64 | said 3 us\n6 7 8 T N 1 two_b\n9 9 9 N N 1 one_b type=f32\n' >"$work/some.txt"
(cd "$work" && mkdir -p bench/shapes && mv some.txt bench/shapes/) && xgemm=$(cd "$(dirname "$xgemm")" && pwd)/xgemm
# shellcheck disable=SC2086
(cd "$work" && "$xgemm" bench $quick --csv rows.csv --shapes 'some:one_*' --type f32,f64 --layout col,row) >"$work/out" 2>&1 ||
  { fail 'a part of a shape file'; cat "$work/out"; }
[ "$(rows)" = 3 ] || fail "a part of a shape file: $(rows) rows, not 3"
grep -q '^"one_a",f64,row,' "$work/rows.csv" || fail "a shape's own layout and type"
grep -q '| said 3 us' "$work/out" || fail "a shape's remark"
# shellcheck disable=SC2086
"$xgemm" bench $quick --threads 2 --beside-one --pages 4k m=n=k=200 m=1,n=k=3000 --json "$work/bound.json" >"$work/out" 2>&1 ||
  { fail 'bench --beside-one --pages'; cat "$work/out"; }
valid "$work/bound.json"
grep -q '"engine": "cpu-1", "status": "good", .*"threads": 1,' "$work/bound.json" || fail '--beside-one: its column'
grep -q '"ratio": {"cpu-1": ' "$work/bound.json" || fail '--beside-one: its ratio'
grep -q '"pages": {"operands": "4k", ' "$work/bound.json" || fail '--pages in the JSON'
[ "$(grep -c '"bound": {"by": "[a-z]*", ' "$work/bound.json")" = 4 ] || fail 'every CPU result has a bound'
refused 2 'of default 4k huge' bench --pages 1g m=n=k=4
XGEMM_NUM_THREADS=1 counted 1 m=n=k=8 --clock cpu
XGEMM_NUM_THREADS=2 refused 2 'goes with one thread' bench --clock cpu m=n=k=4
mkdir "$work/peers" && cp "$work/libright.so" "$work/libslow.so" "$work/peers/"
# shellcheck disable=SC2086
"$xgemm" bench $quick --csv "$work/rows.csv" m=n=k=8 --threads 1 --peers "$work/peers" >"$work/out" 2>&1 || { fail '--peers'; cat "$work/out"; }
for peer in right slow; do grep -q ",\"$peer\",peer,,good" "$work/rows.csv" || fail "--peers: $peer"; done
# shellcheck disable=SC2086
XGB_PEERS=$work/peers "$xgemm" bench $quick --csv "$work/rows.csv" m=n=k=8 --threads 1 --peer all >"$work/out" 2>&1 || { fail '--peer all'; cat "$work/out"; }
grep -q ',"right",peer,,good' "$work/rows.csv" || fail '--peer all: a library of $XGB_PEERS'
cat >>"$work/peer.c" <<'PEER'
typedef void kernel(const void *, const void *, void *);
static void generated(const void *a, const void *b, void *c)
{
  cblas_sgemm(102, 111, 111, 8, 8, 8, 1, a, 8, b, 8, 0, c, 8);
}
const char *xg_peer_version(void)
{
  return "generator 1";
}
kernel *xg_peer_kernel(int f64, int layout, int ta, int tb, int m, int n, int k)
{
  return !f64 && layout == 102 && ta == 111 && tb == 111 && m == 8 && n == 8 && k == 8 ? generated : 0;
}
PEER
peer maker '(void)0'
# shellcheck disable=SC2086
"$xgemm" bench $quick --threads 1 --held --best-peer --peer "$work/libright.so" --peer "$work/libmaker.so" m=n=k=8,9 \
  --json "$work/held.json" >"$work/out" 2>&1 || { fail 'bench --held'; cat "$work/out"; }
valid "$work/held.json"
grep -q '"engine": "cpu+plan", "status": "good", .*"ratio": {.*"maker+kernel": ' "$work/held.json" || fail '--held: its ratio'
[ "$(grep -c '"engine": "maker+kernel", "status": "good"' "$work/held.json")" = 1 ] || fail '--held: a kernel for one of two'
grep -q 'it generates no kernel' "$work/out" || fail '--held: why there is no kernel'
grep -q '^cpu+plan / maker+kernel, f32, 1 thread: .* of 1 rows' "$work/out" || fail '--held: the summary'
grep -q '"version": "generator 1"' "$work/held.json" || fail 'the version that a peer tells'
refused 2 'No such file' bench --peers "$work/none" m=n=k=4

# ---- bits, latency, goals
"$xgemm" bench --bits m=n=k=1,33,100 >"$work/out" 2>&1 || { fail 'bench --bits'; cat "$work/out"; }
grep -q '^3 products: 0 different, 0 not computed' "$work/out" || { fail 'bench --bits: its count'; cat "$work/out"; }
refused 2 'at least two' bench --bits --threads 2 m=n=k=4
"$xgemm" latency --sizes 8 --json "$work/latency.here.json" >"$work/out" 2>&1 || { fail latency; cat "$work/out"; }
valid "$work/latency.here.json"
goal() { printf 'g\tlatency\tf32\tcpu\t%s\t1\t-\t%s\t%s\tnote\n' "$@" >"$work/goals.tsv"; }
goal any max_ns:call8 '<1e15'; refused 0 '1 passed' goals --check "$work" --goals "$work/goals.tsv"
goal any max_ns:call8 '<1e-9'; refused 1 '1 failed' goals --check "$work" --goals "$work/goals.tsv"
goal any max_ns:call9 '<1e15'; refused 1 '1 failed' goals --check "$work" --goals "$work/goals.tsv"
goal any max_ns:call9 info; refused 0 '1 informative' goals --check "$work" --goals "$work/goals.tsv"
goal nowhere max_ns:call8 '<1e15'; refused 1 '1 without a result' goals --check "$work" --goals "$work/goals.tsv"
"$xgemm" bench --bits --threads 1,2 m=n=k=1,33 --json "$work/bits.here.json" >"$work/out" 2>&1 || { fail 'bench --bits --json'; cat "$work/out"; }
valid "$work/bits.here.json"
cp "$work/best.json" "$work/best.here.json"
judged() { # judged CODE TEXT SUITE PEER STATISTIC BOUND
  printf 'g\t%s\tf32\tcpu\tany\tany\t%s\t%s\t%s\tnote\n' "$3" "$4" "$5" "$6" >"$work/goals.tsv"
  refused "$1" "$2" goals --check "$work" --goals "$work/goals.tsv"
}
judged 0 '1 passed' bits - different '<=0'
sed 's/"bits": "equal"/"bits": "different"/' "$work/bits.here.json" >"$work/odd.here.json"
judged 1 'different  *2 <=0' odd - different '<=0'
judged 0 'worst .* of 2 rows' best best geomean '>=1e-9'
judged 1 '1 failed' best best geomean '>=1e9'
judged 0 '1 passed' best best min_ratio:16x* '>=1e-9'
judged 1 '2 rows without a good result' best slow min_ratio '>=1e-9'
judged 0 '1 passed' best - spread '<=1e9'
judged 1 '1 failed' best - spread '<=1e-9'
judged 1 'no such rows' best - 'spread:none*' '<=1e9'
judged 0 '1 passed' best right max_error '<=99'
judged 0 '1 passed' best - min_share '>=1e-9'
judged 1 'no statistic' best - nonsense '>=1'
# Of short calls on a card the graph counts; the eager figure has statistics of its own.
card_row() { # card_row NAME EAGER GRAPH PEER_EAGER PEER_GRAPH CHOICE
  printf '{"name": "%s", "type": "f32", "threads": 1, "choice": {"ratio": %s}, "results": [' "$1" "$6"
  printf '{"engine": "gpu", "status": "good", "median_s": %s, "graph_s": %s, "gflops": %s, ' "$2" "$3" "$6"
  printf '"memory_floor": {"share88": 1.1, "share92": 0.9}}, '
  printf '{"engine": "cublas", "status": "good", "median_s": %s, "graph_s": %s}]}' "$4" "$5"
}
{ printf '{"machine": {}, "complete": true, "rows": ['
  card_row a1 4e-6 2e-6 8e-6 3e-6 1.0; printf ,; card_row b1 6e-6 4e-6 3e-6 4e-6 1.04; printf ,; card_row b2 1e-6 1e-6 1e-6 1e-6 1.2
  printf ']}\n'; } >"$work/card.here.json"
valid "$work/card.here.json"
on_card() { # on_card CODE STATISTIC BOUND
  printf 'g\tcard\tf32\tgpu\tany\tany\tcublas\t%s\t%s\tnote\n' "$2" "$3" >"$work/goals.tsv"
  refused "$1" "$2" goals --check "$work" --goals "$work/goals.tsv"
}
on_card 0 min_ratio:a* '>=1.49'; on_card 1 min_ratio:a* '>=1.51'
on_card 0 min_eager:a* '>=1.99'; on_card 1 min_eager '>=0.51'
on_card 0 min_ratio:a1,b1 '>=0.99'; on_card 0 max_us:b1 '<4.1'
on_card 0 min_floor88 '>=109'; on_card 1 min_floor92 '>=91'
on_card 0 choice '>=66'; on_card 1 choice '>=67'; on_card 0 choice:a1,b1 '>=100'
on_card 0 lag:b* '<=0'; on_card 1 behind:b* '<=15'
printf 'tiny\t-\tbench m=n=k=4 --backend cpu --reps 1 --min-time 0\nlarge\t-\tbench m=n=k=4\t1000000 cores\n' >"$work/suites.tsv"
printf 'carded\t-\tbench m=n=k=4 --backend device --reps 1 --min-time 0\ta card\n' >>"$work/suites.tsv"
judged 0 '1 passed' best - max_us '<1e9'
[ -e /dev/nvidiactl ] || refused 0 'suite carded is left out: it needs a card' goals --measure --suite carded --out "$work/out.d" --suites "$work/suites.tsv" --goals "$work/goals.tsv"
refused 0 'suite large is left out' goals --measure --out "$work/out.d" --suites "$work/suites.tsv" --goals "$work/goals.tsv"
refused 0 'suite tiny took' goals --measure --suite 'ti*' --out "$work/out.d" --suites "$work/suites.tsv" --goals "$work/goals.tsv"
grep -q 'suite large' "$work/out" && fail 'goals --suite: another suite ran'
refused 2 'usage: xgemm goals' goals
cp "$work/part.json" "$work/latency.here.json"
goal any max_ns:6x6x6 '<1e15'; refused 1 'not complete' goals --check "$work" --goals "$work/goals.tsv"
refused 1 'passed' goals --check "$work/none" --goals "$source/bench/goals.tsv"

[ $failures = 0 ] || { echo "$failures failures"; exit 1; }
echo 'all passed'
