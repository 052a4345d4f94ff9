#!/bin/sh
# Who may include whom. `common` knows neither engine beyond the two names in backend.c; `cpu` and
# `gpu` never meet; a kernel sees its contract and its instructions, nothing else.
cd "${top_srcdir:-$(dirname "$0")/..}" || exit 1
broken=0

# rule NAME ALLOWED FILE...: every #include of the files matches the pattern ALLOWED.
rule() {
  name=$1 allowed=$2
  shift 2
  bad=$(grep -HnE '^[[:space:]]*#[[:space:]]*include' "$@" /dev/null | grep -vE "include[[:space:]]*$allowed")
  [ -z "$bad" ] && return
  printf 'FAIL: %s\n%s\n' "$name" "$bad"
  broken=1
}

# ban NAME PATTERN FILE...: no line of the files matches PATTERN.
ban() {
  name=$1 pattern=$2
  shift 2
  bad=$(grep -HnE "$pattern" "$@" /dev/null)
  [ -z "$bad" ] && return
  printf 'FAIL: %s\n%s\n' "$name" "$bad"
  broken=1
}

c_files() { find "$@" -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh'; }
others() { c_files common cpu gpu | grep -vE "$1"; }

up='"(\.\./)*'
ban 'common knows neither engine' \
  "include[[:space:]]*[<\"].*(cpu/|gpu/|intrin\.h|cuda|omp\.h|hwloc)" $(c_files common)
ban 'only backend.h, which declares them, and backend.c name the engines' 'xg_backend_(cpu|gpu)' \
  $(c_files common | grep -v 'common/backend\.[ch]')
ban 'cpu never includes gpu' "include[[:space:]]*[<\"].*(gpu/|cuda)" $(c_files cpu)
ban 'gpu never includes cpu' "include[[:space:]]*[<\"].*(cpu/|intrin\.h)" $(c_files gpu)
rule 'a CPU kernel includes ukr.h, intrinsics and its own folder' \
  "(${up}ukr\.h\"|<immintrin\.h>|<std(int|def|bool)\.h>|<(string|math)\.h>|\"[a-z0-9_]+\.h\")" $(c_files cpu/kernel)
rule 'a GPU kernel includes gkr.h, the .cuh files of the room and CUDA' \
  "(${up}gkr\.h\"|${up}(ptx/)?[a-z0-9_]+\.cuh\"|<(cuda|cooperative|sm_|mma|std)[a-z0-9_/]*\.h>|<cuda/[a-z]+>)" \
  $(find gpu/kernel gpu/ladder -name '*.cu' -o -name '*.cuh')
ban 'only common/env.c reads the environment' '[^_a-z](secure_)?getenv[[:space:]]*\(' \
  $(others 'common/env\.c')
ban 'only cpu/team.c has OpenMP' '#[[:space:]]*pragma[[:space:]]+omp|omp\.h' $(others 'cpu/team\.[ch]')
ban 'the library never leaves the process' '[^_a-z](exit|_exit|abort)[[:space:]]*\(' \
  $(others '^$')

# What is in every kernel file, its name says: file stem = symbol = registry name.
for file in $(find cpu/kernel -name '*.c') $(find gpu/kernel gpu/ladder -name '*.cu'); do
  stem=$(basename "${file%.*}")
  grep -qE "const (struct )?xg_[ug]kr[[:space:]]+$stem[[:space:]]*=" "$file" && grep -q "\"$stem\"" "$file" ||
    grep -qE "\($stem[,)]" "$file" || {
    printf 'FAIL: %s has no descriptor "%s"\n' "$file" "$stem"
    broken=1
  }
  grep -qw "$file" cpu/local.mk gpu/local.mk || {
    printf 'FAIL: %s is in no list of kernels (local.mk)\n' "$file"
    broken=1
  }
done

[ $broken = 0 ] && echo 'rooms: every include is where it may be'
exit $broken
