/* `xgemm bench` */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/backend.h"
#include "commands.h"
#include "device.h"
#include "options.h"
#include "report.h"
#include "timing.h"

struct session {
  const struct xgb_bench_options *o;
  struct xgb_contestant contestants[XGB_MAX_CONTESTANTS];
  int count;
  struct xgb_peer peers[XGB_MAX_PEERS];
  struct xgb_operands operands;
  struct xgb_head head;
  struct xgb_notes notes;
  struct xgb_crossings crossings;
  struct xgb_summary summary;
  FILE *csv, *json;
  int done, total, wrong, ask_auto;
};

static void usage(void)
{
  puts("usage: xgemm bench [SHAPES...] [flags]\n"
       "\n"
       "Verifies and times matrix products on one or several engines, beside other libraries.\n"
       "\n"
       "SHAPES: m=n=k=64:1024:64       three sizes that run together, from:to:step\n"
       "        m=1,16,n=4096,k=4096   lists; every combination of m, n and k\n"
       "        m=n=k=64:4096:*2       a step with * multiplies\n"
       "\n"
       "flags:");
  xgb_print_flags(xgb_bench_flags);
}

/* ---------------------------------------------------------------- contestants */

static struct xgb_contestant *add(struct session *s, const char *name, enum xgb_kind kind,
                                  xgemm_backend backend)
{
  if (s->count == XGB_MAX_CONTESTANTS) return NULL;
  struct xgb_contestant *x = &s->contestants[s->count++];
  memcpy(x->name, name, strnlen(name, sizeof x->name - 1));
  x->kind = kind;
  x->backend = backend;
  x->via = s->o->via;
  return x;
}

static int add_engine(struct session *s, xgemm_backend backend)
{
  static const char *const names[] = {"auto", "cpu", "gpu", "ref"};
  if (backend != XGEMM_BACKEND_GPU) return add(s, names[backend], XGB_OWN, backend) ? 0 : -1;
  if (!s->o->device_only && !add(s, "gpu+copy", XGB_OWN, backend)) return -1;
  return add(s, "gpu", XGB_OWN_DEVICE, backend) ? 0 : -1;
}

static int asked_for_type(const struct xgb_bench_options *o, xgemm_type type)
{
  for (int i = 0; i < o->type_count; i++)
    if (o->types[i] == type) return 1;
  return 0;
}

/* Every GPU kernel of the types asked for, as candidates; rungs only on request. */
static int add_candidates(struct session *s)
{
  for (int i = 0; i < xg_backend_gpu.kernel_count(); i++) {
    struct xg_kernel_info kernel = xg_backend_gpu.kernel_info(i);
    int rung = strcmp(kernel.family, "ladder") == 0;
    if ((rung && !s->o->ladder_too) || !asked_for_type(s->o, kernel.type)) continue;
    struct xgb_contestant *x = add(s, kernel.name, XGB_OWN_DEVICE, XGEMM_BACKEND_GPU);
    if (!x) return -1;
    x->kernel = kernel.name;
    x->candidate = 1;
  }
  return 0;
}

static int add_kernel(struct session *s, const char *kernel)
{
  xgemm_backend backend = xg_backend_of_kernel(kernel)->id;
  struct xgb_contestant *x =
      add(s, kernel, backend == XGEMM_BACKEND_GPU ? XGB_OWN_DEVICE : XGB_OWN, backend);
  if (!x) return -1;
  x->kernel = kernel;
  return 0;
}

/* Our CPU engine held to one thread, beside rows with more. */
static int add_one_thread(struct session *s)
{
  struct xgb_contestant *x = add(s, "cpu-1", XGB_OWN, XGEMM_BACKEND_CPU);
  if (!x) return -1;
  x->threads = 1;
  return 0;
}

static int add_peer(struct session *s, const char *asked)
{
  if (s->head.peer_count == XGB_MAX_PEERS) return xgb_error("more than %d peers", XGB_MAX_PEERS);
  struct xgb_peer *peer = &s->peers[s->head.peer_count];
  int state = xgb_peer_open(peer, asked);
  if (state) return state < 0 ? -1 : 0;
  struct xgb_contestant *x =
      add(s, peer->name, peer->is_cublas ? XGB_CUBLAS : XGB_PEER, XGEMM_BACKEND_AUTO);
  if (!x) return -1;
  x->peer = peer;
  s->head.peer_count++;
  return 0;
}

