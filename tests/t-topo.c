/* What the machine looks like: hwloc topologies from files, cgroup quotas and sibling lists from
 * trees made here, affinity masks. */
#define _GNU_SOURCE 1 /* CPU masks */
#include <ftw.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../cpu/topo.h"
#include "cm.h"

/* ---------------------------------------------------------------- topologies */

static int from_file(const char *name, struct xg_topo *t)
{
  char path[1024];
  const char *source = getenv("top_srcdir");
  snprintf(path, sizeof path, "%s/tests/topologies/%s.xml", source ? source : ".", name);
  return xg_topo_from_xml(path, t);
}

static void topologies_give_the_expected_numbers(void **state)
{
  (void)state;
  enum { K = 1 << 10, M = 1 << 20 };
  static const struct {
    const char *name;
    struct xg_topo want;
  } files[] = {
      {"zen4-2cores", {32 * K, 1 * M, 32 * M, 8, 8, 16, 64, 1, 2, 2, 1, 2.5, 1}},
      {"xeon-16cores", {48 * K, 2 * M, 320 * M, 12, 16, 20, 64, 1, 16, 16, 1, 3.8, 1}},
      {"two-sockets", {32 * K, 1 * M, 11 * M, 8, 16, 11, 64, 1, 4, 8, 2, 3.2, 1}},
      /* A cpuset takes cores away, but neither caches nor cores that share them. */
      {"two-sockets-cpuset", {32 * K, 1 * M, 11 * M, 8, 16, 11, 64, 1, 4, 3, 2, 3.2, 1}},
      /* The small cores have the smaller L1 and, at 1 MiB each, the smaller share of an L2. */
      {"hybrid", {32 * K, 4 * M, 30 * M, 8, 16, 12, 64, 4, 6, 6, 1, 5.2, 1}},
      {"no-caches", {32 * K, 256 * K, 0, 8, 8, 0, 64, 1, 0, 4, 1, 2.5, 0}},
      {"odd-emulator", {32 * K, 256 * K, 0, 8, 8, 0, 64, 1, 0, 1, 1, 2.5, 1}},
  };
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    struct xg_topo t;
    const struct xg_topo *w = &files[i].want;
    print_message("  %s\n", files[i].name);
    assert_int_equal(from_file(files[i].name, &t), 0);
    assert_int_equal(t.l1d, w->l1d);
    assert_int_equal(t.l2, w->l2);
    assert_int_equal(t.l3, w->l3);
    assert_int_equal(t.l1d_ways, w->l1d_ways);
    assert_int_equal(t.l2_ways, w->l2_ways);
    assert_int_equal(t.l3_ways, w->l3_ways);
    assert_int_equal(t.line, w->line);
    assert_int_equal(t.l2_sharing, w->l2_sharing);
    assert_int_equal(t.l3_sharing, w->l3_sharing);
    assert_int_equal(t.cores, w->cores);
    assert_int_equal(t.packages, w->packages);
    assert_true(fabs(t.ghz - w->ghz) <= 1e-9);
    assert_int_equal(t.known, w->known);
  }
}

static void a_file_that_is_none_is_refused(void **state)
{
  (void)state;
  struct xg_topo t;
  assert_int_equal(from_file("no-such-machine", &t), -1);
}

static void is_sane(const struct xg_topo *t)
{
  assert_true(t->l1d >= 4 << 10 && t->l1d <= 1 << 20);
  assert_true(t->l2 / t->l2_sharing > t->l1d);
  assert_true(t->l1d_ways >= 1 && t->l1d / t->l1d_ways >= t->line);
  assert_true(t->l2_ways >= 1 && t->l2 / t->l2_ways >= t->line);
  assert_true(t->l3 == 0 ? t->l3_ways == 0 && t->l3_sharing == 0 : t->l3_ways >= 1);
  assert_true(t->l2_sharing >= 1 && t->cores >= 1 && t->packages >= 1);
  assert_true(t->ghz > 0.4 && t->ghz < 8);
}

static void *ask(void *unused)
{
  (void)unused;
  return (void *)(uintptr_t)xg_topo();
}

/* First use by many threads at once and in a forked child; both see one answer. */
static void this_machine_is_published_once(void **state)
{
  (void)state;
  enum { THREADS = 8 };
  pthread_t threads[THREADS];
  void *seen[THREADS];
  pid_t child = fork();
  if (child == 0) _exit(xg_topo()->cores >= 1 ? 0 : 1);
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, ask, NULL), 0);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], &seen[i]);
  for (int i = 0; i < THREADS; i++) assert_ptr_equal(seen[i], xg_topo());
  is_sane(xg_topo());
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* ---------------------------------------------------------------- trees of files */

