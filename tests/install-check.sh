#!/bin/sh
# `make install DESTDIR=`: the example of README.md is extracted, compiled with what pkg-config says,
# against the shared and the static library, and run; `make uninstall` leaves nothing. By hand, from a
# build folder.
: "${top_srcdir:=$(cd "$(dirname "$0")/.." && pwd)}" "${CC:=cc}"
fail() { echo "FAIL: $*"; exit 1; }
[ -f config.status ] || fail 'run it in a build folder'
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
make -s install DESTDIR="$root" >"$root.log" 2>&1 || { cat "$root.log"; fail 'make install'; }
rm -f "$root.log"
echo 'installed:'
(cd "$root" && find . -not -type d | sort)

pc=$(find "$root" -name xgemm.pc)
[ -n "$pc" ] || fail 'no xgemm.pc'
libdir=$(dirname "$(dirname "$pc")")
PKG_CONFIG_PATH=$(dirname "$pc"):${PKG_CONFIG_PATH:-}
export PKG_CONFIG_PATH
flags() { # pkg-config speaks of the final place; the DESTDIR goes before it
  pkg-config "$@" xgemm | sed "s,-\([IL]\)$(pkg-config --variable=prefix xgemm),-\1$root$(pkg-config --variable=prefix xgemm),g"
}
header=$(sed -n 's/#define XGEMM_VERSION_[MP][A-Z]* *//p' "$top_srcdir/include/xgemm.h" | paste -sd.)
[ "$(pkg-config --modversion xgemm)" = "$header" ] || fail "xgemm.pc says $(pkg-config --modversion xgemm), xgemm.h $header"

work=$root/example
mkdir "$work"
sed -n '/^```c$/,/^```$/{/^```/d;p;}' "$top_srcdir/README.md" >"$work/example.c"
[ -s "$work/example.c" ] || fail 'README.md has no ```c example'
$CC -Wall -Wextra -Werror "$work/example.c" $(flags --cflags --libs) -o "$work/shared" || fail 'the example does not compile'
LD_LIBRARY_PATH=$libdir "$work/shared" >"$work/shared.txt" || fail 'the example does not run'
cat "$work/shared.txt"
ldd "$work/shared" | grep -q 'libxgemm.so.0' || fail 'the example does not need libxgemm.so.0'
if [ -f "$libdir/libxgemm.a" ]; then
  $CC "$work/example.c" $(flags --cflags) $(flags --static --libs | sed 's/-lxgemm/-l:libxgemm.a/') -o "$work/static" ||
    fail 'the example does not link statically'
  "$work/static" >"$work/static.txt" || fail 'the static example does not run'
  cmp "$work/shared.txt" "$work/static.txt" || fail 'shared and static differ'
fi
for header in xgemm.h xgemm_cblas.h; do
  echo "#include <$header>" | $CC -Wall -Wextra -Werror -std=c11 -pedantic $(flags --cflags) -x c -c - -o /dev/null ||
    fail "$header does not stand alone in C"
  command -v c++ >/dev/null || continue
  echo "#include <$header>" | c++ -Wall -Wextra -Werror -std=c++11 -pedantic $(flags --cflags) -x c++ -c - -o /dev/null ||
    fail "$header does not stand alone in C++"
done
command=$(find "$root" -type f -name xgemm -perm -u+x)
"$command" --version || fail 'the installed command does not run'

rm -r "$work"
make -s uninstall DESTDIR="$root" >/dev/null || fail 'make uninstall'
left=$(find "$root" -not -type d)
[ -z "$left" ] || fail "make uninstall leaves $left"
echo 'install-check: installed, used, removed'
