/* Caches and cores by hwloc, and the cheap counts without it. */
#define _GNU_SOURCE 1 /* CPU masks of any size */
#include "topo.h"

#include <hwloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* What we assume where nothing is known: every x86-64 and AArch64 server core has at least this. */
static const struct xg_topo fallback = {.l1d = 32 << 10,
                                        .l2 = 256 << 10,
                                        .l3 = 0,
                                        .l1d_ways = 8,
                                        .l2_ways = 8,
                                        .l3_ways = 0,
                                        .line = 64,
                                        .l2_sharing = 1,
                                        .l3_sharing = 0,
                                        .cores = 1,
                                        .packages = 1,
                                        .ghz = 2.5,
                                        .known = 0};

enum { MAX_WAYS = 64 };

/* ---------------------------------------------------------------- caches */

struct cache {
  int64_t size;
  int ways, line, sharing;
};

static int cores_below(hwloc_topology_t topology, hwloc_const_cpuset_t set)
{
  int n = hwloc_get_nbobjs_inside_cpuset_by_type(topology, set, HWLOC_OBJ_CORE);
  if (n <= 0) n = hwloc_get_nbobjs_inside_cpuset_by_type(topology, set, HWLOC_OBJ_PU);
  return n > 0 ? n : 1;
}

/* Associativity as the model wants it: -1 is hwloc's "fully", 0 its "unknown". A way must be at
 * least one line and all ways alike. */
static int sane_ways(int reported, int64_t size, int line, int assumed)
{
  int ways = reported < 0 ? MAX_WAYS : reported == 0 ? assumed : reported;
  if (ways > MAX_WAYS) ways = MAX_WAYS;
  while (ways > 1 && size / ways < line) ways /= 2;
  return ways;
}

/* The instance of a level that leaves a core the least; size 0 if there is none with a size. */
static struct cache smallest_cache(hwloc_topology_t topology, hwloc_obj_type_t type, int assumed)
{
  struct cache best = {0, 0, 64, 1};
  for (hwloc_obj_t o = NULL; (o = hwloc_get_next_obj_by_type(topology, type, o)) != NULL;) {
    int64_t size = (int64_t)o->attr->cache.size;
    if (size < 1024) continue;
    int sharing = cores_below(topology, o->cpuset);
    if (best.size != 0 && size / sharing >= best.size / best.sharing) continue;
    best.size = size;
    best.sharing = sharing;
    best.line = o->attr->cache.linesize >= 16 ? (int)o->attr->cache.linesize : 64;
    best.ways = sane_ways(o->attr->cache.associativity, size, best.line, assumed);
  }
  return best;
}

/* ---------------------------------------------------------------- clock */

static double khz_file(const char *path)
{
  double khz = 0;
  FILE *f = fopen(path, "re");
  if (f == NULL) return 0;
  if (fscanf(f, "%lf", &khz) != 1) khz = 0;
  fclose(f);
  return khz;
}

/* The fastest kind of core, as hwloc knows it from cpufreq or the firmware. */
static double ghz_of_kinds(hwloc_topology_t topology)
{
  double mhz = 0;
  int kinds = hwloc_cpukinds_get_nr(topology, 0);
  for (int i = 0; i < kinds; i++) {
    unsigned count = 0;
    struct hwloc_info_s *info = NULL;
    if (hwloc_cpukinds_get_info(topology, (unsigned)i, NULL, NULL, &count, &info, 0) != 0) continue;
    for (unsigned j = 0; j < count; j++)
      if (strcmp(info[j].name, "FrequencyMaxMHz") == 0 && atof(info[j].value) > mhz)
        mhz = atof(info[j].value);
  }
  return mhz * 1e-3;
}

/* Virtual machines tell no frequency: time a chain of dependent multiplies and adds, 4 cycles a
 * link on every x86-64 and most AArch64 cores. The best of a few runs; about 0.1 ms in all. */
static double ghz_of_chain(void)
{
  enum { RUNS = 6, LINKS = 12000 };
  double best = 0;
  for (int run = 0; run < RUNS; run++) {
    struct timespec t0, t1;
    uint64_t x = (uint64_t)run;
    clock_gettime(CLOCK_MONOTONIC, &t0);
    for (int i = 0; i < LINKS; i++) {
      x = x * 6364136223846793005u + 1442695040888963407u;
      __asm__ volatile("" : "+r"(x));
    }
    clock_gettime(CLOCK_MONOTONIC, &t1);
    double ns = 1e9 * (double)(t1.tv_sec - t0.tv_sec) + (double)(t1.tv_nsec - t0.tv_nsec);
    if (ns > 0 && 4.0 * LINKS / ns > best) best = 4.0 * LINKS / ns;
  }
  return best;
}

