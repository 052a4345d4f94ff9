#include "timing.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

volatile sig_atomic_t xgb_interrupted;

double xgb_now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int xgb_sample_cpu_time;

double xgb_sample_now(void)
{
  struct timespec t;
  clock_gettime(xgb_sample_cpu_time ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double xgb_median(double *values, int count)
{
  if (count < 1) return 0;
  qsort(values, (size_t)count, sizeof *values, by_size);
  return count % 2 ? values[count / 2] : 0.5 * (values[count / 2 - 1] + values[count / 2]);
}

double xgb_smallest(const double *values, int count)
{
  double least = count > 0 ? values[0] : 0;
  for (int i = 1; i < count; i++)
    if (values[i] < least) least = values[i];
  return least;
}

/* How many threads of this process run or want to, by /proc/self/task; 1: only this one. (The
 * process's CPU clock will not do: what a running thread uses is added at ticks, which may be 10 ms
 * apart.) */
static int running_threads(void)
{
  DIR *tasks = opendir("/proc/self/task");
  const struct dirent *task;
  int running = 0;
  while (tasks && (task = readdir(tasks)) != NULL) {
    char path[300], line[512];
    snprintf(path, sizeof path, "/proc/self/task/%s/stat", task->d_name);
    FILE *f = task->d_name[0] == '.' ? NULL : fopen(path, "re");
    if (!f) continue;
    const char *name_end = fgets(line, sizeof line, f) ? strrchr(line, ')') : NULL;
    running += name_end && name_end[1] == ' ' && name_end[2] == 'R';
    fclose(f);
  }
  if (tasks) closedir(tasks);
  return running;
}

void xgb_settle(void)
{
  const double end = xgb_now() + 1;
  int quiet = 0;
  while (quiet < 2 && xgb_now() < end) { /* twice in a row: some sleep between their looks */
    nanosleep(&(struct timespec){0, 500000}, NULL);
    quiet = running_threads() <= 1 ? quiet + 1 : 0;
  }
}

static void on_interrupt(int signal)
{
  (void)signal;
  xgb_interrupted = 1;
}

void xgb_catch_interrupt(void)
{
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_interrupt;
  action.sa_flags = (int)SA_RESETHAND | SA_RESTART;
  sigaction(SIGINT, &action, NULL);
}

void xgb_progress(int done, int total, const char *text)
{
  enum { WIDTH = 30 };
  static int terminal = -1;
  if (terminal < 0) terminal = isatty(STDERR_FILENO);
  if (!terminal) return;
  if (!text) {
    fputs("\r\033[K", stderr);
    return;
  }
  int filled = total > 0 ? (int)((double)WIDTH * done / total) : 0;
  char bar[WIDTH + 1];
  for (int i = 0; i < WIDTH; i++) bar[i] = i < filled ? '#' : '.';
  bar[WIDTH] = 0;
  fprintf(stderr, "\r\033[K[%s] %d/%d %s", bar, done, total, text);
}
