#!/bin/sh
# The tables in the documents are what the files in bench/results/ say.
command -v python3 >/dev/null || { echo 'SKIP: no python3'; exit 77; }
cd "${top_srcdir:-$(dirname "$0")/..}" || exit 1
set -- README.md docs/*.md
[ -f gpu/ladder/README.md ] && set -- "$@" gpu/ladder/README.md
exec python3 -B bench/render.py --check "$@"
