#!/bin/sh
# From nothing, as a stranger: in fresh Debian 12 roots, made with debootstrap, each with a copy of
# this tree and no more:
#
#   quickstart   ./quickstart, without CUDA, ends with a verified table; make dist
#   toolkit      the same with a CUDA toolkit (bind-mounted) but no driver
#   plain        the tarball without quickstart: ./configure && make && make check, no autotools, no
#                OpenBLAS; then install-check.sh
#
#   tests/clean-machine.sh [quickstart] [toolkit] [plain]     default: all three
#
# As root, by hand; a quarter of an hour. DEBIAN_MIRROR and CUDA_HOME may be set.
set -u
source=$(cd "$(dirname "$0")/.." && pwd)
[ "$(id -u)" = 0 ] || { echo 'SKIP: chroot wants root'; exit 77; }
command -v debootstrap >/dev/null || { echo 'SKIP: no debootstrap'; exit 77; }
: "${DEBIAN_MIRROR:=http://deb.debian.org/debian}"
toolkit=$(cd "${CUDA_HOME:-/usr/local/cuda}" 2>/dev/null && pwd -P)
fail() { echo "FAIL: $*"; exit 1; }

work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
debootstrap --variant=minbase bookworm "$work/base" "$DEBIAN_MIRROR" >"$work/log" 2>&1 ||
  { tail "$work/log"; fail debootstrap; }
cp -a /etc/apt/apt.conf.d/. "$work/base/etc/apt/apt.conf.d/" # proxies and the like
mkdir "$work/base/src"

# inside NAME COMMAND: a shell command in the root NAME, with /proc, /sys, /dev and, for `toolkit`,
# the toolkit. The mounts are in a name space of their own and gone with it.
inside() {
  root=$work/$1 with=
  [ "$1" = toolkit ] && with="mkdir -p $root/usr/local/cuda && mount --bind $toolkit $root/usr/local/cuda &&"
  unshare -m sh -c "mount -t proc proc $root/proc && mount --rbind /sys $root/sys && mount --rbind /dev $root/dev && $with
    exec env -i HOME=/root TERM=dumb LANG=C PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot $root sh -c \"\$1\"" sh "$2"
}
fresh() { # a new root with the tree in /src: the files that a clone would have, uncommitted ones too
  cp -a "$work/base" "$work/$1"
  (cd "$source" && git ls-files -co --exclude-standard -z | tar -cf - --null -T -) | tar -xf - -C "$work/$1/src" ||
    fail 'the tree is no git clone'
}

scenario_quickstart() {
  fresh quickstart
  inside quickstart 'cd /src && ./quickstart' >"$work/log" 2>&1
  status=$?
  tail -n 60 "$work/log"
  [ $status = 0 ] || fail "quickstart: status $status"
  grep -q 'CUDA compiler: none' "$work/log" || fail 'quickstart: a CUDA compiler in a bare root?'
  preload=$(sed -n 's/^ *LD_PRELOAD=\([^ ]*\).*/\1/p' "$work/log")
  inside quickstart "LD_PRELOAD=$preload XGEMM_VERBOSE=1 true 2>&1" | grep . && fail 'quickstart: its LD_PRELOAD line does not work'
  inside quickstart 'make -s -C /src/build dist' >/dev/null || fail 'quickstart: make dist'
}

scenario_toolkit() {
  [ -n "$toolkit" ] || { echo 'SKIP: no toolkit to mount (CUDA_HOME)'; return; }
  fresh toolkit
  inside toolkit 'cd /src && ./quickstart' >"$work/log" 2>&1
  status=$?
  tail -n 60 "$work/log"
  [ $status = 0 ] || fail "toolkit: status $status"
  grep -q 'GPU engine  *CUDA' "$work/log" || fail 'toolkit: built without CUDA'
}

scenario_plain() {
  tarball=$(ls "$work"/quickstart/src/build/libxgemm-*.tar.gz 2>/dev/null)
  [ -n "$tarball" ] || fail 'plain: the tarball comes from the scenario quickstart'
  cp -a "$work/base" "$work/plain"
  tar -xzf "$tarball" --strip-components=1 -C "$work/plain/src"
  inside plain 'export DEBIAN_FRONTEND=noninteractive; apt-get -q update && apt-get install -y -q --no-install-recommends \
      gcc g++ libc6-dev make pkg-config libhwloc-dev libcmocka-dev' >"$work/log" 2>&1 || { tail "$work/log"; fail 'plain: apt-get'; }
  inside plain 'cd /src && ./configure && make -j"$(nproc)" && make check' >"$work/log" 2>&1
  status=$?
  grep -E '^(PASS|FAIL|SKIP|ERROR|# [A-Z])|OpenBLAS' "$work/log"
  [ $status = 0 ] || { tail -n 60 "$work/log"; cat "$work/plain/src/test-suite.log"; fail "plain: status $status"; }
  inside plain 'cd /src && tests/install-check.sh' || fail 'plain: install-check'
}

for name in ${*:-quickstart toolkit plain}; do
  printf '\n==== %s\n' "$name"
  start=$(date +%s)
  "scenario_$name"
  echo "==== $name: good, $(($(date +%s) - start)) s"
done
