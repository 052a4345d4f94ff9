#!/bin/sh
# The lesser instruction sets, which a CPU with a greater one uses only when told to: checkgemm goes
# by kernel in its other layers, but which kernel a shape gets is this one's affair.
: "${top_builddir:=.}"
broken=0
for set in base avx2; do
  out=$(XGEMM_CPU=$set "$top_builddir/tests/checkgemm" --layer loops --backend cpu 2>&1)
  case $? in
    0) echo "$set: $(echo "$out" | tail -n 1)" ;;
    77) ;;
    *) echo "FAIL: XGEMM_CPU=$set"; echo "$out" | grep -v '^ok'; broken=1 ;;
  esac
done
exit $broken
