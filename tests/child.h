/* A test that needs a process of its own: another environment, limits, streams to look at. */
#ifndef CHILD_H
#define CHILD_H

#include <stddef.h>

struct child {
  int exited;                  /* exit status, or -1 if it did not exit by itself */
  int signal;                  /* what ended it otherwise; SIGALRM: it ran past its limit */
  char out[16384], err[16384]; /* the beginnings of both streams */
};

/* Runs this program again as `program what [argument]`. The environment is ours without any
 * variable that begins with XGEMM_ or OMP_, then with those of `set` ("NAME=value", NULL at the
 * end; may be NULL). */
void child_exec(struct child *c, const char *what, const char *argument, const char *const *set,
                int limit_seconds);

/* Runs f(argument) in a forked child, whose exit status is what f returns. */
void child_fork(struct child *c, int (*f)(void *), void *argument, int limit_seconds);

/* Lines of a text, and those of them that contain a word. */
int child_lines(const char *text);
int child_lines_with(const char *text, const char *word);

/* What the status file of this process says in kB, "VmRSS:" for example; -1 if nothing. */
long child_proc_status(const char *field);

#endif
