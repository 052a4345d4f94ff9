#!/bin/sh
# Fills a folder with the libraries that `xgemm bench --peers DIR` compares with.
#
# usage: bench/peers.sh DIR [--no-apt] [--no-pip]
#
#   Debian  OpenBLAS, BLIS (found by name), libdnnl, libxsmm          apt-get, as root or through sudo
#   PyPI    mkl, scipy-openblas32, onednn-cpu-gomp                    pip download, unpacked in DIR
#   PyTorch the MKL inside, if python3 has torch
#
# DIR/lib*.so are thin wrappers (bench/peers/*.c) with cblas_sgemm and cblas_dgemm. What cannot be had
# is told and left out. Nothing is installed outside DIR except Debian's packages.
set -u
dir=${1:-}
case $dir in '' | -*) sed -n '2,12s/^# \{0,1\}//p' "$0"; exit 2 ;; esac
shift
apt=yes pip=yes
for word in "$@"; do
  case $word in
    --no-apt) apt=no ;;
    --no-pip) pip=no ;;
    *) echo "peers.sh: unknown flag $word; accepted: --no-apt --no-pip" >&2; exit 2 ;;
  esac
done
source=$(cd "$(dirname "$0")/peers" && pwd) || exit 1
mkdir -p "$dir" && dir=$(cd "$dir" && pwd) || exit 1
log=$dir/peers.log
: >"$log"

tell() { printf '%-16s %s\n' "$1" "$2"; }

if [ $apt = yes ] && command -v apt-get >/dev/null; then
  root=; [ "$(id -u)" = 0 ] || root=sudo
  for package in libopenblas0-pthread libblis4-pthread libdnnl-dev libxsmm-dev libopenblas-dev; do
    $root apt-get install -y -q --no-install-recommends "$package" >>"$log" 2>&1 ||
      tell "$package" 'not to be had from apt, see peers.log'
  done
fi

# fetch PACKAGE: its wheel, unpacked in DIR/PACKAGE.
fetch() {
  [ $pip = yes ] || return 1
  [ -d "$dir/$1" ] && return 0
  python3 -m pip download -q --no-deps --only-binary :all: -d "$dir/wheels" "$1" >>"$log" 2>&1 || return 1
  wheel=$(find "$dir/wheels" -name "$(echo "$1" | tr - _)-*.whl" | head -n 1)
  python3 -m zipfile -e "$wheel" "$dir/$1" >>"$log" 2>&1
}
# folder_of PACKAGE LIBRARY: where the wheel has it.
folder_of() { found=$(find "$dir/$1/" -name "$2" 2>/dev/null | head -n 1); [ -n "$found" ] && dirname "$found"; }
# wrap NAME SOURCE FLAGS...: builds DIR/libNAME.so and opens it once.
wrap() {
  name=$1 file=$2; shift 2
  if ${CC:-cc} -O2 -fPIC -shared -o "$dir/lib$name.so" "$source/$file" "$@" >>"$log" 2>&1; then
    tell "$name" "$dir/lib$name.so"
  else
    rm -f "$dir/lib$name.so"
    tell "$name" 'left out, see peers.log'
  fi
}

if fetch scipy-openblas32 && at=$(folder_of scipy-openblas32 libscipy_openblas.so); then
  wrap openblas-new scipy.c "-L$at" -lscipy_openblas "-Wl,-rpath,$at"
else
  tell openblas-new 'left out: no scipy-openblas32'
fi
wrap onednn-debian onednn.c -ldnnl
if fetch onednn-cpu-gomp && at=$(folder_of onednn-cpu-gomp libdnnl.so.3); then
  wrap onednn onednn.c "$at/libdnnl.so.3" "-Wl,-rpath,$at" -lgomp
else
  tell onednn 'left out: no onednn-cpu-gomp'
fi
wrap xsmm xsmm.c -lxsmm -l:libopenblas.so.0 -lm
if fetch mkl && at=$(folder_of mkl 'libmkl_rt.so.*'); then
  wrap mkl mkl.c "-DMKL_FOLDER=\"$at\"" -ldl -lgomp
else
  tell mkl 'left out: no mkl'
fi
# PyTorch, where it is installed already: the MKL inside.
at=$(python3 -c 'import os, torch; print(os.path.join(os.path.dirname(torch.__file__), "lib"))' 2>/dev/null)
if [ -n "$at" ] && [ -f "$at/libtorch_cpu.so" ]; then
  wrap torch-mkl torch.c "-DTORCH_FOLDER=\"$at\"" -ldl
else
  tell torch-mkl 'left out: python3 has no torch'
fi
echo "xgemm bench SHAPES --peers $dir --best-peer"
