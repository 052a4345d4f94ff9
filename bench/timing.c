#include "timing.h"

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

static double process_cpu_seconds(void)
{
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void xgb_settle(void)
{
  double end = xgb_now() + 1, used, passed;
  do {
    double cpu = process_cpu_seconds(), wall = xgb_now();
    nanosleep(&(struct timespec){0, 1000000}, NULL);
    passed = xgb_now() - wall;
    used = process_cpu_seconds() - cpu;
  } while (used > 0.1 * passed && xgb_now() < end);
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