/* Our plan beside what peers generate for one product alone. */
static int add_held(struct session *s)
{
  struct xgb_contestant *x = add(s, "cpu+plan", XGB_OWN, XGEMM_BACKEND_CPU);
  if (!x) return -1;
  x->via = XGB_VIA_PLAN;
  x->held = 1;
  for (int p = 0; p < s->head.peer_count; p++) {
    char name[XGB_NAME + 8];
    if (!s->peers[p].kernel_maker) continue;
    snprintf(name, sizeof name, "%s+kernel", s->peers[p].name);
    if (!(x = add(s, name, XGB_PEER_KERNEL, XGEMM_BACKEND_AUTO))) return -1;
    x->peer = &s->peers[p];
    x->held = 1;
  }
  return 0;
}

/* What the system has by name, and the libraries of the folder. */
static int add_every_peer(struct session *s)
{
  static char paths[XGB_MAX_PEERS][256];
  const char *folder = s->o->peers_folder ? s->o->peers_folder : getenv("XGB_PEERS");
  int count = folder ? xgb_peers_in(folder, paths, XGB_MAX_PEERS - 2) : 0;
  if (count < 0 || add_peer(s, "openblas?") || add_peer(s, "blis?")) return -1;
  for (int i = 0; i < count; i++)
    if (add_peer(s, paths[i])) return -1;
  return s->head.peer_count > 0 ? 0 : xgb_error("--peer all: none is there; see bench/peers.sh");
}

static int add_all(struct session *s)
{
  const struct xgb_bench_options *o = s->o;
  int bad = 0, cpu = 0, gpu = 0;
  for (int i = 0; i < o->backend_count && !bad; i++) {
    bad = add_engine(s, o->backends[i]);
    cpu |= o->backends[i] == XGEMM_BACKEND_CPU;
    gpu |= o->backends[i] == XGEMM_BACKEND_GPU;
  }
  s->ask_auto = cpu && gpu;
  for (int i = 0; i < o->kernel_count && !bad; i++) bad = add_kernel(s, o->kernels[i]);
  if (s->count == 0 && !bad)
    bad = add_engine(s, o->all_kernels ? XGEMM_BACKEND_GPU : XGEMM_BACKEND_AUTO);
  if (o->all_kernels && !bad) bad = add_candidates(s);
  if (o->beside_one && !bad) bad = add_one_thread(s);
  if (bad) return xgb_error("more than %d contestants", XGB_MAX_CONTESTANTS);
  for (int i = 0; i < o->peer_count; i++)
    if (strcmp(o->peers[i], "all") == 0 ? add_every_peer(s) : add_peer(s, o->peers[i])) return -1;
  return o->held && add_held(s) ? xgb_error("more than %d contestants", XGB_MAX_CONTESTANTS) : 0;
}

/* ---------------------------------------------------------------- rows */

static int count_case(void *context, const struct xgb_case *c)
{
  (void)c;
  ((struct session *)context)->total++;
  return 0;
}

static int run_row(void *context, const struct xgb_case *c)
{
  struct session *s = context;
  struct xgb_row *row = calloc(1, sizeof *row);
  if (!row) return xgb_error("out of memory");
  row->c = *c;
  xgb_progress(s->done, s->total, c->name);
  if (s->ask_auto) snprintf(row->auto_takes, sizeof row->auto_takes, "%s", xgb_auto_engine(c));
  int bad = xgb_run_case(row, s->contestants, s->count, &s->operands, &s->o->effort);
  xgb_progress(0, 0, NULL);
  if (!bad) {
    xgb_table_row(&s->head, row, &s->notes);
    if (s->csv) xgb_csv_row(s->csv, row);
    if (s->json) xgb_json_row(s->json, row, s->done);
    xgb_crossings_add(&s->crossings, row);
    xgb_summary_add(&s->summary, row);
    for (int i = 0; i < row->count; i++) s->wrong |= row->results[i].status == XGB_WRONG;
    s->done++;
  }
  xgb_row_free(row);
  free(row);
  return bad;
}

