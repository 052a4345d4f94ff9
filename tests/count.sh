#!/bin/sh
# Sums up what `make check` left behind: tests/count.sh [BUILD]. Its last line is
# "N passed, N failed, N skipped", counted in cases where a program tells them (CMocka), else in
# programs; it fails if anything failed, or if nothing passed.
cd "${1:-.}" || exit 1
for trs in $(find tests -name '*.trs' | sort); do
  result=$(sed -n 's/^:global-test-result: //p' "$trs")
  awk -v result="$result" -v name="$trs" '
    function said(word) { # CMocka closes with lines such as "[  PASSED  ] 12 test(s)."
      if (!match($0, "\\[  " word " *\\] [0-9]+ test")) return 0
      return substr($0, RSTART + 13) + 0
    }
    { passed += said("PASSED"); failed += said("FAILED"); skipped += said("SKIPPED") }
    END {
      if (passed + failed + skipped == 0) {
        passed = result == "PASS"
        skipped = result == "SKIP"
      }
      if (result != "PASS" && result != "SKIP" && failed == 0) failed = 1
      if (failed) print "failed: " name >"/dev/stderr"
      print passed + 0, failed + 0, skipped + 0
    }' "${trs%.trs}.log"
done | awk '
  { passed += $1; failed += $2; skipped += $3 }
  END {
    printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
    exit failed > 0 || passed == 0
  }'
