/* What the machine looks like: caches, cores, clock, and how many of them are ours.
 *
 * Two kinds of question. The cheap ones (xg_cpu_affinity_cores, xg_cgroup_cpus, xg_cpu_online) need
 * no hwloc and answer for the calling thread now. The full picture (xg_topo) loads hwloc once per
 * process and never changes afterwards. It describes the whole machine, not the part that an
 * affinity mask or a cpuset leaves to us: block sizes, and so the order of additions, must not
 * depend on those. */
#ifndef XG_TOPO_H
#define XG_TOPO_H

#include <stdint.h>

/* Sizes in bytes of one instance of a cache; 0 only for an L3 that is not there. Sharing counts the
 * physical cores behind one instance. Where cores differ (hybrid CPUs) each level is the instance
 * that leaves a core the least, so that a block fits whichever core works on it. */
struct xg_topo {
  int64_t l1d, l2, l3;
  int l1d_ways, l2_ways, l3_ways; /* >= 1, 0 for a missing L3 */
  int line;                       /* bytes of a cache line */
  int l2_sharing, l3_sharing;     /* >= 1, 0 for a missing L3 */
  int cores;                      /* physical cores of the machine that may be used at all */
  int packages;                   /* sockets */
  double ghz;                     /* an estimate, for predictions only */
  int known;                      /* 0: hwloc told nothing of use, the numbers are assumptions */
};

/* Memoised. Never NULL. Safe from any thread, and in a forked child. */
const struct xg_topo *xg_topo(void);

/* The same from an hwloc XML file: 0, or -1 if the file cannot be used. Not memoised. */
int xg_topo_from_xml(const char *path, struct xg_topo *out);

/* Physical cores in the calling thread's affinity mask, >= 1: two hardware threads of a core count
 * once. Where OpenMP binds threads (OMP_PROC_BIND) ask the team instead: the mask of a bound thread
 * says nothing of the others. */
int xg_cpu_affinity_cores(void);

/* The same, and a number that differs where masks do. */
int xg_cpu_affinity(uint64_t *mask);

/* Those in the mask of the calling thread or of the process's first thread: what the process as a
 * whole may use, although some of its threads are pinned. */
int xg_cpu_process_cores(void);

/* The same for a list of CPU numbers, by what the files under ROOT/sys say; "" is the running
 * system. */
int xg_cpu_count_cores(const char *root, const int *cpus, int count);

/* CPUs that are online, >= 1. */
int xg_cpu_online(void);

/* CPUs that the cgroup quotas above this process allow, rounded up (50 % is 1, 150 % and 200 % are
 * 2); 0: no limit. Reads ROOT/proc/self/{cgroup,mountinfo} and the files they lead to under ROOT;
 * "" is the running system. */
int xg_cgroup_cpus(const char *root);

/* That of the running system, read at most once a second. */
int xg_cgroup_cpus_now(void);

#endif
