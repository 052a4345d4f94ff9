#!/bin/sh
# MEM-05: builds the tree with AddressSanitizer and UndefinedBehaviorSanitizer in a folder of its own and runs
# the tests there: tests/sanitizers.sh [make arguments], from the build folder or the source folder.
# Without CUDA: the sanitizers know nothing of cards (tests for those: compute-sanitizer).
set -e
source=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p build-sanitizers
cd build-sanitizers
"$source/configure" -q --without-cuda --enable-werror --enable-sanitizers CFLAGS='-g -O1'
make -j"$(nproc)" check "$@"
