# What the client scripts share: where the library is, how a client is run over it, and the proof
# that the library, not the system's BLAS, did the work.
: "${top_builddir:=.}"
library=${XGEMM_LIBRARY_FILE:-$top_builddir/.libs/libxgemm.so}
skip() { echo "SKIP: $*"; exit 77; }
[ "${sanitizers:-no}" = yes ] && skip 'a program built without sanitizers cannot load this library'
[ -f "$library" ] || skip "no shared library at $library"
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
broken=0
fail() { printf 'FAIL: %s\n' "$*"; broken=1; }

# over COMMAND...: runs it with libxgemm in front; its verbose lines go to $work/log.
over() {
  rm -f "$work/log"
  LD_PRELOAD=$library XGEMM_VERBOSE=1 XGEMM_LOG_FILE=$work/log "$@"
}
# served LETTER: how many products of this type libxgemm's log holds.
served() { grep -c "^xgemm: ${1}gemm " "$work/log" 2>/dev/null; }

# Where Debian and its likes keep their multiarch files.
multiarch=/usr/lib/$(${CC:-cc} -print-multiarch 2>/dev/null || echo "$(uname -m)-linux-gnu")
