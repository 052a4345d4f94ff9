/* What the machine is, for info and for the head of every result file. */
#ifndef XGB_MACHINE_H
#define XGB_MACHINE_H

#include <stddef.h>

struct xgb_machine {
  char cpu[128];    /* "AMD EPYC 9654", as the system names it */
  char system[256]; /* kernel and distribution */
  int cores;        /* physical ones that this process may use */
  int logical;      /* hardware threads that it may use */
  int online;       /* hardware threads of the whole machine */
  long l1d, l2, l3; /* bytes, 0 if the system does not say */
  double memory;    /* bytes */
  const char *isa;  /* highest instruction set the library uses here: "base", "avx2", "avx512" */
  char gpu[128];    /* name of the first card, "" if none is usable */
  char gpu_reason[240]; /* why not */
};

/* Physical cores of this thread's affinity mask, less what a cgroup quota takes: the number of
 * threads that the library uses by default. */
int xgb_cores(void);

/* Bytes of the largest cache, 32 MiB if the system does not say. */
long xgb_last_cache(void);

/* "always", "madvise" or "never"; "" if the system does not say. */
void xgb_huge_pages(char *text, size_t size);

/* Starts CUDA if `gpu` is 1. */
void xgb_machine_read(struct xgb_machine *machine, int gpu);

/* The compiler and its version, and the library's version: static text. */
const char *xgb_compiler(void);
void xgb_version(char *text, size_t size);

/* "2025-01-31T12:00:00Z" */
void xgb_date(char *text, size_t size);

#endif
