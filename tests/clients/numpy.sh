#!/bin/sh
# numpy's `a @ b` over LD_PRELOAD with the system's python: right results, computed by libxgemm, also
# in a forked child and beside a library loaded with ctypes.
. "$(dirname "$0")/common.sh"
python=${XGEMM_PYTHON:-/usr/bin/python3}
$python -c 'import numpy' 2>/dev/null || skip "no numpy for $python (Debian package python3-numpy)"

cat >"$work/client.py" <<'END'
import ctypes, os, signal, sys
import numpy as np

signal.alarm(120)
rng = np.random.default_rng(7)
products = 0

def check(what, got, a, b):
    """a and b hold small integers: numpy's integer product knows no BLAS and is exact."""
    right = a.astype(np.int64) @ b.astype(np.int64)
    if not (got.shape == right.shape and np.array_equal(got, right)):
        sys.exit(f"{what}: wrong")

def pair(m, n, k, dtype):
    return (rng.integers(-9, 10, (m, k)).astype(dtype), rng.integers(-9, 10, (k, n)).astype(dtype))

for dtype in (np.float32, np.float64):
    for m, n, k in ((2, 3, 4), (17, 5, 33), (64, 64, 64), (300, 200, 100), (513, 257, 129)):
        a, b = pair(m, n, k, dtype)
        af, bf = np.asfortranarray(a), np.asfortranarray(b)
        for x in (a, af):
            for y in (b, bf):
                check("a @ b", x @ y, a, b)
                products += 1
        at, bt = np.ascontiguousarray(a.T), np.ascontiguousarray(b.T)
        check("a.T @ b.T", at.T @ bt.T, a, b)
        check("slices", np.pad(a, 3)[3:-3, 3:-3] @ np.pad(b, 2)[2:-2, 2:-2], a, b)
        check("dot", np.dot(a, b), a, b)
        out = np.full((m, n), np.nan, dtype)
        check("out=", np.matmul(a, b, out=out), a, b)
        products += 4
    stack_a, stack_b = rng.integers(-9, 10, (5, 20, 30)), rng.integers(-9, 10, (5, 30, 10))
    got = stack_a.astype(dtype) @ stack_b.astype(dtype)
    if not np.array_equal(got, stack_a @ stack_b):
        sys.exit("stacked: wrong")
    products += 5

# A NaN goes where it must.
a, b = pair(40, 40, 40, np.float64)
a[3, 5] = np.nan
c = a @ b
if not (np.isnan(c[3]).all() and not np.isnan(np.delete(c, 3, 0)).any()):
    sys.exit("NaN: wrong")
products += 1

# A forked child and its parent, as multiprocessing makes them.
a, b = pair(400, 300, 500, np.float64)
check("before the fork", a @ b, a, b)
child = os.fork()
if child == 0:
    signal.alarm(60)
    check("in the child", a @ b, a, b)
    os._exit(0)
if os.waitpid(child, 0)[1] != 0:
    sys.exit("the child failed")
check("after the fork", a @ b, a, b)
products += 3

# The same file by ctypes is the same library.
lib = ctypes.CDLL(os.environ["LD_PRELOAD"])
lib.cblas_dgemm.argtypes = [ctypes.c_int] * 6 + [ctypes.c_double, ctypes.c_void_p, ctypes.c_int,
    ctypes.c_void_p, ctypes.c_int, ctypes.c_double, ctypes.c_void_p, ctypes.c_int]
c = np.zeros((400, 300))
lib.cblas_dgemm(101, 111, 111, 400, 300, 500, 1.0, a.ctypes.data, 500, b.ctypes.data, 300, 0.0,
                c.ctypes.data, 300)
check("ctypes", c, a, b)
products += 1
print(products)
END

products=$(over $python "$work/client.py") || { fail 'the client ended badly'; echo "$products"; exit 1; }
seen=$(($(served s) + $(served d)))
[ "$seen" -ge "$products" ] || fail "libxgemm computed $seen of numpy's $products products"
# And a line as a reader would see it.
line=$(LD_PRELOAD=$library XGEMM_VERBOSE=1 $python -c \
  'import numpy; a = numpy.ones((100, 50)); b = numpy.ones((50, 70)); assert ((a @ b) == 50).all()' 2>&1)
case $line in
  xgemm:*dgemm*cpu*) ;;
  *) fail "no verbose line of libxgemm: $line" ;;
esac
[ $broken = 0 ] && { echo "numpy: $products products, $seen by libxgemm"; echo "$line"; }
exit $broken
