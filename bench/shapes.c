#define _GNU_SOURCE /* memrchr */
#include "shapes.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "args.h"

#ifndef XGB_DATADIR
#define XGB_DATADIR "/usr/local/share/xgemm"
#endif

enum { MOST_VALUES = 4096, MOST_SHAPES = 1000000 };
static const int64_t largest = INT64_C(1) << 31;

static int append(struct xgb_shapes *s, const struct xgb_case *c)
{
  if (s->count == s->room) {
    int room = s->room ? 2 * s->room : 64;
    struct xgb_case *list =
        room > MOST_SHAPES ? NULL : realloc(s->list, (size_t)room * sizeof *list);
    if (!list) return xgb_error("too many shapes");
    s->list = list;
    s->room = room;
  }
  s->list[s->count++] = *c;
  return 0;
}

void xgb_shapes_free(struct xgb_shapes *s)
{
  free(s->list);
  *s = (struct xgb_shapes){0};
}

/* ---------------------------------------------------------------- words */

struct group {
  int keys[3]; /* m, n, k: belongs to this group */
  int64_t values[MOST_VALUES];
  int count;
};

static int add_value(struct group *g, int64_t value)
{
  if (g->count == MOST_VALUES) return xgb_error("more than %d values in a range", MOST_VALUES);
  g->values[g->count++] = value;
  return 0;
}

static int add_range(struct group *g, char *text, const char *word)
{
  int64_t first, last, step = 1;
  int factor = 0;
  char *colon = strchr(text, ':'), *second = colon ? strchr(colon + 1, ':') : NULL;
  if (colon) *colon = 0;
  if (second) *second = 0;
  int bad = xgb_integer(text, 0, largest, &first);
  last = first;
  if (!bad && colon) bad = xgb_integer(colon + 1, 0, largest, &last);
  if (!bad && second) {
    factor = second[1] == '*';
    bad = xgb_integer(second + 1 + factor, 1 + factor, largest, &step);
  }
  if (bad || last < first || (factor && first == 0))
    return xgb_error("in \"%s\": a range is first[:last[:step]], step a difference or *factor, "
                     "first <= last",
                     word);
  for (int64_t v = first; v <= last; v = factor ? v * step : v + step)
    if (add_value(g, v)) return -1;
  return 0;
}

/* "m=n=64:128" -> keys m, n and the text behind the last '='. NULL after a message. */
static char *read_keys(struct group *g, char *item, int *seen, const char *word)
{
  for (char *equals; (equals = strchr(item, '=')); item = equals + 1) {
    static const char letters[] = "mnk";
    char *at = equals == item + 1 ? strchr(letters, item[0]) : NULL;
    if (!at || !*at || seen[at - letters]++) {
      xgb_error("in \"%s\": m=, n= and k= must each be given once, as in m=n=k=64:1024:64 or "
                "m=1,16,n=4096,k=4096",
                word);
      return NULL;
    }
    g->keys[at - letters] = 1;
  }
  return item;
}

static int cross_product(struct xgb_shapes *s, const struct group *groups, int count)
{
  int index[3] = {0};
  for (;;) {
    int64_t size[3] = {0};
    for (int g = 0; g < count; g++)
      for (int key = 0; key < 3; key++)
        if (groups[g].keys[key]) size[key] = groups[g].values[index[g]];
    struct xgb_case c = {.m = size[0], .n = size[1], .k = size[2], .batch = 1};
    c.transa = c.transb = 'N';
    snprintf(c.name, sizeof c.name, "%lldx%lldx%lld", (long long)c.m, (long long)c.n,
             (long long)c.k);
    if (append(s, &c)) return -1;
    int g = count - 1;
    while (g >= 0 && ++index[g] == groups[g].count) index[g--] = 0;
    if (g < 0) return 0;
  }
}

int xgb_shapes_word(struct xgb_shapes *s, const char *word)
{
  char text[1024], *parts[256];
  if (strlen(word) >= sizeof text) return xgb_error("shape list too long");
  strcpy(text, word);
  int count = xgb_split(text, parts, 256), used = 0, seen[3] = {0}, bad = 0;
  struct group *groups = calloc(3, sizeof *groups);
  if (!groups) return xgb_error("out of memory");
  for (int i = 0; i < count && !bad; i++) {
    char *values = parts[i];
    if (strchr(values, '=')) {
      bad = used == 3 || !(values = read_keys(&groups[used], values, seen, word));
      used++;
    }
    if (!bad && used > 0) bad = add_range(&groups[used - 1], values, word);
  }
  if (!bad && (count < 1 || !seen[0] || !seen[1] || !seen[2]))
    bad =
        xgb_error("\"%s\" is no shape list; it needs m=, n= and k=, as in m=n=k=64:1024:64", word);
  if (!bad) bad = cross_product(s, groups, used);
  free(groups);
  return bad ? -1 : 0;
}

/* ---------------------------------------------------------------- files */

/* The folder of the running command, to find a source tree above its build directory. */
static const char *own_folder(void)
{
  static char folder[512];
  if (folder[0] == 0) {
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    char *slash = length > 0 ? memrchr(folder, '/', (size_t)length) : NULL;
    if (slash)
      *slash = 0;
    else
      strcpy(folder, ".");
  }
  return folder;
}

