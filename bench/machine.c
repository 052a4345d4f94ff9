#define _GNU_SOURCE
#include "machine.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "../common/backend.h"
#include "../cpu/topo.h"
#include "device.h"
#include "timing.h"

/* The value behind "key   : value" or KEY="value" in a text file. */
static void look_up(const char *path, const char *key, char *out, size_t size)
{
  out[0] = 0;
  FILE *file = fopen(path, "r");
  char line[512];
  while (file && fgets(line, sizeof line, file)) {
    if (strncmp(line, key, strlen(key)) != 0) continue;
    char *value = line + strlen(key);
    value += strspn(value, " \t:=\"");
    value[strcspn(value, "\"\n")] = 0;
    snprintf(out, size, "%.*s", (int)size - 1, value);
    break;
  }
  if (file) fclose(file);
}

/* The best instruction set for which the CPU engine has a kernel that runs here. */
static const char *best_isa(void)
{
  static const char *const order[] = {"avx512", "avx2", "base"};
  const struct xg_backend *cpu = xg_backend_by_id(XGEMM_BACKEND_CPU);
  for (size_t o = 0; cpu && o < sizeof order / sizeof *order; o++)
    for (int i = 0; i < cpu->kernel_count(); i++) {
      struct xg_kernel_info info = cpu->kernel_info(i);
      if (!info.reason && strcmp(info.family, order[o]) == 0) return order[o];
    }
  return "none";
}

/* Bytes of the first processor's data or unified cache of a level; 0 if the system does not say. */
static long cache_size(int level)
{
  for (int index = 0; index < 8; index++) {
    char path[128], kind[32], text[32];
    static const char folder[] = "/sys/devices/system/cpu/cpu0/cache/index";
    snprintf(path, sizeof path, "%s%d/level", folder, index);
    look_up(path, "", text, sizeof text);
    snprintf(path, sizeof path, "%s%d/type", folder, index);
    look_up(path, "", kind, sizeof kind);
    if (atoi(text) != level || strcmp(kind, "Instruction") == 0) continue;
    snprintf(path, sizeof path, "%s%d/size", folder, index);
    look_up(path, "", text, sizeof text);
    char *unit;
    long size = strtol(text, &unit, 10);
    return *unit == 'K' ? size << 10 : *unit == 'M' ? size << 20 : size;
  }
  return 0;
}

int xgb_cores(void)
{
  int cores = xg_cpu_affinity_cores(), quota = xg_cgroup_cpus_now();
  return quota > 0 && quota < cores ? quota : cores;
}

void xgb_huge_pages(char *text, size_t size)
{
  char line[128];
  look_up("/sys/kernel/mm/transparent_hugepage/enabled", "", line, sizeof line);
  char *open = strchr(line, '['), *end = open ? strchr(open, ']') : NULL;
  snprintf(text, size, "%.*s", end ? (int)(end - open - 1) : 0, open ? open + 1 : "");
}

long xgb_last_cache(void)
{
  static long bytes;
  for (int level = 3; level > 1 && bytes == 0; level--) bytes = cache_size(level);
  return bytes > 0 ? bytes : 32 << 20;
}

void xgb_machine_read(struct xgb_machine *machine, int gpu)
{
  memset(machine, 0, sizeof *machine);
  look_up("/proc/cpuinfo", "model name", machine->cpu, sizeof machine->cpu);
  char release[128];
  struct utsname name;
  look_up("/etc/os-release", "PRETTY_NAME", release, sizeof release);
  if (uname(&name) == 0)
    snprintf(machine->system, sizeof machine->system, "%s, %.30s %.*s", release, name.sysname,
             (int)strcspn(name.release, "-"), name.release);
  cpu_set_t set;
  machine->online = (int)sysconf(_SC_NPROCESSORS_ONLN);
  machine->cores = xgb_cores();
  machine->logical =
      sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : machine->online;
  machine->l1d = cache_size(1);
  machine->l2 = cache_size(2);
  machine->l3 = cache_size(3);
  machine->memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
  machine->isa = best_isa();

  const char *why = xg_backend_gpu.available(gpu);
  if (!why && gpu) why = xgb_device_reason();
  if (why)
    snprintf(machine->gpu_reason, sizeof machine->gpu_reason, "%s", why);
  else if (gpu)
    xgb_device_name(machine->gpu, sizeof machine->gpu);
}

const char *xgb_compiler(void)
{
#ifdef __clang__
  return "clang " __clang_version__;
#else
  return "gcc " __VERSION__;
#endif
}

void xgb_version(char *text, size_t size)
{
  int version = xgemm_version();
  snprintf(text, size, "%d.%d.%d", version / 10000, version / 100 % 100, version % 100);
}

void xgb_date(char *text, size_t size)
{
  time_t now = time(NULL);
  struct tm parts;
  strftime(text, size, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &parts));
}
