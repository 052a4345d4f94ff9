/* `xgemm goals`: are the performance goals of goals.tsv met, by result files or on this machine? */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "args.h"
#include "commands.h"
#include "json.h"
#include "shapes.h"

struct goals_options {
  const char *check, *out, *goals, *suites;
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

struct goal {
  char *id, *suite, *type, *engine, *machine, *threads, *peer, *statistic, *bound, *note;
};

static int next_goal(FILE *file, char *line, int size, struct goal *g)
{
  char *f[MOST_FIELDS];
  int count = next_line(file, line, size, f);
  if (count == 0) return 0;
  if (count != MOST_FIELDS)
    return xgb_error("goals: line \"%s\" has %d fields and not %d, separated by tabs", f[0], count,
                     MOST_FIELDS);
  *g = (struct goal){f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8], f[9]};
  return 1;
}

/* ---------------------------------------------------------------- judging one goal */

struct tally {
  double value; /* the worst row's */
  int rows, bad;
  char where[128];
};

static int any(const char *field)
{
  return strcmp(field, "-") == 0 || strcmp(field, "any") == 0;
}

/* Is `word` one of the comma list? */
static int listed(const char *list, const char *word)
{
  size_t length = strlen(word);
  for (const char *p = list; p; p = strchr(p, ','), p += p != NULL)
    if (strncmp(p, word, length) == 0 && (p[length] == 0 || p[length] == ',')) return 1;
  return 0;
}

static const struct xgb_json *find_engine(const struct xgb_json *row, const char *engine)
{
  const struct xgb_json *results = xgb_json_get(row, "results");
  for (int i = 0; results && i < results->count; i++)
    if (strcmp(xgb_json_text(&results->items[i], "engine"), engine) == 0) return &results->items[i];
  return NULL;
}

/* The statistic's value for a row; NAN if it has none. Ratios are better when larger. */
static double row_value(const struct goal *g, const struct xgb_json *row)
{
  const struct xgb_json *own = find_engine(row, g->engine);
  if (!own || strcmp(xgb_json_text(own, "status"), "good") != 0) return NAN;
  double seconds = xgb_json_number(own, "median_s"), value = NAN;
  if (strncmp(g->statistic, "min_ratio", 9) == 0)
    value = xgb_json_number(xgb_json_get(own, "ratio"), g->peer);
  else if (strncmp(g->statistic, "max_ns", 6) == 0)
    value = 1e9 * seconds;
  else if (strncmp(g->statistic, "max_us", 6) == 0)
    value = 1e6 * seconds;
  else if (strncmp(g->statistic, "min_percent", 11) == 0)
    value = 100 * xgb_json_number(own, "gflops") / xgb_json_number(own, "peak_gflops");
  return value > 0 ? value : NAN;
}

/* "max_ns:call8" looks only at rows of that name. */
static int concerns(const struct goal *g, const struct xgb_json *row)
{
  char threads[16];
  const char *name = strchr(g->statistic, ':');
  snprintf(threads, sizeof threads, "%.0f", xgb_json_number(row, "threads"));
  return (any(g->type) || listed(g->type, xgb_json_text(row, "type"))) &&
         (any(g->threads) || listed(g->threads, threads)) &&
         (!name || strcmp(name + 1, xgb_json_text(row, "name")) == 0);
}

static void tally_file(const struct goal *g, const struct xgb_json *file, struct tally *t)
{
  const struct xgb_json *rows = xgb_json_get(file, "rows");
  int smallest = strncmp(g->statistic, "min_", 4) == 0;
  for (int i = 0; rows && i < rows->count; i++) {
    const struct xgb_json *row = &rows->items[i];
    if (!concerns(g, row)) continue;
    double value = row_value(g, row);
    int worse = t->rows == t->bad || (smallest ? value < t->value : value > t->value);
    t->rows++;
    t->bad += isnan(value);
    if (isnan(value) || !worse) continue;
    t->value = value;
    snprintf(t->where, sizeof t->where, "%s %s, %.0f threads", xgb_json_text(row, "name"),
             xgb_json_text(row, "type"), xgb_json_number(row, "threads"));
  }
}

/* Does the file come from the kind of machine that the goal is for? */
static int fits(const struct goal *g, const struct xgb_json *file)
{
  const struct xgb_json *machine = xgb_json_get(file, "machine");
  return any(g->machine) || strcmp(xgb_json_text(machine, "isa"), g->machine) == 0 ||
         strstr(xgb_json_text(machine, "cpu"), g->machine) ||
         strstr(xgb_json_text(machine, "gpu"), g->machine);
}

/* ">=0.90" or "<100" */
static int meets(const char *bound, double value)
{
  if (strncmp(bound, ">=", 2) == 0) return value >= atof(bound + 2);
  return bound[0] == '<' && value < atof(bound + 1);
}

