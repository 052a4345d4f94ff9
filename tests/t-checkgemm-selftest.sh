#!/bin/sh
# checkgemm must report every kernel that is broken on purpose, and none that is not.
checkgemm=${top_builddir:-.}/tests/checkgemm
"$checkgemm" --selftest || exit $?
# It refuses what it does not know, and says what it does.
"$checkgemm" --no-such-flag 2>/dev/null && exit 1
"$checkgemm" --no-such-flag 2>&1 | grep -q -- --selftest || exit $?
"$checkgemm" -p layer=ukr,q=1 2>&1 | grep -q 'alpha' || exit 1
exit 0