static char tree[64];

static void plant(const char *path, const char *text)
{
  char full[1024];
  int base = snprintf(full, sizeof full, "%s/", tree);
  snprintf(full + base, sizeof full - (size_t)base, "%s", path);
  for (char *p = full + base; (p = strchr(p, '/')) != NULL; p++) {
    *p = 0;
    mkdir(full, 0755);
    *p = '/';
  }
  FILE *f = fopen(full, "w");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
}

static int remove_one(const char *path, const struct stat *s, int flag, struct FTW *w)
{
  (void)s, (void)flag, (void)w;
  return remove(path);
}

static int new_tree(void **state)
{
  (void)state;
  strcpy(tree, "/tmp/t-topo.XXXXXX");
  return mkdtemp(tree) == NULL;
}

static int drop_tree(void **state)
{
  (void)state;
  return nftw(tree, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static const char v2_mount[] = "22 1 0:20 / /proc rw - proc proc rw\n"
                               "30 23 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n";

static int v2_with(const char *limit)
{
  plant("proc/self/mountinfo", v2_mount);
  plant("proc/self/cgroup", "0::/user.slice/job\n");
  plant("sys/fs/cgroup/user.slice/job/cpu.max", limit);
  return xg_cgroup_cpus(tree);
}

/* THR-08; with that, THR-21: the default under a quota is the quota, rounded up. */
static void cgroup_v2_limits(void **state)
{
  (void)state;
  assert_int_equal(v2_with("max 100000\n"), 0);
  assert_int_equal(v2_with("200000 100000\n"), 2);
  assert_int_equal(v2_with("50000 100000\n"), 1);
  assert_int_equal(v2_with("150000 100000\n"), 2);
  assert_int_equal(v2_with("100000 100000\n"), 1);
  assert_int_equal(v2_with("1600000 50000\n"), 32);
  assert_int_equal(v2_with("1000 1000000\n"), 1);
  assert_int_equal(v2_with("-1 100000\n"), 0);
  assert_int_equal(v2_with("100000 0\n"), 0);
  assert_int_equal(v2_with("words\n"), 0);
  assert_int_equal(v2_with(""), 0);
}

/* THR-08. */
static void cgroup_v2_nested_groups_take_the_least(void **state)
{
  (void)state;
  assert_int_equal(v2_with("max 100000\n"), 0);
  plant("sys/fs/cgroup/user.slice/cpu.max", "300000 100000\n");
  assert_int_equal(xg_cgroup_cpus(tree), 3);
  assert_int_equal(v2_with("400000 100000\n"), 3);
  assert_int_equal(v2_with("200000 100000\n"), 2);
  /* In a container with its own namespace the group is / and the limit lies at the mount. */
  plant("proc/self/cgroup", "0::/\n");
  assert_int_equal(xg_cgroup_cpus(tree), 0);
  plant("sys/fs/cgroup/cpu.max", "100000 100000\n");
  assert_int_equal(xg_cgroup_cpus(tree), 1);
}

/* A group outside the namespace, and a mount that shows only a part of the hierarchy. */
static void cgroup_paths_that_are_not_in_the_mount(void **state)
{
  (void)state;
  plant("proc/self/mountinfo", v2_mount);
  plant("sys/fs/cgroup/cpu.max", "500000 100000\n");
  plant("proc/self/cgroup", "0::/../elsewhere\n");
  assert_int_equal(xg_cgroup_cpus(tree), 5);
  plant("proc/self/mountinfo", "30 23 0:26 /pod/one /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n");
  plant("proc/self/cgroup", "0::/pod/one/inner\n");
  plant("sys/fs/cgroup/inner/cpu.max", "200000 100000\n");
  assert_int_equal(xg_cgroup_cpus(tree), 2);
  plant("proc/self/cgroup", "0::/pod/onetwo/inner\n");
  assert_int_equal(xg_cgroup_cpus(tree), 5);
}

static const char v1_cgroup[] =
    "9:name=systemd:/job\n5:cpuset:/job\n4:cpu,cpuacct:/box/abc\n0::/x\n";
static const char v1_mount[] =
    "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw\n"
    "32 31 0:29 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
    "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

/* THR-08. */
static void cgroup_v1_limits(void **state)
{
  (void)state;
  plant("proc/self/mountinfo", v1_mount);
  plant("proc/self/cgroup", v1_cgroup);
  assert_int_equal(xg_cgroup_cpus(tree), 0);
  plant("sys/fs/cgroup/cpu,cpuacct/box/abc/cpu.cfs_quota_us", "-1\n");
  plant("sys/fs/cgroup/cpu,cpuacct/box/abc/cpu.cfs_period_us", "100000\n");
  assert_int_equal(xg_cgroup_cpus(tree), 0);
  plant("sys/fs/cgroup/cpu,cpuacct/box/abc/cpu.cfs_quota_us", "200000\n");
  assert_int_equal(xg_cgroup_cpus(tree), 2);
  plant("sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us", "50000\n");
  plant("sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_period_us", "100000\n");
  assert_int_equal(xg_cgroup_cpus(tree), 1);
}

/* A container without a cgroup namespace: the mount's root is the group itself. */
static void cgroup_v1_in_a_container(void **state)
{
  (void)state;
  plant("proc/self/mountinfo",
        "33 31 0:30 /box/abc /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n");
  plant("proc/self/cgroup", v1_cgroup);
  plant("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "250000\n");
  plant("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  assert_int_equal(xg_cgroup_cpus(tree), 3);
}

static void no_cgroups_no_limit(void **state)
{
  (void)state;
  assert_int_equal(xg_cgroup_cpus(tree), 0);
  plant("proc/self/cgroup", "nonsense\n:\n::\n0::\n");
  plant("proc/self/mountinfo", "nonsense\n - \n1 2 3 4 - cgroup2 x y\n");
  assert_int_equal(xg_cgroup_cpus(tree), 0);
  assert_true(xg_cgroup_cpus("") >= 0);
  assert_int_equal(xg_cgroup_cpus_now(), xg_cgroup_cpus(""));
}

/* ---------------------------------------------------------------- cores */

static void hardware_threads_of_a_core_count_once(void **state)
{
  (void)state;
  static const int cpus[] = {0, 1, 2, 3, 4, 5};
  /* 0 and 2, 1 and 3 are siblings; 4 and 5 are not described and count for themselves. */
  for (int cpu = 0; cpu < 4; cpu++) {
    char path[128], text[16];
    snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    snprintf(text, sizeof text, "%d,%d\n", cpu % 2, cpu % 2 + 2);
    plant(path, text);
  }
  plant("sys/devices/system/cpu/smt/active", "1\n");
  assert_int_equal(xg_cpu_count_cores(tree, cpus, 4), 2);
  assert_int_equal(xg_cpu_count_cores(tree, cpus, 2), 2);
  assert_int_equal(xg_cpu_count_cores(tree, cpus + 2, 2), 2);
  assert_int_equal(xg_cpu_count_cores(tree, cpus, 6), 4);
  assert_int_equal(xg_cpu_count_cores(tree, cpus, 0), 1);
  plant("sys/devices/system/cpu/smt/active", "0\n");
  assert_int_equal(xg_cpu_count_cores(tree, cpus, 4), 4);
}

static void the_affinity_mask_counts_and_stays(void **state)
{
  (void)state;
  cpu_set_t before, one, after;
  assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
  int cores = xg_cpu_affinity_cores();
  assert_true(cores >= 1 && cores <= CPU_COUNT(&before));
  assert_true(xg_cpu_process_cores() >= cores);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &before)) cpu++;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
  assert_int_equal(xg_cpu_affinity_cores(), 1);
  assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
  assert_true(CPU_EQUAL(&one, &after));
  assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
  assert_int_equal(xg_cpu_affinity_cores(), cores);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(topologies_give_the_expected_numbers),
      cmocka_unit_test(a_file_that_is_none_is_refused),
      cmocka_unit_test(this_machine_is_published_once),
      cmocka_unit_test_setup_teardown(cgroup_v2_limits, new_tree, drop_tree),
      cmocka_unit_test_setup_teardown(cgroup_v2_nested_groups_take_the_least, new_tree, drop_tree),
      cmocka_unit_test_setup_teardown(cgroup_paths_that_are_not_in_the_mount, new_tree, drop_tree),
      cmocka_unit_test_setup_teardown(cgroup_v1_limits, new_tree, drop_tree),
      cmocka_unit_test_setup_teardown(cgroup_v1_in_a_container, new_tree, drop_tree),
      cmocka_unit_test_setup_teardown(no_cgroups_no_limit, new_tree, drop_tree),
      cmocka_unit_test_setup_teardown(hardware_threads_of_a_core_count_once, new_tree, drop_tree),
      cmocka_unit_test(the_affinity_mask_counts_and_stays),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
