#include "child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void give_up(const char *what)
{
  perror(what);
  exit(99);
}

/* What does not fit is read and dropped, so that the child never blocks. */
static int drain(int fd, char *text, size_t size)
{
  char spill[4096];
  size_t used = strlen(text);
  ssize_t got = read(fd, spill, sizeof spill);
  if (got <= 0) return 0;
  size_t keep = (size_t)got < size - 1 - used ? (size_t)got : size - 1 - used;
  memcpy(text + used, spill, keep);
  text[used + keep] = 0;
  return 1;
}

static void collect(struct child *c, pid_t pid, int out, int err)
{
  struct pollfd fds[2] = {{.fd = out, .events = POLLIN}, {.fd = err, .events = POLLIN}};
  int open = 2, status;
  while (open) {
    if (poll(fds, 2, -1) < 0) give_up("poll");
    for (int i = 0; i < 2; i++)
      if (fds[i].fd >= 0 && fds[i].revents &&
          !drain(fds[i].fd, i ? c->err : c->out, sizeof c->out)) {
        close(fds[i].fd);
        fds[i].fd = -1;
        open--;
      }
  }
  if (waitpid(pid, &status, 0) != pid) give_up("waitpid");
  c->exited = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  c->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

/* 0 in the child, which writes into the pipes; its id in the parent. */
static pid_t start(struct child *c, int *out, int *err, int limit_seconds)
{
  int o[2], e[2];
  memset(c, 0, sizeof *c);
  if (pipe(o) || pipe(e)) give_up("pipe");
  fflush(NULL);
  pid_t pid = fork();
  if (pid < 0) give_up("fork");
  if (pid == 0) {
    if (dup2(o[1], STDOUT_FILENO) < 0 || dup2(e[1], STDERR_FILENO) < 0) _exit(99);
    close(o[0]), close(o[1]), close(e[0]), close(e[1]);
    alarm((unsigned)limit_seconds);
    return 0;
  }
  close(o[1]), close(e[1]);
  *out = o[0], *err = e[0];
  return pid;
}

static int is_ours(const char *variable)
{
  return strncmp(variable, "XGEMM_", 6) == 0 || strncmp(variable, "OMP_", 4) == 0;
}

static char **make_environment(const char *const *set)
{
  size_t count = 0, added = 0, used = 0;
  while (environ[count]) count++;
  while (set && set[added]) added++;
  char **result = calloc(count + added + 1, sizeof *result);
  if (!result) give_up("calloc");
  for (size_t i = 0; i < count; i++)
    if (!is_ours(environ[i])) result[used++] = environ[i];
  for (size_t i = 0; i < added; i++) result[used++] = strdup(set[i]);
  return result;
}

void child_exec(struct child *c, const char *what, const char *argument, const char *const *set,
                int limit_seconds)
{
  int out, err;
  char name[] = "test", *args[4] = {name, strdup(what), argument ? strdup(argument) : NULL, NULL};
  char **environment = make_environment(set);
  pid_t pid = start(c, &out, &err, limit_seconds);
  if (pid == 0) {
    execve("/proc/self/exe", args, environment);
    _exit(98);
  }
  collect(c, pid, out, err);
  for (char **e = environment; *e; e++)
    if (is_ours(*e)) free(*e);
  free(environment);
  free(args[1]), free(args[2]);
}

void child_fork(struct child *c, int (*f)(void *), void *argument, int limit_seconds)
{
  int out, err;
  pid_t pid = start(c, &out, &err, limit_seconds);
  if (pid == 0) {
    int result = f(argument);
    fflush(NULL);
    _exit(result);
  }
  collect(c, pid, out, err);
}

int child_lines(const char *text)
{
  return child_lines_with(text, "");
}

int child_lines_with(const char *text, const char *word)
{
  int count = 0;
  while (*text) {
    size_t length = strcspn(text, "\n");
    char line[4096];
    snprintf(line, sizeof line, "%.*s", (int)(length < sizeof line - 1 ? length : sizeof line - 1),
             text);
    if (strstr(line, word)) count++;
    text += length;
    if (*text) text++;
  }
  return count;
}

long child_proc_status(const char *field)
{
  char line[256];
  long value = -1;
  FILE *file = fopen("/proc/self/status", "r");
  if (!file) return -1;
  while (fgets(line, sizeof line, file))
    if (strncmp(line, field, strlen(field)) == 0) value = strtol(line + strlen(field), NULL, 10);
  fclose(file);
  return value;
}