static FILE *open_output(const char *path)
{
  FILE *file = fopen(path, "w");
  if (!file) {
    perror(path);
    return NULL;
  }
  return file;
}

static int open_files(struct session *s)
{
  if (s->o->csv && !(s->csv = open_output(s->o->csv))) return -1;
  if (s->o->json && !(s->json = open_output(s->o->json))) return -1;
  return 0;
}

/* `complete`: every row asked for is there. */
static void finish(struct session *s, int complete)
{
  char text[16][256];
  xgb_table_end(&s->notes);
  int told = xgb_crossings_tell(&s->crossings, text, 16);
  for (int i = 0; i < told; i++) puts(text[i]);
  xgb_summary_tell(&s->summary);
  if (s->json && complete) xgb_json_end(s->json, text, told, &s->summary);
  if (s->json && !complete) xgb_json_stop(s->json);
  if (s->csv) fclose(s->csv);
  if (s->json) fclose(s->json);
  xgb_crossings_free(&s->crossings);
  xgb_operands_free(&s->operands);
}

static int wants_gpu(const struct session *s)
{
  for (int i = 0; i < s->count; i++)
    if (xgb_on_device(&s->contestants[i]) || s->contestants[i].backend == XGEMM_BACKEND_GPU)
      return 1;
  return 0;
}

static int run_session(struct session *s, int argc, char **argv)
{
  static struct xgb_result columns[XGB_MAX_CONTESTANTS];
  if (add_all(s) || open_files(s)) return XGB_EXIT_USAGE;
  xgb_head_fill(&s->head, wants_gpu(s));
  s->head.argc = argc, s->head.argv = argv;
  s->head.peers = s->peers;
  for (int i = 0; i < s->count; i++) {
    snprintf(columns[i].engine, sizeof columns[i].engine, "%s", s->contestants[i].name);
    columns[i].candidate = s->contestants[i].candidate;
  }
  s->head.copy_rate = wants_gpu(s) ? xgb_device_copy_rate() : 0;
  s->head.columns = columns, s->head.column_count = s->count;
  s->head.best_peer = s->o->effort.best_peer;
  s->head.pages = xgb_pages_name(s->o->pages);
  s->head.show_bound = s->o->has_pages;
  s->operands.pages = s->o->pages;
  s->summary.threshold = s->o->under;
  xgb_table_begin(&s->head);
  if (s->csv) xgb_csv_begin(s->csv);
  if (s->json) xgb_json_begin(s->json, &s->head);
  xgb_catch_interrupt();
  xgb_each_case(s->o, count_case, s);
  int bad = xgb_each_case(s->o, run_row, s);
  finish(s, !bad && !xgb_interrupted);
  if (xgb_interrupted) {
    fprintf(stderr, "xgemm: interrupted after %d of %d rows\n", s->done, s->total);
    return XGB_EXIT_INTERRUPTED;
  }
  if (s->wrong) fputs("xgemm: WRONG RESULTS, see above\n", stderr);
  return bad || s->wrong ? XGB_EXIT_FAILED : XGB_EXIT_GOOD;
}

int xgb_bench(int argc, char **argv)
{
  static struct xgb_bench_options options;
  static struct session session;
  if (xgb_bench_parse(&options, argc, argv)) return XGB_EXIT_USAGE;
  if (options.help) {
    usage();
    return XGB_EXIT_GOOD;
  }
  if (options.goals) {
    char *words[] = {"goals", "--measure"};
    return xgb_goals(2, words);
  }
  if (options.shapes.count == 0) {
    xgb_error("bench: no shapes; as in \"xgemm bench m=n=k=512:2048:512\" or --shapes FILE");
    return XGB_EXIT_USAGE;
  }
  const struct xgb_case first = {.threads = options.threads[0]};
  if (options.cpu_clock && (options.thread_count > 1 || xgb_case_threads(&first) != 1)) {
    xgb_error("--clock cpu counts the calling thread only: it goes with one thread");
    return XGB_EXIT_USAGE;
  }
  xgb_sample_cpu_time = options.cpu_clock;
  session.o = &options;
  int code = options.bits ? xgb_bits(&options, argc, argv) : run_session(&session, argc, argv);
  xgb_shapes_free(&options.shapes);
  return code;
}
