/* `xgemm latency`: what a small product costs when it is called over and over, and what the first
 * one of a process costs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "args.h"
#include "commands.h"
#include "operands.h"
#include "peers.h"
#include "report.h"
#include "timing.h"
#include "xgemm_cblas.h"

enum { PROCESSES = 15, SAMPLES = 41, MOST_SIZES = 16 };

struct latency_options {
  int sizes[MOST_SIZES], size_count;
  char peers[XGB_MAX_PEERS][256];
  int peer_count, help;
  const char *json;
};

static int set_sizes(void *options, const char *value)
{
  struct latency_options *o = options;
  char text[256], *parts[MOST_SIZES];
  snprintf(text, sizeof text, "%s", value);
  int count = xgb_split(text, parts, MOST_SIZES);
  for (int i = 0; i < count; i++) {
    int64_t size;
    if (xgb_integer(parts[i], 1, 256, &size)) count = -1;
    if (count > 0) o->sizes[i] = (int)size;
  }
  if (count < 1) return xgb_error("--sizes %s: numbers from 1 to 256, separated by commas", value);
  o->size_count = count;
  return 0;
}

static int set_peer(void *options, const char *value)
{
  struct latency_options *o = options;
  if (o->peer_count == XGB_MAX_PEERS || strlen(value) >= sizeof o->peers[0])
    return xgb_error("--peer: at most %d, with names of at most 255 characters", XGB_MAX_PEERS);
  strcpy(o->peers[o->peer_count++], value);
  return 0;
}

static int set_json(void *options, const char *value)
{
  ((struct latency_options *)options)->json = value;
  return 0;
}

static int set_help(void *options, const char *value)
{
  (void)value;
  ((struct latency_options *)options)->help = 1;
  return 0;
}

static const struct xgb_flag flags[] = {
    {"--sizes", "8,16", "m = n = k of the small products (default 4,8,16,23,32)", set_sizes},
    {"--peer", "NAME|PATH", "a library to compare with; repeatable", set_peer},
    {"--json", "FILE", "the result as a file", set_json},
    {"--help", NULL, "this text", set_help},
    {NULL, NULL, NULL, NULL}};

/* ---------------------------------------------------------------- steady calls */

/* Ours under the same face as a peer's: the function that a program would call. */
static struct xgb_peer own(void)
{
  struct xgb_peer peer = {.name = "libxgemm"};
  void (*sgemm)(CBLAS_LAYOUT, CBLAS_TRANSPOSE, CBLAS_TRANSPOSE, int, int, int, float, const float *,
                int, const float *, int, float, float *, int) = cblas_sgemm;
  void (*dgemm)(CBLAS_LAYOUT, CBLAS_TRANSPOSE, CBLAS_TRANSPOSE, int, int, int, double,
                const double *, int, const double *, int, double, double *, int) = cblas_dgemm;
  memcpy(&peer.sgemm, &sgemm, sizeof sgemm);
  memcpy(&peer.dgemm, &dgemm, sizeof dgemm);
  return peer;
}

static double seconds_of(const struct xgb_peer *peer, const struct xgb_case *c,
                         const struct xgb_operands *o, long calls)
{
  double start = xgb_now();
  for (long i = 0; i < calls; i++) xgb_peer_call(peer, c, o->a, o->b, o->c);
  return xgb_now() - start;
}

/* Median seconds per call of each library, interleaved in batches of about 50 us. */
static int time_size(const struct xgb_case *c, const struct xgb_peer *peers, int count,
                     double *medians)
{
  struct xgb_operands o = {0};
  long calls[XGB_MAX_PEERS + 1];
  double samples[XGB_MAX_PEERS + 1][SAMPLES];
  if (xgb_operands_prepare(&o, c)) return xgb_error("out of memory");
  for (int p = 0; p < count; p++)
    for (calls[p] = 16; seconds_of(&peers[p], c, &o, calls[p]) < 50e-6;) calls[p] *= 2;
  for (int s = 0; s < SAMPLES; s++)
    for (int p = 0; p < count; p++)
      samples[p][s] = seconds_of(&peers[p], c, &o, calls[p]) / (double)calls[p];
  for (int p = 0; p < count; p++) medians[p] = xgb_median(samples[p], SAMPLES);
  xgb_operands_free(&o);
  return 0;
}

/* ---------------------------------------------------------------- the first call */

static void first_product(const struct xgb_peer *peer)
{
  float a[64], b[64], c[64];
  for (int i = 0; i < 64; i++) a[i] = (float)i, b[i] = 1;
  if (peer) {
    struct xgb_case k = {.m = 8, .n = 8, .k = 8, .lda = 8, .ldb = 8, .ldc = 8, .alpha = 1};
    k.transa = k.transb = 'N';
    xgb_peer_call(peer, &k, a, b, c);
  } else {
    cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, 8, 8, 8, 1, a, 8, b, 8, 0, c, 8);
  }
}

int xgb_first_call(int argc, char **argv)
{
  struct xgb_peer peer;
  double start = xgb_now(), loaded = start;
  if (argc > 1) {
    if (xgb_peer_open(&peer, argv[1])) return XGB_EXIT_USAGE;
    loaded = xgb_now();
  }
  first_product(argc > 1 ? &peer : NULL);
  double end = xgb_now();
  printf("%.0f %.0f\n", 1e9 * (loaded - start), 1e9 * (end - loaded));
  return 0;
}