FILE *xgb_open_data(const char *name)
{
  static const char *const patterns[] = {"%s",
                                         "bench/%s",
                                         "bench/shapes/%s.txt",
                                         XGB_DATADIR "/%s",
                                         XGB_DATADIR "/shapes/%s",
                                         XGB_DATADIR "/shapes/%s.txt"};
  int is_path = strchr(name, '/') != NULL;
  for (size_t i = 0; i < (is_path ? 1 : sizeof patterns / sizeof *patterns); i++) {
    char path[1024];
    if (snprintf(path, sizeof path, patterns[i], name) >= (int)sizeof path) continue;
    FILE *file = fopen(path, "r");
    if (file) return file;
  }
  static const char *const from_build[] = {"%s/../bench/%s", "%s/../bench/shapes/%s.txt"};
  for (int i = 0; i < 2 && !is_path; i++) {
    char path[1024];
    if (snprintf(path, sizeof path, from_build[i], own_folder(), name) >= (int)sizeof path)
      continue;
    FILE *file = fopen(path, "r");
    if (file) return file;
  }
  return NULL;
}

static int is_trans(const char *word)
{
  return (word[0] == 'N' || word[0] == 'T') && word[1] == 0;
}

/* The words after the name: alpha=X, beta=X, layout=row, type=f64, a=tiny; and a remark behind a
 * bar. */
static int read_extras(struct xgb_case *c, char *rest)
{
  char *bar = strchr(rest, '|');
  if (bar) {
    *bar++ = 0;
    snprintf(c->remark, sizeof c->remark, "%.*s", XGB_NAME - 1, bar + strspn(bar, " "));
  }
  for (char *save, *word = strtok_r(rest, " \t", &save); word;
       word = strtok_r(NULL, " \t", &save)) {
    if (strcmp(word, "layout=row") == 0) {
      c->row_major = c->has_layout = 1;
      continue;
    }
    if (strcmp(word, "type=f32") == 0 || strcmp(word, "type=f64") == 0) {
      memcpy(c->only_type, word + 5, sizeof c->only_type);
      continue;
    }
    if (strcmp(word, "a=tiny") == 0) {
      c->tiny_a = 1;
      continue;
    }
    double *target = strncmp(word, "alpha=", 6) == 0  ? &c->alpha
                     : strncmp(word, "beta=", 5) == 0 ? &c->beta
                                                      : NULL;
    if (!target || xgb_real(strchr(word, '=') + 1, -1e30, 1e30, target)) return -1;
    c->has_scalars = 1;
  }
  return 0;
}

static int read_line(struct xgb_shapes *s, char *line)
{
  struct xgb_case c = {.alpha = 1, .beta = 0};
  long long m, n, k, batch;
  char ta[4], tb[4];
  int used = 0;
  if (strncmp(line, "options:", 8) == 0) {
    size_t have = strlen(s->options);
    return snprintf(s->options + have, sizeof s->options - have, " %s", line + 8) >=
                   (int)(sizeof s->options - have)
               ? -1
               : 0;
  }
  if (sscanf(line, "%lld %lld %lld %3s %3s %lld %63s%n", &m, &n, &k, ta, tb, &batch, c.name,
             &used) != 7)
    return -1;
  if (m < 0 || n < 0 || k < 0 || m > largest || n > largest || k > largest || batch < 1) return -1;
  if (!is_trans(ta) || !is_trans(tb) || read_extras(&c, line + used)) return -1;
  c.m = m, c.n = n, c.k = k, c.batch = batch;
  c.transa = ta[0], c.transb = tb[0];
  return append(s, &c);
}

/* Keeps those from `first` on whose names match. */
static void keep_matching(struct xgb_shapes *s, int first, const char *pattern)
{
  int kept = first;
  for (int i = first; i < s->count; i++)
    if (fnmatch(pattern, s->list[i].name, 0) == 0) s->list[kept++] = s->list[i];
  s->count = kept;
}

int xgb_shapes_file(struct xgb_shapes *s, const char *asked)
{
  char path[1024];
  if (snprintf(path, sizeof path, "%s", asked) >= (int)sizeof path)
    return xgb_error("--shapes: too long");
  char *pattern = strchr(path, '/') ? NULL : strchr(path, ':');
  if (pattern) *pattern++ = 0;
  FILE *file = xgb_open_data(path);
  if (!file) return xgb_error("no shape file \"%s\" (a path, or a name from bench/shapes)", path);
  char line[512];
  int bad = 0, before = s->count;
  for (int number = 1; !bad && fgets(line, sizeof line, file); number++) {
    line[strcspn(line, "#\n")] = 0;
    char *start = line;
    while (isspace((unsigned char)*start)) start++;
    if (*start && read_line(s, start))
      bad = xgb_error(
          "%s:%d: expected \"m n k transA transB batch name [alpha=X] [beta=X] "
          "[layout=row] [type=f64] [a=tiny] [| remark]\" with N or T, or \"options: FLAGS\"",
          path, number);
  }
  fclose(file);
  if (!bad && pattern) keep_matching(s, before, pattern);
  if (!bad && s->count == before) bad = xgb_error("%s holds no shape", asked);
  return bad ? -1 : 0;
}
