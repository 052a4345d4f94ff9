#!/bin/sh
# No kernel keeps its sums on the stack: in the disassembly, an innermost loop that multiplies and
# adds stores no vector register there. A loop made to spill must be reported.
: "${top_builddir:=.}" "${CC:=cc}"
[ "${sanitizers:-no}" = yes ] && { echo 'SKIP: sanitizers keep registers on the stack'; exit 77; }
command -v objdump >/dev/null || { echo 'SKIP: no objdump'; exit 77; }
grep -q '^CFLAGS = .*-O[23]' "$top_builddir/Makefile" || { echo 'SKIP: not optimised'; exit 77; }
kernels=$(find "$top_builddir/cpu/kernel" -name '*_avx*.o')
[ -n "$kernels" ] || { echo 'SKIP: no kernels with vectors in this build'; exit 77; }

# A loop is what lies between a conditional jump back and its target, unless the way leaves it; it is
# innermost if it holds no other. The stack is reached through rsp, and through rbp in a function that
# has made that its frame.
look='
  function finish(  i, j, inner, sums, spill) {
    for (i = 1; i <= loops; i++) {
      inner = 1
      for (j = 1; j <= loops; j++) if (j != i && first[j] >= first[i] && last[j] <= last[i]) inner = 0
      sums = 0
      spill = ""
      for (j = first[i]; j <= last[i]; j++) {
        if (text[j] ~ /^(ret|jmp)/) inner = 0
        if (text[j] ~ /^vfn?m(add|sub)/) sums = 1
        if (text[j] ~ stack || (framed && text[j] ~ frame)) spill = text[j]
      }
      if (!inner || !sums) continue
      found++
      if (spill != "") print name, spill
    }
    lines = loops = framed = 0
    delete line_at
  }
  BEGIN {
    stack = "^vmov.*%[xyz]mm[0-9]+,[^,]*[(]%rsp"
    frame = "^vmov.*%[xyz]mm[0-9]+,[^,]*[(]%rbp"
  }
  /^[0-9a-f]+ <.*>:$/ { finish(); name = $2 }
  /^ *[0-9a-f]+:\t/ {
    address = $1
    sub(/:/, "", address)
    sub(/^[^\t]*\t/, "")
    text[++lines] = $0
    line_at[address] = lines
    if (/^mov +%rsp,%rbp/) framed = 1
    if (/^j[^m]/ && $2 in line_at) {
      first[++loops] = line_at[$2]
      last[loops] = lines
    }
  }
  END { finish(); if (!found) print "no loop with sums" }'
spills() { objdump -d --no-show-raw-insn "$1" | awk "$look"; }

broken=0
for object in $kernels; do
  case $object in *pack_*) continue ;; esac
  what=$(spills "$object")
  [ -z "$what" ] || { echo "FAIL: $object: $what"; broken=1; }
done

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/spill.c" <<'C'
typedef float vec __attribute__((vector_size(32)));
void spill(const vec *a, const vec *b, vec *c, long k)
{
  vec sum[40];
  for (int i = 0; i < 40; i++) sum[i] = c[i];
  for (long p = 0; p < k; p++)
#pragma GCC unroll 40
    for (int i = 0; i < 40; i++) sum[i] += a[i % 8 + p] * b[i / 8 + p];
  for (int i = 0; i < 40; i++) c[i] = sum[i];
}
C
if $CC -O3 -mavx2 -mfma -ffp-contract=fast -c "$folder/spill.c" -o "$folder/spill.o"; then
  [ -n "$(spills "$folder/spill.o")" ] || { echo 'FAIL: a loop that spills passes'; broken=1; }
fi
exit $broken