enum verdict { PASS, FAIL, MISSING, INFORMATIVE };

/* Prints the line of one goal for one file; what it says. */
static enum verdict judge(const struct goal *g, const struct xgb_json *file, const char *name)
{
  struct tally t = {0};
  int complete = xgb_json_number(file, "complete") != 0;
  tally_file(g, file, &t);
  int informative = strcmp(g->bound, "info") == 0;
  enum verdict v = informative                                                        ? INFORMATIVE
                   : t.rows > 0 && t.bad == 0 && complete && meets(g->bound, t.value) ? PASS
                                                                                      : FAIL;
  static const char *const words[] = {"pass", "FAIL", "", "info"};
  printf("%-5s %-22s %-12s %8.3g %-7s %s", words[v], g->id, g->statistic, t.value,
         informative ? "" : g->bound, name);
  if (t.where[0]) printf(" (%s of %d rows)", t.where, t.rows);
  if (t.bad > 0) printf("; %d rows without a good result", t.bad);
  if (!complete) printf("; the file is not complete");
  putchar('\n');
  return v;
}

static int is_result_of(const char *name, const char *suite)
{
  size_t length = strlen(suite), all = strlen(name);
  return all > length + 5 && strncmp(name, suite, length) == 0 && name[length] == '.' &&
         strcmp(name + all - 5, ".json") == 0;
}

/* All files of the goal's suite. */
static enum verdict judge_goal(const struct goal *g, const char *folder)
{
  struct dirent **names;
  int count = scandir(folder, &names, NULL, alphasort);
  enum verdict worst = MISSING;
  for (int i = 0; i < count; i++) {
    char path[1024];
    struct xgb_json file;
    snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
    if (is_result_of(names[i]->d_name, g->suite)) {
      if (xgb_json_read(&file, path)) {
        printf("FAIL  %-22s %s is no JSON\n", g->id, path);
        worst = FAIL;
      } else if (fits(g, &file)) {
        enum verdict v = judge(g, &file, names[i]->d_name);
        if (worst != FAIL) worst = v;
      }
      xgb_json_free(&file);
    }
    free(names[i]);
  }
  if (count >= 0) free(names);
  return worst;
}

static int check(const struct goals_options *o, const char *folder, int missing_is_failure)
{
  char line[1024];
  struct goal g = {0};
  int state, counts[4] = {0};
  FILE *file = xgb_open_data(o->goals);
  if (!file) return xgb_error("no goals file \"%s\"", o->goals), XGB_EXIT_USAGE;
  while ((state = next_goal(file, line, sizeof line, &g)) > 0) {
    enum verdict v = judge_goal(&g, folder);
    if (v == MISSING && strcmp(g.bound, "info") == 0) v = INFORMATIVE;
    if (v == MISSING)
      printf("none  %-22s no result of suite %s for %s in %s\n", g.id, g.suite, g.machine, folder);
    counts[v]++;
  }
  fclose(file);
  if (state < 0) return XGB_EXIT_USAGE;
  printf("%d passed, %d failed, %d without a result, %d informative\n", counts[PASS], counts[FAIL],
         counts[MISSING], counts[INFORMATIVE]);
  return counts[FAIL] || (missing_is_failure && counts[MISSING]) ? XGB_EXIT_FAILED : XGB_EXIT_GOOD;
}

/* ---------------------------------------------------------------- measuring */

/* Runs this program with a suite's environment and arguments. */
static int run_suite(const char *suite, char *environment, char *arguments, const char *folder)
{
  char path[1024], *words[64] = {"xgemm"};
  int count = 1;
  snprintf(path, sizeof path, "%s/%s.here.json", folder, suite);
  unlink(path); /* a suite that fails must not be judged by an older run */
  printf("==> %s%s%s\n", any(environment) ? "" : environment,
         any(environment) ? "xgemm " : " xgemm ", arguments);
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
  if (status != 0) xgb_error("suite %s ended with status %d", suite, status);
  return WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) == XGB_EXIT_INTERRUPTED);
}

static int measure(const struct goals_options *o)
{
  char line[1024], *f[MOST_FIELDS];
  int count;
  FILE *file = xgb_open_data(o->suites);
  if (!file) return xgb_error("no suites file \"%s\"", o->suites), XGB_EXIT_USAGE;
  if (mkdir(o->out, 0777) && errno != EEXIST) {
    fclose(file);
    return xgb_error("%s: %s", o->out, strerror(errno)), XGB_EXIT_USAGE;
  }
  while ((count = next_line(file, line, sizeof line, f)) > 0) {
    if (count != 3) {
      fclose(file);
      return xgb_error("suites: line \"%s\" has %d fields and not 3", f[0], count), XGB_EXIT_USAGE;
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
