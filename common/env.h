/* The only reader of environment variables: one table, read once per process. */
#ifndef XG_ENV_H
#define XG_ENV_H

#include <stddef.h>
#include <stdint.h>

#include "xgemm.h"

enum { XG_MAX_DEVICES = 64 };

struct xg_env {
  xgemm_backend backend;
  int threads;        /* XGEMM_NUM_THREADS, 0: not set */
  const char *cpu;    /* XGEMM_CPU: highest instruction set to use, NULL: no cap */
  const char *kernel; /* XGEMM_KERNEL, NULL: none */
  int devices[XG_MAX_DEVICES], device_count; /* XGEMM_DEVICES, count 0: all */
  uint64_t gpu_memory;                       /* XGEMM_GPU_MEMORY in bytes, 0: no cap */
  int deterministic;
  int verbose;          /* 0, 1, 2 */
  const char *log_file; /* NULL: stderr */
  int problems;         /* how many variables had values we do not know */
};

/* Parsed on first use; a bad value is reported on stderr once and its default taken. */
const struct xg_env *xg_env(void);

/* One line on stderr: this variable's value is not among the accepted ones. */
void xg_env_complain(const char *name);

/* For `xgemm info --env` and the manual. */
struct xg_env_entry {
  const char *name, *accepted, *meaning;
};
extern const struct xg_env_entry xg_env_table[]; /* ends with name NULL */
/* The current value as text, or NULL if the variable is not set. */
const char *xg_env_value(const char *name);

#endif
