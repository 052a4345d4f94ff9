/* Command lines and comma lists. Nothing unknown is let through: the message names what is
 * accepted. */
#ifndef XGB_ARGS_H
#define XGB_ARGS_H

#include <stdint.h>

enum { XGB_EXIT_GOOD = 0, XGB_EXIT_FAILED = 1, XGB_EXIT_USAGE = 2, XGB_EXIT_INTERRUPTED = 130 };

struct xgb_flag {
  const char *name;  /* "--reps" */
  const char *value; /* what it takes, for the help, or NULL */
  const char *help;
  /* Returns 0, or prints what was wrong with the value and returns -1. */
  int (*set)(void *options, const char *value);
};

/* Parses argv[1..]; words that are no flags go to `word`. `flags` ends with name NULL.
 * "--flag=value" and "--flag value" are the same. Returns 0, or -1 after a message. */
int xgb_parse(const char *command, int argc, char **argv, const struct xgb_flag *flags,
              void *options, int (*word)(void *options, const char *word));

void xgb_print_flags(const struct xgb_flag *flags);

/* "error: ..." on stderr; returns -1. */
int xgb_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Splits "a,b,c" in place; returns the count, or -1 if there are more than `most` or an empty one.
 */
int xgb_split(char *text, char **parts, int most);

/* Whole-string conversions within a range; 0 or -1, no message. */
int xgb_integer(const char *text, int64_t low, int64_t high, int64_t *out);
int xgb_real(const char *text, double low, double high, double *out);

#endif
