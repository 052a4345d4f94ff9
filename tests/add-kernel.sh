#!/bin/sh
# The build list is the registry: copies the tree, adds one kernel file and one line, builds, and
# looks for the kernel in checkgemm, `xgemm info` and `xgemm bench`. By hand; two minutes.
#
# The new kernel is the base f64 one under another name.
set -e
source=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAIL: $*"; exit 1; }

old=$(sed -n 's,^ *cpu/kernel/base/\(dgemm_base_[0-9]*x[0-9]*\)\.c.*,\1,p' "$source/cpu/local.mk" | head -n 1)
[ -n "$old" ] || fail 'cpu/local.mk lists no base f64 kernel to copy'
new=dgemm_base_copied
(cd "$source" && tar -cf - --exclude=./.git --exclude='./build*' --exclude=./out .) | tar -xf - -C "$work"
cd "$work"
./bootstrap

sed "s/$old/$new/g" "cpu/kernel/base/$old.c" >"cpu/kernel/base/$new.c" # one file
sed -i "s,^cpu_base_kernels = .*,&\n  cpu/kernel/base/$new.c \\\\," cpu/local.mk # one line

mkdir b
cd b
../configure -q --without-cuda --disable-shared
make -j"$(nproc)"
make tests/checkgemm
./tests/checkgemm --list | grep -w "$new" || fail 'checkgemm --list does not know it'
./tests/checkgemm -k "$new" || fail 'checkgemm finds it wrong'
./xgemm info | grep -w "$new" || fail 'xgemm info does not list it'
./xgemm bench --kernel "$new" --type f64 --csv rows.csv m=n=k=200 || fail 'xgemm bench cannot force it'
grep "$new" rows.csv || fail 'xgemm bench names another kernel'
../tests/rooms.sh
echo "add-kernel: one file and one line, and $new is in checkgemm, info and bench"
