/* What a case is called, how -p is read, how a failure is told. */
#include "checkgemm.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PRINTED = 5 };

void check_format(const char *layer, const struct check_field *fields, char *text, size_t size)
{
  int at = snprintf(text, size, "layer=%s", layer);
  for (const struct check_field *f = fields; f->key && at > 0 && (size_t)at < size; f++) {
    char *here = text + at;
    size_t left = size - (size_t)at;
    if (f->kind == 'i')
      at += snprintf(here, left, ",%s=%" PRId64, f->key, *(const int64_t *)f->at);
    else if (f->kind == 'd')
      at += snprintf(here, left, ",%s=%.9g", f->key, *(const double *)f->at);
    else
      at += snprintf(here, left, ",%s=%c", f->key, *(const char *)f->at);
  }
}

static void refuse(const struct check_field *fields, const char *item)
{
  fprintf(stderr, "checkgemm: -p: '%s' is not KEY=VALUE with a key of:", item);
  for (const struct check_field *f = fields; f->key; f++) fprintf(stderr, " %s", f->key);
  fprintf(stderr, "\n");
  exit(2);
}

static int set_field(const struct check_field *f, const char *value)
{
  char *end;
  if (f->kind == 'i')
    *(int64_t *)f->at = strtoll(value, &end, 0);
  else if (f->kind == 'd')
    *(double *)f->at = strtod(value, &end);
  else {
    *(char *)f->at = value[0];
    return value[0] && !value[1];
  }
  return end != value && *end == 0;
}

void check_parse(const struct check *k, const struct check_field *fields)
{
  char *copy = strdup(k->problem), *rest = copy;
  for (char *item; copy && (item = strsep(&rest, ",")) != NULL;) {
    char *value = strchr(item, '=');
    if (!value) refuse(fields, item);
    *value++ = 0;
    if (strcmp(item, "layer") == 0) continue;
    const struct check_field *f = fields;
    while (f->key && strcmp(f->key, item) != 0) f++;
    if (!f->key || !set_field(f, value)) refuse(fields, item);
  }
  free(copy);
}

int check_wants(const struct check *k, const char *layer)
{
  char wanted[32];
  if (!k->problem) return !k->layers || strcmp(k->layers, layer) == 0;
  snprintf(wanted, sizeof wanted, "layer=%s", layer);
  size_t length = strlen(wanted);
  const char *at = strstr(k->problem, wanted);
  return at && (at[length] == 0 || at[length] == ',');
}

int check_wants_kernel(const struct check *k, const char *name)
{
  return !k->kernel || fnmatch(k->kernel, name, 0) == 0;
}

int check_wants_backend(const struct check *k, const char *name)
{
  return !k->backend || strcmp(k->backend, name) == 0;
}

struct reference_rng check_rng(const struct check *k, const char *text)
{
  uint64_t hash = 14695981039346656037u; /* FNV-1a */
  for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 1099511628211u;
  struct reference_rng rng = {hash ^ (k->seed * 0x9E3779B97F4A7C15u)};
  reference_next(&rng);
  return rng;
}

/* The command that repeats a case; `text` is what -p takes, or options of its own. */
static void command(const struct check *k, const char *kernel, const char *backend,
                    const char *text, char *line, size_t size)
{
  snprintf(line, size, "%s -s %" PRIu64 "%s%s%s%s%s%s%s", k->program, k->seed,
           kernel ? " -k '" : "", kernel ? kernel : "", kernel ? "'" : "",
           backend ? " --backend " : "", backend ? backend : "",
           strncmp(text, "--", 2) == 0 ? " " : " -p ", text);
}

void check_running(const struct check *k, const char *kernel, const char *backend, const char *text)
{
  static char line[600];
  command(k, kernel, backend, text, line, sizeof line);
  hostile_last_words(line);
}

void check_fail(struct check *k, const char *kernel, const char *backend, const char *text,
                const char *format, ...)
{
  char why[256], line[600];
  va_list list;
  va_start(list, format);
  vsnprintf(why, sizeof why, format, list);
  va_end(list);
  if (k->failures++ == 0 || !k->first[0]) snprintf(k->first, sizeof k->first, "%s", why);
  if (k->silent || k->printed++ >= MAX_PRINTED) return;
  printf("FAIL %s: %s\n", kernel ? kernel : backend ? backend : "-", why);
  command(k, kernel, backend, text, line, sizeof line);
  printf("     %s\n", line);
  fflush(stdout);
}

void check_unit_begin(struct check *k)
{
  k->printed = 0;
}

void check_unit_end(struct check *k, const char *name, long cases_before, long failures_before,
                    const char *remark)
{
  long cases = k->cases - cases_before, failures = k->failures - failures_before;
  if (k->silent) return;
  if (k->printed > MAX_PRINTED) printf("     ... and %d more\n", k->printed - MAX_PRINTED);
  printf("%-4s %-44s %7ld cases%s%s\n", failures ? "FAIL" : "ok", name, cases,
         remark && *remark ? ", " : "", remark ? remark : "");
  fflush(stdout);
}

void check_skip(struct check *k, const char *name, const char *why)
{
  k->skips++;
  if (k->silent) return;
  printf("skip %-44s %s\n", name, why);
  fflush(stdout);
}
