#!/bin/sh
# Counts the bytes that the rungs of the ladder move, with Nsight Compute, and puts them beside what
# paper predicts.
#
# usage: bench/ncu.sh XGEMM FOLDER [MACHINE]
#
# FOLDER/ladder.MACHINE.json has predicted and counted bytes, times and limits side by side
# (MACHINE: "here" if it is not given). --sizes, --type and --trans of `xgemm ladder` come from
# LADDER_FLAGS. Where the driver permits no counters the file is made without them, and its limits
# are "modelled".
#
# One launch is measured for each rung: `xgemm ladder --once` launches each exactly once, in the
# order in which `xgemm ladder --counters` takes the figures. Caches are flushed before each.
xgemm=$1 folder=$2 machine=${3:-here}
flags=${LADDER_FLAGS:---sizes 1024,2048,4096 --trans NN,TT --max-time 0.5}
[ -x "$xgemm" ] && [ -d "$folder" ] || { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

metrics=dram__bytes.sum,lts__t_bytes.sum
metrics=$metrics,l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum
metrics=$metrics,l1tex__data_pipe_lsu_wavefronts.sum
metrics=$metrics,l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum
metrics=$metrics,l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum
metrics=$metrics,l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum

counters=
if command -v ncu >/dev/null; then
  # shellcheck disable=SC2086
  ncu --clock-control none --csv --print-units base --metrics "$metrics" \
    "$xgemm" ladder --once $flags >"$work/csv" 2>"$work/messages"
  # Every field is quoted, and names have commas: "ID","Process ID",...,"Metric Name","Metric
  # Unit","Metric Value"
  awk -F '","' '/^"[0-9]+","/ { value = $NF; gsub(/[",]/, "", value); id = $1; gsub(/"/, "", id)
    print id, $(NF - 2), value }' "$work/csv" >"$work/counters"
  if [ -s "$work/counters" ]; then
    counters="--counters $work/counters"
  else
    echo "ncu counted nothing:"
    grep -h -e ERR -e error "$work/csv" "$work/messages" | head -5
  fi
else
  echo 'there is no ncu (Nsight Compute)'
fi
# shellcheck disable=SC2086
"$xgemm" ladder $flags $counters --json "$folder/ladder.$machine.json"
