#!/bin/sh
# The public headers alone: in C99, C11, C17 and C++, without a warning; both spellings of the
# layout's type; beside another library's cblas.h that came first.
set -u
CC=${CC:-cc}
CXX=${CXX:-c++}
top_srcdir=${top_srcdir:-.}
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
failed=0 passed=0

have() { "$@" -x "$lang" -c /dev/null -o "$work/null.o" >/dev/null 2>&1; }

# compile NAME COMPILER FLAGS...: the program in $work/t.c must compile silently.
compile() {
  name=$1
  shift
  if message=$("$@" -Wall -Wextra -Werror -pedantic -I"$top_srcdir/include" \
    -c "$work/t.c" -o "$work/t.o" 2>&1) && test -z "$message"; then
    passed=$((passed + 1))
  else
    echo "FAIL: $name: $*"
    echo "$message" | head -20
    failed=$((failed + 1))
  fi
}

# Each header alone, and both in either order.
for include in xgemm.h xgemm_cblas.h 'xgemm.h xgemm_cblas.h' 'xgemm_cblas.h xgemm.h' \
  'xgemm.h xgemm.h' 'xgemm_cblas.h xgemm_cblas.h'; do
  for header in $include; do printf '#include <%s>\n' "$header"; done >"$work/t.c"
  echo 'int t_headers_has_something; ' >>"$work/t.c"
  for std in c99 c11 c17 gnu11; do compile "$include" $CC -std=$std -x c; done
  lang=c++
  if have $CXX; then
    for std in c++11 c++17 c++20; do compile "$include" $CXX -std=$std -x c++; done
  fi
done

# The macros and the helpers as a program uses them.
cat >"$work/t.c" <<'END'
#include <xgemm.h>
int example(const float *a, const float *b, float *c);
int example(const float *a, const float *b, float *c)
{
  xgemm_problem p = XGEMM_PROBLEM_INIT;
  xgemm_options o = XGEMM_OPTIONS_INIT;
  xgemm_matrix x = XGEMM_MATRIX_INIT;
  p.m = 2, p.n = 3, p.k = 4;
  p.a = xgemm_row_major(a, XGEMM_F32, 4);
  p.b = xgemm_transpose(xgemm_col_major(b, XGEMM_F32, 3));
  p.c = x;
  p.c.data = c, p.c.row_stride = 3, p.c.col_stride = 1;
  o.backend = XGEMM_BACKEND_CPU;
  return xgemm(&p, &o) == XGEMM_OK ? xgemm_version() - XGEMM_VERSION : -1;
}
END
compile macros $CC -std=c99 -x c
lang=c++
if have $CXX; then compile macros $CXX -std=c++11 -x c++; fi

# CBLAS_ORDER, enum CBLAS_ORDER, CBLAS_LAYOUT and enum CBLAS_LAYOUT.
spellings() {
  cat <<'END'
void use(double *c);
static enum CBLAS_ORDER one = CblasRowMajor;
static CBLAS_ORDER two = CblasColMajor;
static CBLAS_LAYOUT three = CblasRowMajor;
static enum CBLAS_TRANSPOSE four = CblasNoTrans;
static CBLAS_TRANSPOSE five = CblasConjTrans;
void use(double *c)
{
  cblas_dgemm(one, four, five, 1, 1, 1, 1, c, 1, c + 1, 1, 0, c + 2, 1);
  cblas_dgemm(two, CblasTrans, five, 1, 1, 1, 1, c, 1, c + 1, 1, 0, c + 2, 1);
  cblas_dgemm(three, four, five, 1, 1, 1, 1, c, 1, c + 1, 1, 0, c + 2, 1);
  cblas_dgemm_64(three, four, five, 1, 1, 1, 1, c, 1, c + 1, 1, 0, c + 2, 1);
}
END
}
{ echo '#include <xgemm_cblas.h>'; echo 'static enum CBLAS_LAYOUT six = CblasColMajor;
enum CBLAS_LAYOUT get(void); enum CBLAS_LAYOUT get(void) { return six; }'; spellings; } >"$work/t.c"
compile spellings $CC -std=c99 -x c
lang=c++
if have $CXX; then compile spellings $CXX -std=c++11 -x c++; fi

# Beside the cblas.h of netlib, OpenBLAS, BLIS: whichever are there. All have these two spellings.
beside_use() {
  cat <<'END'
void use(double *c);
void use(double *c)
{
  enum CBLAS_ORDER order = CblasRowMajor;
  enum CBLAS_TRANSPOSE trans = CblasTrans;
  cblas_dgemm(order, trans, CblasNoTrans, 1, 1, 1, 1, c, 1, c + 1, 1, 0, c + 2, 1);
  cblas_dgemm_64(order, trans, CblasNoTrans, 1, 1, 1, 1, c, 1, c + 1, 1, 0, c + 2, 1);
}
END
}
beside=
for path in /usr/include/x86_64-linux-gnu /usr/include /usr/include/blis /usr/include/openblas \
  /usr/include/x86_64-linux-gnu/openblas-pthread /usr/include/x86_64-linux-gnu/blis-openmp \
  ${XGEMM_CBLAS_DIRS-}; do
  for header in cblas-netlib.h cblas-openblas.h cblas.h; do
    test -f "$path/$header" || continue
    beside="$beside $path/$header"
    # -isystem: its own warnings are not ours.
    { echo "#include <$header>"; echo '#include <xgemm_cblas.h>'; echo '#include <xgemm.h>'
      beside_use; } >"$work/t.c"
    compile "beside $path/$header" $CC -std=c11 -isystem "$path" -x c
    lang=c++
    if have $CXX; then compile "beside $path/$header" $CXX -std=c++11 -isystem "$path" -x c++; fi
  done
done

echo "headers: $passed passed, $failed failed; beside:${beside:- none found}"
test $failed -eq 0 && test $passed -gt 20