static double sane_ghz(double ghz)
{
  return ghz > 0.4 && ghz < 8 ? ghz : 0;
}

static double ghz_here(void)
{
  double ghz = sane_ghz(1e-6 * khz_file("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq"));
  return ghz > 0 ? ghz : sane_ghz(ghz_of_chain());
}

/* ---------------------------------------------------------------- the whole picture */

static void describe(hwloc_topology_t topology, struct xg_topo *out)
{
  *out = fallback;
  struct cache l1 = smallest_cache(topology, HWLOC_OBJ_L1CACHE, 8);
  struct cache l2 = smallest_cache(topology, HWLOC_OBJ_L2CACHE, 8);
  struct cache l3 = smallest_cache(topology, HWLOC_OBJ_L3CACHE, 16);
  if (l1.size != 0) {
    out->l1d = l1.size;
    out->l1d_ways = l1.ways;
    out->line = l1.line;
    out->known = 1;
  }
  if (l2.size != 0) {
    out->l2 = l2.size;
    out->l2_ways = l2.ways;
    out->l2_sharing = l2.sharing;
  }
  if (l3.size != 0) {
    out->l3 = l3.size;
    out->l3_ways = l3.ways;
    out->l3_sharing = l3.sharing;
  }
  /* Some emulators report an L2 no larger than L1. */
  if (out->l2 / out->l2_sharing <= out->l1d) {
    out->l2 = fallback.l2 > 4 * out->l1d ? fallback.l2 : 4 * out->l1d;
    out->l2_ways = fallback.l2_ways;
    out->l2_sharing = 1;
  }
  out->cores = cores_below(topology, hwloc_topology_get_allowed_cpuset(topology));
  int packages = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE);
  out->packages = packages > 0 ? packages : 1;
  double ghz = sane_ghz(ghz_of_kinds(topology));
  if (ghz > 0) out->ghz = ghz;
}

/* Loads what we ask about and nothing else. INCLUDE_DISALLOWED: a container's cpuset must not
 * change the cache sizes that we see. */
static int load(const char *xml, struct xg_topo *out)
{
  hwloc_topology_t topology;
  if (hwloc_topology_init(&topology) != 0) return -1;
  unsigned long flags = HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED;
  int ok =
      hwloc_topology_set_flags(topology, flags) == 0 &&
      hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE) == 0 &&
      hwloc_topology_set_type_filter(topology, HWLOC_OBJ_MISC, HWLOC_TYPE_FILTER_KEEP_NONE) == 0 &&
      hwloc_topology_set_icache_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE) == 0 &&
      (xml == NULL || hwloc_topology_set_xml(topology, xml) == 0) &&
      hwloc_topology_load(topology) == 0;
  if (ok) describe(topology, out);
  hwloc_topology_destroy(topology);
  return ok ? 0 : -1;
}

int xg_topo_from_xml(const char *path, struct xg_topo *out)
{
  return load(path, out);
}

/* Threads that come at the same time may both load; one of them publishes, the others take that. No
 * lock is held, so a fork at any moment leaves nothing locked in the child. */
const struct xg_topo *xg_topo(void)
{
  static struct xg_topo *_Atomic published;
  struct xg_topo *now = atomic_load_explicit(&published, memory_order_acquire);
  if (now != NULL) return now;
  struct xg_topo *mine = malloc(sizeof *mine);
  if (mine == NULL) return &fallback;
  if (load(NULL, mine) != 0) *mine = fallback;
  if (!mine->known) mine->cores = xg_cpu_online();
  double ghz = mine->ghz == fallback.ghz ? ghz_here() : 0;
  if (ghz > 0) mine->ghz = ghz;
  struct xg_topo *none = NULL;
  if (atomic_compare_exchange_strong(&published, &none, mine)) return mine;
  free(mine);
  return none;
}

/* ---------------------------------------------------------------- cheap counts */

int xg_cpu_online(void)
{
  long n = sysconf(_SC_NPROCESSORS_ONLN);
  return n > 0 ? (int)n : 1;
}

static int number_in(const char *path, int otherwise)
{
  int number = otherwise;
  FILE *f = fopen(path, "re");
  if (f == NULL) return otherwise;
  if (fscanf(f, "%d", &number) != 1) number = otherwise;
  fclose(f);
  return number;
}

/* 1 if the kernel says that no core runs two hardware threads. */
static int no_smt(const char *root)
{
  char path[512];
  snprintf(path, sizeof path, "%s/sys/devices/system/cpu/smt/active", root);
  return number_in(path, 1) == 0;
}

/* The lowest-numbered hardware thread of the core that `cpu` belongs to; cpu itself if unknown. */
static int core_leader(const char *root, int cpu)
{
  char path[512];
  snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", root,
           cpu);
  return number_in(path, cpu);
}

