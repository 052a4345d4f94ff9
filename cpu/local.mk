# The CPU engine. Adding a kernel: one file, and one line in the list of its instruction set.

cpu_base_kernels = \
  cpu/kernel/base/sgemm_base_4x8.c \
  cpu/kernel/base/sgemm_base_inplace.c \
  cpu/kernel/base/spack_base.c \
  cpu/kernel/base/dgemm_base_4x4.c \
  cpu/kernel/base/dgemm_base_inplace.c \
  cpu/kernel/base/dpack_base.c

cpu_avx2_kernels = \
  cpu/kernel/avx2/sgemm_avx2_6x16.c \
  cpu/kernel/avx2/sgemm_avx2_inplace.c \
  cpu/kernel/avx2/spack_avx2.c \
  cpu/kernel/avx2/sstream_avx2.c \
  cpu/kernel/avx2/dgemm_avx2_6x8.c \
  cpu/kernel/avx2/dgemm_avx2_inplace.c \
  cpu/kernel/avx2/dpack_avx2.c \
  cpu/kernel/avx2/dstream_avx2.c

cpu_avx512_kernels = \
  cpu/kernel/avx512/sgemm_avx512_14x32.c \
  cpu/kernel/avx512/sgemm_avx512_8x48.c \
  cpu/kernel/avx512/sgemm_avx512_inplace.c \
  cpu/kernel/avx512/spack_avx512.c \
  cpu/kernel/avx512/sstream_avx512.c \
  cpu/kernel/avx512/sstrip_avx512.c \
  cpu/kernel/avx512/dgemm_avx512_14x16.c \
  cpu/kernel/avx512/dgemm_avx512_8x24.c \
  cpu/kernel/avx512/dgemm_avx512_inplace.c \
  cpu/kernel/avx512/dpack_avx512.c \
  cpu/kernel/avx512/dstream_avx512.c \
  cpu/kernel/avx512/dstrip_avx512.c

libxg_core_la_SOURCES += \
  cpu/blocking.c cpu/blocking.h \
  cpu/cpu_backend.c \
  cpu/cpuid.c cpu/cpuid.h \
  cpu/crew.c cpu/crew.h cpu/spin.h \
  cpu/errand.h \
  cpu/grid.c cpu/grid.h \
  cpu/loops.c cpu/loops.h cpu/loops_job.h \
  cpu/loops_start.c \
  cpu/loops_bare.c cpu/loops_common.h \
  cpu/orient.c \
  cpu/loops_deep.c cpu/loops_deep.h \
  cpu/loops_flat.c cpu/loops_flat.h \
  cpu/loops_small.c cpu/loops_small.h \
  cpu/loops_thin.c cpu/loops_thin.h \
  cpu/loops_tile.h \
  cpu/model.c cpu/model.h \
  cpu/pack.c cpu/pack.h \
  cpu/quota.c \
  cpu/shares.h \
  cpu/topo.c cpu/topo.h \
  cpu/turns.h \
  cpu/ukr.h \
  cpu/ukr_find.c cpu/ukr_find.h \
  cpu/ukr_table.c \
  cpu/workspace.c cpu/workspace.h
libxg_core_la_LIBADD += libxg_cpu_base.la $(HWLOC_LIBS) -lm

# team.c is the only file with OpenMP in it.
noinst_LTLIBRARIES += libxg_cpu_team.la
libxg_core_la_LIBADD += libxg_cpu_team.la
libxg_cpu_team_la_SOURCES = cpu/team.c cpu/team.h
libxg_cpu_team_la_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)

# One library for each instruction set; its flags occur nowhere else.
noinst_LTLIBRARIES += libxg_cpu_base.la
libxg_cpu_base_la_SOURCES = $(cpu_base_kernels)

if XG_X86
noinst_LTLIBRARIES += libxg_cpu_avx2.la libxg_cpu_avx512.la
libxg_core_la_LIBADD += libxg_cpu_avx2.la libxg_cpu_avx512.la
libxg_cpu_avx2_la_SOURCES = $(cpu_avx2_kernels) cpu/kernel/avx2/part.h cpu/kernel/avx2/stream.h
libxg_cpu_avx2_la_CFLAGS = $(AM_CFLAGS) $(AVX2_CFLAGS)
libxg_cpu_avx512_la_SOURCES = $(cpu_avx512_kernels) cpu/kernel/avx512/stream.h cpu/kernel/avx512/strip.h \
  cpu/kernel/avx512/sinplace_dot.h cpu/kernel/avx512/sinplace_turn.h \
  cpu/kernel/avx512/dinplace_dot.h cpu/kernel/avx512/dinplace_turn.h
libxg_cpu_avx512_la_CFLAGS = $(AM_CFLAGS) $(AVX512_CFLAGS)
cpu_kernels = $(cpu_base_kernels) $(cpu_avx2_kernels) $(cpu_avx512_kernels)
else
cpu_kernels = $(cpu_base_kernels)
endif

CLEANFILES += cpu/ukr_list.h
cpu/ukr_list.h: Makefile
	$(call make_kernel_list,$(cpu_kernels))
$(libxg_core_la_OBJECTS): | cpu/ukr_list.h