/* Runs this program again; 0 and the two numbers, in seconds. */
static int in_fresh_process(const char *peer, double *load, double *call)
{
  int ends[2];
  if (pipe(ends)) return xgb_error("pipe: %s", strerror(errno));
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]), close(ends[1]);
    execl("/proc/self/exe", "xgemm", "first-call", peer, (char *)NULL);
    _exit(127);
  }
  close(ends[1]);
  FILE *answer = fdopen(ends[0], "r");
  int status = 1, got = answer ? fscanf(answer, "%lf %lf", load, call) : 0;
  if (answer) fclose(answer);
  if (child > 0) waitpid(child, &status, 0);
  if (got != 2 || status != 0) return xgb_error("the fresh process failed");
  *load *= 1e-9, *call *= 1e-9;
  return 0;
}

static int time_first(const char *peer, double *load, double *call)
{
  double loads[PROCESSES], calls[PROCESSES];
  for (int i = 0; i < PROCESSES; i++)
    if (in_fresh_process(peer, &loads[i], &calls[i])) return -1;
  *load = xgb_median(loads, PROCESSES);
  *call = xgb_median(calls, PROCESSES);
  return 0;
}

/* ---------------------------------------------------------------- the command */

/* Rows as the bench writes them, so that goals and tables read one format. */
static void record(FILE *json, struct xgb_row *row, int *rows)
{
  if (json) xgb_json_row(json, row, (*rows)++);
}

static void put_result(struct xgb_row *row, int p, const char *name, double seconds)
{
  struct xgb_result *r = &row->results[p];
  snprintf(r->engine, sizeof r->engine, "%.63s", p == 0 ? "cpu" : name);
  snprintf(r->backend, sizeof r->backend, "%s", p == 0 ? "cpu" : "peer");
  r->status = XGB_GOOD;
  r->median = r->best = seconds;
  row->count = p + 1;
}

static int steady(const struct latency_options *o, const struct xgb_peer *peers, int count,
                  FILE *json, int *rows)
{
  printf("nanoseconds per call through cblas, one thread, warm, column-major NN, median of %d "
         "batches\n%-8s",
         SAMPLES, "size");
  for (int p = 0; p < count; p++) printf(" %8.14s f32 %8.14s f64", peers[p].name, peers[p].name);
  putchar('\n');
  for (int s = 0; s < o->size_count; s++) {
    double medians[2][XGB_MAX_PEERS + 1];
    for (int type = 0; type < 2; type++) {
      struct xgb_row row = {.c = {.transa = 'N', .transb = 'N', .alpha = 1, .batch = 1}};
      row.c.m = row.c.n = row.c.k = o->sizes[s];
      row.c.type = type ? XGEMM_F64 : XGEMM_F32;
      row.c.threads = 1;
      snprintf(row.c.name, sizeof row.c.name, "call%d", o->sizes[s]);
      xgb_case_storage(&row.c, 0);
      if (time_size(&row.c, peers, count, medians[type])) return -1;
      for (int p = 0; p < count; p++) put_result(&row, p, peers[p].name, medians[type][p]);
      record(json, &row, rows);
    }
    printf("%-8d", o->sizes[s]);
    for (int p = 0; p < count; p++)
      printf(" %12.1f %12.1f", 1e9 * medians[0][p], 1e9 * medians[1][p]);
    putchar('\n');
  }
  return 0;
}

static int first(const struct latency_options *o, const struct xgb_peer *peers, int count,
                 FILE *json, int *rows)
{
  struct xgb_row row = {.c = {.m = 8, .n = 8, .k = 8, .transa = 'N', .transb = 'N', .alpha = 1}};
  row.c.threads = 1;
  strcpy(row.c.name, "first8");
  xgb_case_storage(&row.c, 0);
  printf("first 8x8x8 cblas_sgemm of a fresh process, median of %d processes\n", PROCESSES);
  for (int p = 0; p < count; p++) {
    double load, call;
    if (time_first(p == 0 ? NULL : o->peers[p - 1], &load, &call)) return -1;
    printf("  %-12s %9.1f us", peers[p].name, 1e6 * call);
    if (p > 0) printf(" after %.1f us in dlopen", 1e6 * load);
    putchar('\n');
    put_result(&row, p, peers[p].name, call);
  }
  record(json, &row, rows);
  return 0;
}

int xgb_latency(int argc, char **argv)
{
  struct latency_options o = {.sizes = {4, 8, 16, 23, 32}, .size_count = 5};
  struct xgb_peer peers[XGB_MAX_PEERS + 1];
  struct xgb_head head = {.argc = argc, .argv = argv};
  int rows = 0;
  if (xgb_parse("latency", argc, argv, flags, &o, NULL)) return XGB_EXIT_USAGE;
  if (o.help) {
    puts("usage: xgemm latency [flags]\n\nThe cost of small calls.\n\nflags:");
    xgb_print_flags(flags);
    return XGB_EXIT_GOOD;
  }
  peers[0] = own();
  for (int p = 0; p < o.peer_count; p++) {
    if (xgb_peer_open(&peers[p + 1], o.peers[p])) return XGB_EXIT_USAGE;
    xgb_peer_threads(&peers[p + 1], 1);
  }
  FILE *json = o.json ? fopen(o.json, "w") : NULL;
  if (o.json && !json) {
    perror(o.json);
    return XGB_EXIT_USAGE;
  }
  xgb_head_fill(&head, 0);
  head.peers = peers + 1, head.peer_count = o.peer_count;
  if (json) xgb_json_begin(json, &head);
  int bad = steady(&o, peers, o.peer_count + 1, json, &rows) ||
            first(&o, peers, o.peer_count + 1, json, &rows);
  if (json && !bad) xgb_json_end(json, NULL, 0, NULL);
  if (json) fclose(json);
  return bad ? XGB_EXIT_FAILED : XGB_EXIT_GOOD;
}
