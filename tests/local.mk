# The tests. A new one is one file, tests/t-SUBJECT.c or tests/t-SUBJECT.sh, and one line here.

# CMocka programs: linked with everything, so they see the internals.
unit_tests = \
  tests/t-alloc \
  tests/t-api \
  tests/t-blas \
  tests/t-blas-plain \
  tests/t-blocking \
  tests/t-cases-bits \
  tests/t-cases-callers \
  tests/t-cases-pages \
  tests/t-cases-processes \
  tests/t-cases-sizes \
  tests/t-cases-values \
  tests/t-dlopen \
  tests/t-env \
  tests/t-errors \
  tests/t-fork \
  tests/t-grid \
  tests/t-lu \
  tests/t-nan \
  tests/t-plan \
  tests/t-team \
  tests/t-topo

# These use OpenMP as a program of its own would.
tests_t_fork_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)
tests_t_fork_SOURCES = tests/t-fork.c tests/no_threads.c tests/no_threads.h
tests_t_cases_processes_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)
tests_t_team_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)
tests_t_team_SOURCES = tests/t-team.c tests/no_threads.c tests/no_threads.h
EXTRA_DIST += \
  tests/topologies/hybrid.xml \
  tests/topologies/no-caches.xml \
  tests/topologies/odd-emulator.xml \
  tests/topologies/two-sockets-cpuset.xml \
  tests/topologies/two-sockets.xml \
  tests/topologies/xeon-16cores.xml \
  tests/topologies/zen4-2cores.xml

# The GPU engine's: built where there is CUDA; all but the first skip where there is no card.
if HAVE_CUDA
gpu_tests = \
  tests/t-gpu-host \
  tests/t-gpu \
  tests/t-gpu-faults \
  tests/t-gpu-streams \
  tests/t-gpu-big
endif
gpu_test_flags = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
card = tests/card.c tests/card.h
tests_t_gpu_host_CPPFLAGS = $(gpu_test_flags)
tests_t_gpu_CPPFLAGS = $(gpu_test_flags)
tests_t_gpu_SOURCES = tests/t-gpu.c $(card)
tests_t_gpu_faults_CPPFLAGS = $(gpu_test_flags)
tests_t_gpu_faults_SOURCES = tests/t-gpu-faults.c $(card)
tests_t_gpu_streams_CPPFLAGS = $(gpu_test_flags)
tests_t_gpu_streams_SOURCES = tests/t-gpu-streams.c $(card)
tests_t_gpu_big_CPPFLAGS = $(gpu_test_flags)
tests_t_gpu_big_SOURCES = tests/t-gpu-big.c $(card)

# Scripts: run in the build folder, with the variables of AM_TESTS_ENVIRONMENT.
script_tests = \
  tests/cases.sh \
  tests/results.sh \
  tests/rooms.sh \
  tests/symbols.sh \
  tests/t-bench.sh \
  tests/t-bench-gpu.sh \
  tests/t-checkgemm-selftest.sh \
  tests/t-instruction-sets.sh \
  tests/t-spills.sh \
  tests/clients/blas-test.sh \
  tests/clients/numpy.sh \
  tests/t-headers.sh

# Of these, what `make check-quick` runs: under 20 s in all.
quick_tests = \
  tests/cases.sh \
  tests/results.sh \
  tests/rooms.sh \
  tests/symbols.sh

# By hand: minutes long, or in want of root, an emulator or a card. CONTRIBUTING.md says when.
hand_tests = \
  tests/add-kernel.sh \
  tests/clean-machine.sh \
  tests/emulated-cpu.sh \
  tests/install-check.sh \
  tests/sanitizers.sh \
  tests/clients/lapack-test.sh

# One tool, many oracles.
check_PROGRAMS += tests/checkgemm
TESTS += tests/checkgemm
tests_checkgemm_SOURCES = \
  tests/checkgemm.c tests/checkgemm.h \
  tests/checkgemm_bench.c \
  tests/checkgemm_big.c \
  tests/checkgemm_blas.c \
  tests/checkgemm_broken.c tests/checkgemm_broken.h \
  tests/checkgemm_broken_list.c \
  tests/checkgemm_call.c \
  tests/checkgemm_case.c \
  tests/checkgemm_loops.c \
  tests/checkgemm_pack.c \
  tests/checkgemm_product.c \
  tests/checkgemm_stream.c \
  tests/checkgemm_strip.c \
  tests/checkgemm_thin.c \
  tests/checkgemm_ukr.c
tests_checkgemm_LDADD = libxg_testing.la libxg_core.la

# What the programs share, `xgemm bench` too; the second half is for CMocka programs.
noinst_LTLIBRARIES += libxg_testing.la
libxg_testing_la_SOURCES = \
  tests/child.c tests/child.h \
  tests/hostile.c tests/hostile.h \
  tests/reference.c tests/reference.h
libxg_testing_la_LIBADD = -lm

TESTS += $(script_tests)
if HAVE_CMOCKA
check_LTLIBRARIES += libxg_cmocka.la
libxg_cmocka_la_SOURCES = \
  tests/blas_names.c tests/blas_names.h \
  tests/cases.h \
  tests/cm.h \
  tests/product.c tests/product.h
libxg_cmocka_la_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
check_PROGRAMS += $(unit_tests) $(gpu_tests)
TESTS += $(unit_tests) $(gpu_tests)
LDADD += libxg_cmocka.la libxg_testing.la libxg_core.la $(CMOCKA_LIBS)
# These see the library as a program does: the shared one, public names only.
through_the_shared_library = libxg_cmocka.la libxg_testing.la libxgemm.la $(CMOCKA_LIBS) -lm
tests_t_blas_LDADD = $(through_the_shared_library)
tests_t_blas_plain_LDADD = $(through_the_shared_library)
tests_t_cases_callers_LDADD = $(through_the_shared_library)
tests_t_cases_pages_LDADD = $(through_the_shared_library)
tests_t_cases_processes_LDADD = $(through_the_shared_library)
tests_t_lu_LDADD = $(through_the_shared_library)
tests_t_dlopen_LDADD = libxg_testing.la $(CMOCKA_LIBS) -lm -ldl
endif
EXTRA_DIST += $(script_tests) $(hand_tests) tests/count.sh tests/cases.tsv tests/topologies tests/clients/common.sh

AM_TESTS_ENVIRONMENT = \
  top_srcdir='$(abs_top_srcdir)'; top_builddir='$(abs_top_builddir)'; CC='$(CC)'; NM='$(NM)'; \
  sanitizers='@enable_sanitizers@'; XGEMM_LIBRARY_FILE='$(abs_top_builddir)/.libs/libxgemm.so'; \
  export top_srcdir top_builddir CC NM sanitizers XGEMM_LIBRARY_FILE; \
  unset XGEMM_BACKEND XGEMM_CPU XGEMM_KERNEL XGEMM_NUM_THREADS XGEMM_VERBOSE XGEMM_DETERMINISTIC;

.PHONY: check-quick check-big check-sanitizers
check-quick: tests/checkgemm
	tests/checkgemm --quick
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(quick_tests)'
check-big: tests/checkgemm
	tests/checkgemm --big
check-sanitizers:
	$(SHELL) $(top_srcdir)/tests/sanitizers.sh