enum { CACHED = 4096 };

/* The running system is asked once about each CPU, other roots each time. */
static int core_leader_cached(const char *root, int cpu)
{
  static _Atomic uint16_t memo[CACHED]; /* leader + 1, 0 while unknown */
  if (cpu >= CACHED || *root != 0) return core_leader(root, cpu);
  int known = atomic_load_explicit(&memo[cpu], memory_order_relaxed);
  if (known != 0) return known - 1;
  int leader = core_leader(root, cpu);
  atomic_store_explicit(&memo[cpu], (uint16_t)(leader + 1), memory_order_relaxed);
  return leader;
}

static int no_smt_cached(const char *root)
{
  static atomic_int memo; /* 0 not asked, 1 no SMT, 2 SMT or unknown */
  if (*root != 0) return no_smt(root);
  int known = atomic_load_explicit(&memo, memory_order_relaxed);
  if (known == 0) {
    known = no_smt(root) ? 1 : 2;
    atomic_store_explicit(&memo, known, memory_order_relaxed);
  }
  return known == 1;
}

/* Counts cores, told the CPUs one by one. */
struct counter {
  const char *root;
  uint64_t seen[CACHED / 64]; /* leaders met */
  int cores;
};

static void count_cpu(struct counter *c, int cpu)
{
  int leader = core_leader_cached(c->root, cpu);
  if (leader >= 0 && leader < CACHED) {
    uint64_t bit = (uint64_t)1 << leader % 64, *word = &c->seen[leader / 64];
    if (*word & bit) return;
    *word |= bit;
  } else if (leader != cpu) { /* beyond the table: its leader counts for it */
    return;
  }
  c->cores++;
}

int xg_cpu_count_cores(const char *root, const int *cpus, int count)
{
  struct counter c = {.root = root};
  if (no_smt_cached(root)) return count > 0 ? count : 1;
  for (int i = 0; i < count; i++) count_cpu(&c, cpus[i]);
  return c.cores > 0 ? c.cores : 1;
}

/* A CPU mask as long as the kernel's, which refuses shorter ones. */
struct mask {
  cpu_set_t small, *set; /* set: &small or memory */
  size_t bytes;
};

static int get_mask(pid_t thread, struct mask *out)
{
  out->set = &out->small;
  out->bytes = sizeof out->small;
  if (sched_getaffinity(thread, out->bytes, out->set) == 0) return 1;
  for (size_t cpus = 4 * CPU_SETSIZE; cpus <= 1 << 17; cpus *= 4) {
    out->set = CPU_ALLOC(cpus);
    if (out->set == NULL) return 0;
    out->bytes = CPU_ALLOC_SIZE(cpus);
    if (sched_getaffinity(thread, out->bytes, out->set) == 0) return 1;
    CPU_FREE(out->set);
  }
  return 0;
}

static void free_mask(struct mask *m)
{
  if (m->set != &m->small) CPU_FREE(m->set);
}

static int count_mask(const struct mask *m)
{
  int count = CPU_COUNT_S(m->bytes, m->set);
  struct counter c = {.root = ""};
  if (no_smt_cached(c.root)) return count > 0 ? count : 1;
  for (size_t cpu = 0; cpu < m->bytes * 8; cpu++)
    if (CPU_ISSET_S(cpu, m->bytes, m->set)) count_cpu(&c, (int)cpu);
  return c.cores > 0 ? c.cores : 1;
}

/* FNV-1a over the CPUs that are set. */
static uint64_t hash_mask(const struct mask *m)
{
  uint64_t hash = 14695981039346656037u;
  for (size_t cpu = 0; cpu < m->bytes * 8; cpu++)
    if (CPU_ISSET_S(cpu, m->bytes, m->set)) hash = (hash ^ cpu) * 1099511628211u;
  return hash;
}

int xg_cpu_affinity(uint64_t *hash)
{
  struct mask own;
  *hash = 0;
  if (!get_mask(0, &own)) return xg_cpu_online();
  *hash = hash_mask(&own);
  int cores = count_mask(&own);
  free_mask(&own);
  return cores;
}

int xg_cpu_affinity_cores(void)
{
  uint64_t hash;
  return xg_cpu_affinity(&hash);
}

int xg_cpu_process_cores(void)
{
  struct mask own, first;
  if (!get_mask(0, &own)) return xg_cpu_online();
  if (get_mask(getpid(), &first)) {
    if (first.bytes == own.bytes) CPU_OR_S(own.bytes, own.set, own.set, first.set);
    free_mask(&first);
  }
  int cores = count_mask(&own);
  free_mask(&own);
  return cores;
}
