/* `xgemm goals`: are the performance goals of goals.tsv met, by result files or on this machine? */
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/backend.h"
#include "args.h"
#include "commands.h"
#include "goals.h"
#include "machine.h"
#include "shapes.h"
#include "timing.h"

struct goals_options {
  const char *check, *out, *goals, *suites, *suite;
  int measure, help;
};

static int set_check(void *options, const char *value)
{
  ((struct goals_options *)options)->check = value;
  return 0;
}

static int set_out(void *options, const char *value)
{
  ((struct goals_options *)options)->out = value;
  return 0;
}

static int set_goals(void *options, const char *value)
{
  ((struct goals_options *)options)->goals = value;
  return 0;
}

static int set_suites(void *options, const char *value)
{
  ((struct goals_options *)options)->suites = value;
  return 0;
}

static int set_suite(void *options, const char *value)
{
  ((struct goals_options *)options)->suite = value;
  return 0;
}

static int set_measure(void *options, const char *value)
{
  (void)value;
  ((struct goals_options *)options)->measure = 1;
  return 0;
}

static int set_help(void *options, const char *value)
{
  (void)value;
  ((struct goals_options *)options)->help = 1;
  return 0;
}

static const struct xgb_flag flags[] = {
    {"--check", "DIR", "judge the result files in DIR", set_check},
    {"--measure", NULL, "run the suites here, then judge what they gave", set_measure},
    {"--out", "DIR", "where --measure writes its files (default ./goals-results)", set_out},
    {"--goals", "FILE", "instead of bench/goals.tsv", set_goals},
    {"--suites", "FILE", "instead of bench/suites.tsv", set_suites},
    {"--suite", "PATTERN", "only suites whose names match, as small-*", set_suite},
    {"--help", NULL, "this text", set_help},
    {NULL, NULL, NULL, NULL}};

/* ---------------------------------------------------------------- tables */

enum { MOST_FIELDS = 10 };

/* The next line that is no comment, cut at tabs; the number of fields, 0 at the end. */
static int next_line(FILE *file, char *line, int size, char **fields)
{
  while (fgets(line, size, file)) {
    line[strcspn(line, "\n")] = 0;
    if (line[0] == '#' || line[0] == 0) continue;
    int count = 0;
    for (char *p = line; p && count < MOST_FIELDS;) {
      fields[count++] = p;
      p = strchr(p, '\t');
      if (p) *p++ = 0;
    }
    return count;
  }
  return 0;
}

static int next_goal(FILE *file, char *line, int size, struct xgb_goal *g)
{
  char *f[MOST_FIELDS];
  int count = next_line(file, line, size, f);
  if (count == 0) return 0;
  if (count != MOST_FIELDS)
    return xgb_error("goals: line \"%s\" has %d fields and not %d, separated by tabs", f[0], count,
                     MOST_FIELDS);
  *g = (struct xgb_goal){f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8], f[9]};
  return 1;
}

/* ---------------------------------------------------------------- checking */

static int is_result_of(const char *name, const char *suite)
{
  size_t length = strlen(suite), all = strlen(name);
  return all > length + 5 && strncmp(name, suite, length) == 0 && name[length] == '.' &&
         strcmp(name + all - 5, ".json") == 0;
}

/* All files of the goal's suite. */
static enum xgb_verdict judge_goal(const struct xgb_goal *g, const char *folder)
{
  struct dirent **names;
  int count = scandir(folder, &names, NULL, alphasort);
  enum xgb_verdict worst = XGB_GOAL_MISSING;
  for (int i = 0; i < count; i++) {
    char path[1024];
    struct xgb_json file;
    snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
    if (is_result_of(names[i]->d_name, g->suite)) {
      if (xgb_json_read(&file, path)) {
        printf("FAIL  %-22s %s is no JSON\n", g->id, path);
        worst = XGB_GOAL_FAIL;
      } else if (xgb_goal_fits(g, &file)) {
        enum xgb_verdict v = xgb_goal_judge(g, &file, names[i]->d_name);
        if (worst != XGB_GOAL_FAIL) worst = v;
      }
      xgb_json_free(&file);
    }
    free(names[i]);
  }
  if (count >= 0) free(names);
  return worst;
}

static int selected(const struct goals_options *o, const char *suite)
{
  return !o->suite || fnmatch(o->suite, suite, 0) == 0;
}

