# The xgemm command.
bench_sources = \
  bench/args.c bench/args.h \
  bench/bench.c \
  bench/bits.c \
  bench/card.c bench/card.h \
  bench/case.h \
  bench/commands.h \
  bench/contest.c bench/contest.h \
  bench/cublas.c bench/cublas.h \
  bench/device.h \
  bench/goals.c bench/goals.h \
  bench/info.c \
  bench/judge.c \
  bench/json.c bench/json.h \
  bench/ladder.c bench/ladder.h \
  bench/ladder_counters.c \
  bench/ladder_report.c \
  bench/latency.c \
  bench/machine.c bench/machine.h \
  bench/main.c \
  bench/memory.c bench/memory.h \
  bench/model.c \
  bench/operands.c bench/operands.h \
  bench/options.c bench/options.h \
  bench/peaks.c bench/peaks.h \
  bench/peers.c bench/peers.h \
  bench/report.c bench/report.h \
  bench/report_csv.c bench/report_json.c bench/report_table.c \
  bench/run.c bench/run.h \
  bench/shapes.c bench/shapes.h \
  bench/summary.c bench/summary.h \
  bench/timing.c bench/timing.h \
  bench/verify.c bench/verify.h \
  bench/weigh.h

bin_PROGRAMS += xgemm
xgemm_SOURCES = $(bench_sources)
xgemm_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS) -DXGB_DATADIR='"$(datadir)/xgemm"'
xgemm_LDADD = libxg_testing.la libxg_core.la
if HAVE_CUDA
xgemm_SOURCES += bench/device_cuda.c bench/ladder_cuda.c bench/weigh_cuda.c
else
xgemm_SOURCES += bench/device_none.c bench/ladder_none.c bench/weigh_none.c
endif

benchdir = $(datadir)/xgemm
bench_DATA = bench/goals.tsv bench/quickstart.txt bench/suites.tsv
shapesdir = $(benchdir)/shapes
shapes_DATA = \
  bench/shapes/around.txt \
  bench/shapes/batched.txt \
  bench/shapes/bound.txt \
  bench/shapes/cases.txt \
  bench/shapes/cliffs.txt \
  bench/shapes/deepbench.txt \
  bench/shapes/hpl.txt \
  bench/shapes/llm.txt \
  bench/shapes/ragged.txt \
  bench/shapes/resnet.txt \
  bench/shapes/skinny.txt \
  bench/shapes/small.txt \
  bench/shapes/small_more.txt \
  bench/shapes/square.txt \
  bench/shapes/square_gpu.txt \
  bench/shapes/trans.txt
EXTRA_DIST += $(bench_DATA) $(shapes_DATA) bench/shapes/cliffs.tsv bench/results bench/render.py \
  bench/fit_gpu.py bench/ncu.sh bench/peers.sh bench/peers/mkl.c bench/peers/onednn.c bench/peers/peer.h bench/peers/scipy.c \
  bench/peers/torch.c bench/peers/xsmm.c

# Are the performance goals met by the committed results?
.PHONY: check-goals
check-goals: xgemm$(EXEEXT)
	./xgemm$(EXEEXT) goals --check $(top_srcdir)/bench/results \
	  --goals $(top_srcdir)/bench/goals.tsv
