# The GPU engine. Adding a kernel: one file, and one line in gpu_kernels.

gpu_kernels = \
  gpu/ladder/sgemm_ladder_1_naive.cu \
  gpu/ladder/sgemm_ladder_2_tiled.cu \
  gpu/ladder/dgemm_ladder_1_naive.cu \
  gpu/ladder/dgemm_ladder_2_tiled.cu \
  gpu/ladder/sgemm_ladder_3_coalesced.cu \
  gpu/ladder/sgemm_ladder_4_double.cu \
  gpu/ladder/sgemm_ladder_5_blocked.cu \
  gpu/ladder/sgemm_ladder_5b_warp.cu \
  gpu/ladder/sgemm_ladder_6_fused.cu \
  gpu/ladder/sgemm_ladder_7_vector.cu \
  gpu/ladder/sgemm_ladder_8_async.cu \
  gpu/ladder/hgemm_ladder_9_wmma.cu \
  gpu/ladder/bgemm_ladder_9_wmma.cu \
  gpu/ladder/hgemm_ladder_9b_mma.cu \
  gpu/ladder/bgemm_ladder_9b_mma.cu \
  gpu/kernel/sm80/sgemm_sm80_32x32x16.cu \
  gpu/kernel/sm80/sgemm_sm80_128x64x16.cu \
  gpu/kernel/sm80/sgemm_sm80_128x128x16.cu \
  gpu/kernel/sm80/sgemm_sm80_gemv.cu \
  gpu/kernel/sm80/sgemm_sm80_thin8.cu \
  gpu/kernel/sm80/sgemm_sm80_thin16.cu \
  gpu/kernel/sm80/sgemm_sm80_thin16_columns.cu \
  gpu/kernel/sm80/sgemm_sm80_thin32.cu \
  gpu/kernel/sm80/sgemm_sm80_dot.cu \
  gpu/kernel/sm80/sgemm_sm80_shallow.cu \
  gpu/kernel/sm80/dgemm_sm80_32x32x16.cu \
  gpu/kernel/sm80/dgemm_sm80_128x64x8.cu \
  gpu/kernel/sm80/dgemm_sm80_gemv.cu \
  gpu/kernel/sm80/dgemm_sm80_thin8.cu \
  gpu/kernel/sm80/dgemm_sm80_thin16.cu \
  gpu/kernel/sm80/dgemm_sm80_dot.cu \
  gpu/kernel/sm80/dgemm_sm80_mma_64x64x16.cu \
  gpu/kernel/sm90/sgemm_sm90_sliced_16x32x128.cu \
  gpu/kernel/sm90/sgemm_sm90_sliced_32x32x128.cu \
  gpu/kernel/sm90/sgemm_sm90_sliced_64x64x48.cu \
  gpu/kernel/sm90/sgemm_sm90_sliced_128x64x48.cu \
  gpu/kernel/sm90/sgemm_sm90_sliced_128x64x16.cu \
  gpu/kernel/sm90/sgemm_sm90_sliced_128x128x16.cu \
  gpu/kernel/sm90/sgemm_sm90_128x64x32.cu \
  gpu/kernel/sm90/sgemm_sm90_128x256x32.cu \
  gpu/kernel/sm90/dgemm_sm90_mma_16x32x64.cu \
  gpu/kernel/sm90/dgemm_sm90_mma_32x32x32.cu \
  gpu/kernel/sm90/dgemm_sm90_mma_32x64x64.cu \
  gpu/kernel/sm90/dgemm_sm90_mma_64x64x16.cu \
  gpu/kernel/sm90/dgemm_sm90_mma_64x64x32.cu \
  gpu/kernel/sm90/dgemm_sm90_mma_128x128x16.cu

noinst_LTLIBRARIES += libxg_gpu.la
libxg_core_la_LIBADD += libxg_gpu.la

