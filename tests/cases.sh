#!/bin/sh
# Each case of cases.tsv is named where the list says it is tested.
cd "${top_srcdir:-$(dirname "$0")/..}" || exit 1
bad=0 tab=$(printf '\t')
while IFS=$tab read -r id area where why; do
  case $id in '#'* | '') continue ;; esac
  case $where in
    -) [ -n "$why" ] || { echo "$id ($area): neither a file nor a reason"; bad=1; } ;;
    *) for file in $(echo "$where" | tr ',' ' '); do
         grep -q "$id" "$file" 2>/dev/null || { echo "$id ($area): not in $file"; bad=1; }
       done ;;
  esac
done <tests/cases.tsv
# And no test is missing from the list.
for id in $(grep -rhoE '\b(API|BLD|COR|EDG|GPU|MEM|NUM|PRF|THR)-[0-9][0-9]\b' tests/*.c tests/*.sh bench/*.tsv bench/shapes/*.txt | sort -u); do
  grep -q "^$id$tab" tests/cases.tsv || { echo "$id: not in tests/cases.tsv"; bad=1; }
done
exit $bad
