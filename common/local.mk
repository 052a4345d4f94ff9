# What both engines and every front end share.
libxg_core_la_SOURCES += \
  common/alloc.c common/alloc.h \
  common/api.c \
  common/backend.c common/backend.h \
  common/blas.c common/blas.h \
  common/cblas.c \
  common/env.c common/env.h \
  common/log.c common/log.h \
  common/plan.c common/plan.h \
  common/plan_cache.c common/plan_cache.h \
  common/problem.c common/problem.h \
  common/ref_backend.c \
  common/request.c \
  common/roofline.c common/roofline.h \
  common/status.c common/status.h