gpu_sources = \
  gpu/bias_relu.cu gpu/bias_relu.h \
  gpu/box.c gpu/box.h \
  gpu/classify.c \
  gpu/device.c gpu/device.h \
  gpu/fitted.c gpu/fitted.h gpu/fitted_numbers.h \
  gpu/gather.cu gpu/gather.h gpu/gather_plan.c \
  gpu/gkr.h gpu/gkr_table.c \
  gpu/gpu_backend.c \
  gpu/launch.cuh \
  gpu/pick.c gpu/pick.h gpu/pick_cost.c \
  gpu/scale.cu gpu/scale.h \
  gpu/staging.c gpu/staging.h \
  gpu/tmap.cu gpu/tmap.h

# What kernels share: a frame for each family, and a header for each family of instructions.
gpu_sources += \
  gpu/dot.cuh gpu/gemv.cuh gpu/loads.cuh gpu/parts.cuh gpu/shallow.cuh gpu/slab.cuh \
  gpu/feed.cuh gpu/sliced.cuh gpu/sum_parts.cuh \
  gpu/mma_f64.cuh gpu/mma_f64_copy.cuh gpu/mma_f64_launch.cuh gpu/mma_f64_out.cuh \
  gpu/mma_f64_ptx.cuh \
  gpu/simt.cuh \
  gpu/sm90_ring.cuh gpu/sm90_simt.cuh gpu/sm90_stream.cuh \
  gpu/ladder/copies.cuh gpu/ladder/rung.cuh gpu/ladder/tensor.cuh \
  gpu/ladder/gemm_ladder_9_wmma.cuh gpu/ladder/gemm_ladder_9b_mma.cuh \
  gpu/ladder/model.c gpu/ladder/model.h \
  gpu/ptx/copy_groups.cuh gpu/ptx/cp_async.cuh gpu/ptx/ldmatrix.cuh gpu/ptx/mbarrier.cuh \
  gpu/ptx/mma_sync.cuh gpu/ptx/setmaxnreg.cuh gpu/ptx/tma.cuh

libxg_gpu_la_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
if HAVE_CUDA
libxg_gpu_la_SOURCES = $(gpu_sources) $(gpu_kernels)
libxg_gpu_la_LIBADD = $(CUDA_LIBS)
else
libxg_gpu_la_SOURCES = gpu/no_gpu.c gpu/ladder/model.c gpu/ladder/model.h
endif
EXTRA_DIST += gpu/nvcc-wrapper gpu/ladder/README.md

CLEANFILES += gpu/gkr_list.h
gpu/gkr_list.h: Makefile
	$(call make_kernel_list,$(gpu_kernels))
$(libxg_gpu_la_OBJECTS): | gpu/gkr_list.h

# One position-independent object serves the shared and the static library: nvcc is slow.
SUFFIXES = .cu .lo
.cu.lo:
	$(AM_V_NVCC)$(MKDIR_P) $(@D) && \
	$(LIBTOOL) $(AM_V_lt) --tag=CC --mode=compile $(NVCC_WRAPPER) $(NVCC) \
	  $(AM_CPPFLAGS) $(CPPFLAGS) $(NVCCFLAGS) $(nvcc_archs) -MD -MP -MT $@ -MF $(@:.lo=.d) \
	  $(NVCC_LIBTOOL) -c $< -o $@
nvcc_archs = $(if $(findstring /sm90/,$<),$(NVCCFLAGS_SM90),$(NVCCFLAGS_ARCHS))
NVCC_WRAPPER = $(SHELL) $(top_srcdir)/gpu/nvcc-wrapper
AM_V_NVCC = $(am__v_NVCC_$(V))
am__v_NVCC_ = $(am__v_NVCC_$(AM_DEFAULT_VERBOSITY))
am__v_NVCC_0 = @echo "  NVCC    " $@;
am__v_NVCC_1 =

cu_dependencies = $(patsubst %.cu,%.d,$(filter %.cu,$(gpu_sources) $(gpu_kernels)))
CLEANFILES += $(cu_dependencies)
-include $(cu_dependencies)
