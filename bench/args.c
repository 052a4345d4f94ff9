#include "args.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int xgb_error(const char *format, ...)
{
  va_list list;
  va_start(list, format);
  fputs("xgemm: ", stderr);
  vfprintf(stderr, format, list);
  fputc('\n', stderr);
  va_end(list);
  return -1;
}

static int unknown_flag(const char *command, const char *name, const struct xgb_flag *flags)
{
  fprintf(stderr, "xgemm %s: unknown flag %s; accepted:", command, name);
  for (const struct xgb_flag *f = flags; f->name; f++) fprintf(stderr, " %s", f->name);
  fputc('\n', stderr);
  return -1;
}

static const struct xgb_flag *find(const struct xgb_flag *flags, const char *word, size_t length)
{
  for (const struct xgb_flag *f = flags; f->name; f++)
    if (strlen(f->name) == length && strncmp(f->name, word, length) == 0) return f;
  return NULL;
}

int xgb_parse(const char *command, int argc, char **argv, const struct xgb_flag *flags,
              void *options, int (*word)(void *options, const char *word))
{
  for (int i = 1; i < argc; i++) {
    if (argv[i][0] != '-') {
      if (!word)
        return xgb_error("%s takes no argument \"%s\", only flags (xgemm %s --help)", command,
                         argv[i], command);
      if (word(options, argv[i])) return -1;
      continue;
    }
    size_t length = strcspn(argv[i], "=");
    const struct xgb_flag *flag = find(flags, argv[i], length);
    if (!flag) return unknown_flag(command, argv[i], flags);
    const char *value = argv[i][length] == '=' ? argv[i] + length + 1 : NULL;
    if (!flag->value && value) return xgb_error("%s takes no value", flag->name);
    if (flag->value && !value) {
      if (i + 1 == argc) return xgb_error("%s needs a value: %s", flag->name, flag->value);
      value = argv[++i];
    }
    if (flag->set(options, value)) return -1;
  }
  return 0;
}

void xgb_print_flags(const struct xgb_flag *flags)
{
  for (const struct xgb_flag *f = flags; f->name; f++) {
    char left[64];
    snprintf(left, sizeof left, "%s%s%s", f->name, f->value ? " " : "", f->value ? f->value : "");
    printf("  %-28s %s\n", left, f->help);
  }
}

int xgb_split(char *text, char **parts, int most)
{
  int count = 0;
  for (char *p = text;;) {
    if (count == most) return -1;
    parts[count++] = p;
    char *comma = strchr(p, ',');
    if (comma) *comma = 0;
    if (*p == 0) return -1;
    if (!comma) return count;
    p = comma + 1;
  }
}

int xgb_integer(const char *text, int64_t low, int64_t high, int64_t *out)
{
  char *end;
  errno = 0;
  long long value = strtoll(text, &end, 10);
  if (end == text || *end || errno || value < low || value > high) return -1;
  *out = value;
  return 0;
}

int xgb_real(const char *text, double low, double high, double *out)
{
  char *end;
  double value = strtod(text, &end);
  if (end == text || *end || !isfinite(value) || value < low || value > high) return -1;
  *out = value;
  return 0;
}
