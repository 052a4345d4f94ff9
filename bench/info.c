/* `xgemm info` */
#include <stdio.h>
#include <string.h>

#include "../common/backend.h"
#include "../common/env.h"
#include "args.h"
#include "commands.h"
#include "config.h"
#include "device.h"
#include "machine.h"
#include "memory.h"
#include "peaks.h"
#include "peers.h"

struct info_options {
  int env, report, help;
};

static int set_env(void *options, const char *value)
{
  (void)value;
  ((struct info_options *)options)->env = 1;
  return 0;
}

static int set_report(void *options, const char *value)
{
  (void)value;
  ((struct info_options *)options)->report = 1;
  return 0;
}

static int set_help(void *options, const char *value)
{
  (void)value;
  ((struct info_options *)options)->help = 1;
  return 0;
}

static const struct xgb_flag flags[] = {
    {"--env", NULL, "the environment variables, their values here and what they accept", set_env},
    {"--report", NULL, "a block to paste into a bug report", set_report},
    {"--help", NULL, "this text", set_help},
    {NULL, NULL, NULL, NULL}};

/* ---------------------------------------------------------------- --env */

static void print_environment(int only_set)
{
  for (const struct xg_env_entry *e = xg_env_table; e->name; e++) {
    const char *value = xg_env_value(e->name);
    if (only_set && !value) continue;
    printf("  %s=%s\n", e->name, value ? value : "(not set)");
    if (!only_set) printf("      accepts %s; %s\n", e->accepted, e->meaning);
  }
}

/* ---------------------------------------------------------------- the machine */

static void print_cache(const char *name, long bytes)
{
  if (bytes >= 1 << 20)
    printf(" %s %.4g MiB", name, (double)bytes / (1 << 20));
  else if (bytes > 0)
    printf(" %s %ld KiB", name, bytes >> 10);
}

static void print_machine(const struct xgb_machine *m)
{
  printf("machine\n  cpu        %s\n  cores      %d usable (%d hardware threads of %d online)\n  "
         "caches    ",
         m->cpu[0] ? m->cpu : "(not named by the system)", m->cores, m->logical, m->online);
  print_cache("L1d", m->l1d);
  print_cache("L2", m->l2);
  print_cache("L3", m->l3);
  printf("\n  memory     %.1f GiB\n  isa        %s (the highest that the CPU engine uses here)\n",
         m->memory / (1 << 30), m->isa);
  printf("  system     %s\n", m->system);
}

static void print_peaks(const struct xgb_machine *m)
{
  int counts[2] = {1, m->cores};
  printf("peaks measured (%s)\n", xgb_cpu_vectors());
  for (int i = 0; i < (m->cores > 1 ? 2 : 1); i++)
    printf("  %3d thread%s f32 %.1f GFLOP/s, f64 %.1f GFLOP/s, memory read %.1f GB/s\n", counts[i],
           counts[i] == 1 ? ": " : "s:", 1e-9 * xgb_cpu_peak(XGEMM_F32, counts[i]),
           1e-9 * xgb_cpu_peak(XGEMM_F64, counts[i]),
           1e-9 * xgb_memory_rate(XGB_READ, counts[i], XGB_PAGES_DEFAULT));
}

/* ---------------------------------------------------------------- engines */

static void print_backends(void)
{
  puts("backends");
  for (int i = 0; xg_backends[i]; i++) {
    const struct xg_backend *b = xg_backends[i];
    const char *why = b->available(1);
    printf("  %-10s %s%s\n", b->name, why ? "this backend can't, because " : "yes", why ? why : "");
    if (!why && b->describe_machine) b->describe_machine(stdout);
    if (!why && b->id == XGEMM_BACKEND_GPU) {
      if (xgb_device_reason())
        printf("  the bench can't use it: %s\n", xgb_device_reason());
      else
        xgb_device_describe(stdout);
    }
  }
}

static void print_kernels(void)
{
  puts("kernels");
  for (int i = 0; xg_backends[i]; i++)
    for (int k = 0; k < xg_backends[i]->kernel_count(); k++) {
      struct xg_kernel_info info = xg_backends[i]->kernel_info(k);
      printf("  %-3s %-7s %s %4dx%-4d %-32s %s%s\n", xg_backends[i]->name, info.family,
             info.type == XGEMM_F64 ? "f64" : "f32", info.mr, info.nr, info.name,
             info.reason ? "no: " : "yes", info.reason ? info.reason : "");
    }
}

static void print_version(void)
{
  char version[32];
  xgb_version(version, sizeof version);
  printf("libxgemm %s\n  compiler   %s\n  build      %s\n", version, xgb_compiler(), XG_BUILD);
}

static void print_report(const struct xgb_machine *machine)
{
  char date[32];
  struct xgb_peer openblas;
  xgb_date(date, sizeof date);
  printf("---- libxgemm report, %s: please paste everything between the lines\n", date);
  print_version();
  print_machine(machine);
  print_peaks(machine);
  puts("environment that is set");
  print_environment(1);
  print_backends();
  print_kernels();
  if (xgb_peer_open(&openblas, "openblas?") == 0)
    printf("openblas\n  %s %s\n", openblas.version, openblas.path);
  puts("what was called (please fill in: function, sizes, leading dimensions, transposes, alpha, "
       "beta; XGEMM_VERBOSE=1 prints them)\n----");
}

int xgb_info(int argc, char **argv)
{
  struct info_options options = {0};
  if (xgb_parse("info", argc, argv, flags, &options, NULL)) return XGB_EXIT_USAGE;
  if (options.help) {
    puts("usage: xgemm info [flags]\n\nWhat the library sees on this machine.\n\nflags:");
    xgb_print_flags(flags);
    return XGB_EXIT_GOOD;
  }
  if (options.env) {
    print_environment(0);
    return XGB_EXIT_GOOD;
  }
  struct xgb_machine machine;
  xgb_machine_read(&machine, 0);
  if (options.report) {
    print_report(&machine);
    return XGB_EXIT_GOOD;
  }
  print_version();
  print_machine(&machine);
  print_peaks(&machine);
  print_backends();
  print_kernels();
  return XGB_EXIT_GOOD;
}