static int check(const struct goals_options *o, const char *folder, int missing_is_failure)
{
  char line[1024];
  struct xgb_goal g = {0};
  int state, counts[4] = {0};
  FILE *file = xgb_open_data(o->goals);
  if (!file) return xgb_error("no goals file \"%s\"", o->goals), XGB_EXIT_USAGE;
  while ((state = next_goal(file, line, sizeof line, &g)) > 0) {
    if (!selected(o, g.suite)) continue;
    enum xgb_verdict v = judge_goal(&g, folder);
    if (v == XGB_GOAL_MISSING && strcmp(g.bound, "info") == 0) v = XGB_GOAL_INFORMATIVE;
    if (v == XGB_GOAL_MISSING)
      printf("none  %-22s no result of suite %s for %s in %s\n", g.id, g.suite, g.machine, folder);
    counts[v]++;
  }
  fclose(file);
  if (state < 0) return XGB_EXIT_USAGE;
  printf("%d passed, %d failed, %d without a result, %d informative\n", counts[XGB_GOAL_PASS],
         counts[XGB_GOAL_FAIL], counts[XGB_GOAL_MISSING], counts[XGB_GOAL_INFORMATIVE]);
  return counts[XGB_GOAL_FAIL] || (missing_is_failure && counts[XGB_GOAL_MISSING]) ? XGB_EXIT_FAILED
                                                                                   : XGB_EXIT_GOOD;
}

/* ---------------------------------------------------------------- measuring */

/* Runs this program with a suite's environment and arguments. */
static int run_suite(const char *suite, char *environment, char *arguments, const char *folder)
{
  char path[1024], *words[64] = {"xgemm"};
  int count = 1;
  snprintf(path, sizeof path, "%s/%s.here.json", folder, suite);
  unlink(path); /* a suite that fails must not be judged by an older run */
  double start = xgb_now();
  printf("==> %s%s%s\n", xgb_goal_any(environment) ? "" : environment,
         xgb_goal_any(environment) ? "xgemm " : " xgemm ", arguments);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    for (char *save, *word = strtok_r(environment, " ", &save); word;
         word = strtok_r(NULL, " ", &save))
      if (strchr(word, '=')) putenv(word);
    for (char *save, *word = strtok_r(arguments, " ", &save); word && count < 60;
         word = strtok_r(NULL, " ", &save))
      words[count++] = word;
    words[count++] = "--json", words[count++] = path, words[count] = NULL;
    execv("/proc/self/exe", words);
    _exit(127);
  }
  int status = 1;
  if (child > 0) waitpid(child, &status, 0);
  printf("==> suite %s took %.0f s\n", suite, xgb_now() - start);
  if (status != 0) xgb_error("suite %s ended with status %d", suite, status);
  return WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) == XGB_EXIT_INTERRUPTED);
}

/* "16 cores" or "a card" */
static int is_here(const char *needed)
{
  if (strcmp(needed, "a card") == 0) return xg_backend_gpu.available(0) == NULL;
  return atoi(needed) <= xgb_cores();
}

static int measure(const struct goals_options *o)
{
  char line[2048], *f[MOST_FIELDS];
  int count;
  FILE *file = xgb_open_data(o->suites);
  if (!file) return xgb_error("no suites file \"%s\"", o->suites), XGB_EXIT_USAGE;
  if (mkdir(o->out, 0777) && errno != EEXIST) {
    fclose(file);
    return xgb_error("%s: %s", o->out, strerror(errno)), XGB_EXIT_USAGE;
  }
  while ((count = next_line(file, line, sizeof line, f)) > 0) {
    if (count != 3 && count != 4) {
      fclose(file);
      return xgb_error("suites: line \"%s\" has %d fields and not 3 or 4", f[0], count),
             XGB_EXIT_USAGE;
    }
    if (!selected(o, f[0])) continue;
    if (count == 4 && !is_here(f[3])) {
      printf("==> suite %s is left out: it needs %s\n", f[0], f[3]);
      continue;
    }
    if (run_suite(f[0], f[1], f[2], o->out)) break;
  }
  fclose(file);
  return count > 0 ? XGB_EXIT_INTERRUPTED : check(o, o->out, 0);
}

int xgb_goals(int argc, char **argv)
{
  struct goals_options o = {.out = "goals-results", .goals = "goals.tsv", .suites = "suites.tsv"};
  if (xgb_parse("goals", argc, argv, flags, &o, NULL)) return XGB_EXIT_USAGE;
  if (o.help || (!o.check && !o.measure)) {
    puts("usage: xgemm goals --check DIR | --measure\n\nflags:");
    xgb_print_flags(flags);
    return o.help ? XGB_EXIT_GOOD : XGB_EXIT_USAGE;
  }
  return o.measure ? measure(&o) : check(&o, o.check, 1);
}
