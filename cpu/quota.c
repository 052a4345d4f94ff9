/* How many CPUs the cgroup quotas leave to this process, cgroup v1 and v2. */
#include "topo.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PATH = 4096, LINE = 4096 };

/* The least quota seen so far, in CPUs; below 0: none. */
static void take_less(double *least, double cpus)
{
  if (cpus > 0 && (*least < 0 || cpus < *least)) *least = cpus;
}

static int read_line(const char *path, char *line, int size)
{
  FILE *f = fopen(path, "re");
  if (f == NULL) return 0;
  int ok = fgets(line, size, f) != NULL;
  fclose(f);
  return ok;
}

static long long read_number(const char *directory, const char *file)
{
  char path[PATH + 64], line[64];
  snprintf(path, sizeof path, "%s/%s", directory, file);
  return read_line(path, line, sizeof line) ? atoll(line) : -1;
}

/* v2: "max 100000" or "200000 100000". */
static void quota_v2(const char *directory, double *least)
{
  char path[PATH + 64], line[128];
  long long quota, period;
  snprintf(path, sizeof path, "%s/cpu.max", directory);
  if (!read_line(path, line, sizeof line)) return;
  if (sscanf(line, "%lld %lld", &quota, &period) != 2 || quota <= 0 || period <= 0) return;
  take_less(least, (double)quota / (double)period);
}

static void quota_v1(const char *directory, double *least)
{
  long long quota = read_number(directory, "cpu.cfs_quota_us");
  long long period = read_number(directory, "cpu.cfs_period_us");
  if (quota > 0 && period > 0) take_less(least, (double)quota / (double)period);
}

/* From the group up to the mount: any of them may hold the limit. `top` is how much of the path is
 * the mount point itself. */
static void walk_up(char *directory, size_t top, void (*look)(const char *, double *),
                    double *least)
{
  for (;;) {
    look(directory, least);
    char *slash = strrchr(directory, '/');
    if (slash == NULL || (size_t)(slash - directory) < top) return;
    *slash = 0;
  }
}

/* Does a comma-separated list hold the word "cpu"? */
static int lists_cpu(const char *list)
{
  for (const char *p = list; p != NULL; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
    if (strncmp(p, "cpu", 3) == 0 && (p[3] == 0 || p[3] == ',')) return 1;
  return 0;
}

/* One line of mountinfo: "36 35 98:0 ROOT MOUNTPOINT options [optional...] - TYPE SOURCE SUPER". */
struct mount {
  char root[LINE], point[LINE], type[64], super[LINE];
};

static int parse_mount(const char *line, struct mount *m)
{
  const char *dash = strstr(line, " - ");
  if (dash == NULL) return 0;
  return sscanf(line, "%*d %*d %*s %4095s %4095s", m->root, m->point) == 2 &&
         sscanf(dash + 3, "%63s %*s %4095s", m->type, m->super) == 2;
}

/* The directory of group `group` under mount m. A mount may show only the part of the hierarchy
 * below its own root (a container without a cgroup namespace): that prefix is not repeated in the
 * mount. A group outside it cannot be seen; then the mount's top is the closest we have. */
static void look_in_mount(const char *root, const struct mount *m, const char *group, double *least)
{
  const char *rest = group;
  size_t skip = strcmp(m->root, "/") == 0 ? 0 : strlen(m->root);
  if (strncmp(group, m->root, skip) == 0 && (group[skip] == '/' || group[skip] == 0))
    rest = group + skip;
  else
    rest = "";
  if (strncmp(rest, "/..", 3) == 0) rest = "";
  char directory[PATH];
  int n = snprintf(directory, sizeof directory, "%s%s%s", root, m->point, rest);
  if (n < 0 || n >= (int)sizeof directory) return;
  while (n > 1 && directory[n - 1] == '/') directory[--n] = 0;
  size_t top = strlen(root) + strlen(m->point);
  walk_up(directory, top, strcmp(m->type, "cgroup2") == 0 ? quota_v2 : quota_v1, least);
}

/* This process's group in the v2 hierarchy ("0::PATH") or in the v1 one with the cpu controller. */
static int own_group(const char *root, int v2, char *group)
{
  char path[PATH], line[LINE];
  snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
  FILE *f = fopen(path, "re");
  if (f == NULL) return 0;
  int found = 0;
  while (!found && fgets(line, sizeof line, f) != NULL) {
    char *controllers = strchr(line, ':');
    if (controllers == NULL) continue;
    char *where = strchr(++controllers, ':');
    if (where == NULL) continue;
    *where++ = 0;
    where[strcspn(where, "\n")] = 0;
    found = v2 ? *controllers == 0 : lists_cpu(controllers);
    if (found) memmove(group, where, strlen(where) + 1);
  }
  fclose(f);
  return found;
}

int xg_cgroup_cpus(const char *root)
{
  char path[PATH], line[2 * LINE], v1[LINE], v2[LINE];
  int has_v1 = own_group(root, 0, v1), has_v2 = own_group(root, 1, v2);
  snprintf(path, sizeof path, "%s/proc/self/mountinfo", root);
  FILE *f = fopen(path, "re");
  if (f == NULL) return 0;
  struct mount *m = malloc(sizeof *m);
  double least = -1;
  while (m != NULL && fgets(line, sizeof line, f) != NULL) {
    if (!parse_mount(line, m)) continue;
    if (has_v2 && strcmp(m->type, "cgroup2") == 0) look_in_mount(root, m, v2, &least);
    if (has_v1 && strcmp(m->type, "cgroup") == 0 && lists_cpu(m->super))
      look_in_mount(root, m, v1, &least);
  }
  free(m);
  fclose(f);
  if (least < 0 || least > 1 << 20) return 0;
  int whole = (int)least;
  return whole + (least > whole + 1e-6) + (whole == 0 && least <= 1e-6);
}

int xg_cgroup_cpus_now(void)
{
  static atomic_llong memo; /* second of the reading << 24 | answer + 1 */
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  long long old = atomic_load_explicit(&memo, memory_order_relaxed);
  if (old != 0 && old >> 24 == now.tv_sec) return (int)(old & 0xffffff) - 1;
  int cpus = xg_cgroup_cpus("");
  atomic_store_explicit(&memo, (long long)now.tv_sec << 24 | (cpus + 1), memory_order_relaxed);
  return cpus;
}
