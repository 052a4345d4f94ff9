#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/backend.h"

/* Looks each word of a comma list up; 0, or -1 after naming what is accepted. */
static int read_list(const char *flag, const char *value, const char *const *accepted, int *out,
                     int most, int *count)
{
  char text[512], *parts[XGB_MAX_LIST];
  snprintf(text, sizeof text, "%s", value);
  int n = xgb_split(text, parts, most < XGB_MAX_LIST ? most : XGB_MAX_LIST);
  for (int i = 0; i < n; i++) {
    int found = -1;
    for (int a = 0; accepted[a]; a++)
      if (strcmp(accepted[a], parts[i]) == 0) found = a;
    if (found < 0) n = -1;
    if (n > 0) out[i] = found;
  }
  if (n < 1) {
    fprintf(stderr, "xgemm: %s %s: a list, separated by commas, of", flag, value);
    for (int a = 0; accepted[a]; a++) fprintf(stderr, " %s", accepted[a]);
    fputc('\n', stderr);
    return -1;
  }
  *count = n;
  return 0;
}

static int set_type(void *options, const char *value)
{
  static const char *const names[] = {"f32", "f64", NULL};
  struct xgb_bench_options *o = options;
  int found[2];
  if (read_list("--type", value, names, found, 2, &o->type_count)) return -1;
  for (int i = 0; i < o->type_count; i++) o->types[i] = found[i] ? XGEMM_F64 : XGEMM_F32;
  return 0;
}

static int set_layout(void *options, const char *value)
{
  static const char *const names[] = {"col", "row", NULL};
  struct xgb_bench_options *o = options;
  return read_list("--layout", value, names, o->layouts, 2, &o->layout_count);
}

static int set_trans(void *options, const char *value)
{
  static const char *const names[] = {"NN", "NT", "TN", "TT", NULL};
  struct xgb_bench_options *o = options;
  int found[4];
  if (read_list("--trans", value, names, found, 4, &o->trans_count)) return -1;
  for (int i = 0; i < o->trans_count; i++) memcpy(o->trans[i], names[found[i]], 2);
  return 0;
}

static int set_backend(void *options, const char *value)
{
  static const char *const names[] = {"auto", "cpu", "gpu", "ref", "gpu?", "device", NULL};
  static const xgemm_backend ids[] = {XGEMM_BACKEND_AUTO, XGEMM_BACKEND_CPU, XGEMM_BACKEND_GPU,
                                      XGEMM_BACKEND_REF,  XGEMM_BACKEND_GPU, XGEMM_BACKEND_GPU};
  enum { OPTIONAL = 4, DEVICE = 5 };
  struct xgb_bench_options *o = options;
  int found[4], count;
  if (read_list("--backend", value, names, found, 4, &count)) return -1;
  o->backend_count = o->device_only = 0;
  for (int i = 0; i < count; i++) {
    o->device_only |= found[i] == DEVICE;
    if (found[i] != OPTIONAL || !xg_backend_gpu.available(1))
      o->backends[o->backend_count++] = ids[found[i]];
  }
  return 0;
}

static int set_via(void *options, const char *value)
{
  static const char *const names[] = {"xgemm", "plan", "cblas", NULL};
  struct xgb_bench_options *o = options;
  int found, count;
  if (read_list("--via", value, names, &found, 1, &count)) return -1;
  o->via = (enum xgb_via)found;
  return 0;
}

static int set_clock(void *options, const char *value)
{
  static const char *const names[] = {"wall", "cpu", NULL};
  struct xgb_bench_options *o = options;
  int count;
  return read_list("--clock", value, names, &o->cpu_clock, 1, &count);
}

static int set_pages(void *options, const char *value)
{
  static const char *const names[] = {"default", "4k", "huge", NULL};
  struct xgb_bench_options *o = options;
  int found, count;
  if (read_list("--pages", value, names, &found, 1, &count)) return -1;
  o->pages = (enum xgb_pages)found;
  o->has_pages = 1;
  return 0;
}

static int set_threads(void *options, const char *value)
{
  struct xgb_bench_options *o = options;
  char text[256], *parts[XGB_MAX_LIST];
  snprintf(text, sizeof text, "%s", value);
  int count = xgb_split(text, parts, XGB_MAX_LIST);
  for (int i = 0; i < count; i++) {
    int64_t number;
    if (xgb_integer(parts[i], 1, 4096, &number)) count = -1;
    if (count > 0) o->threads[i] = (int)number;
  }
  if (count < 1) return xgb_error("--threads %s: numbers from 1 on, separated by commas", value);
  o->thread_count = count;
  return 0;
}

static int set_kernel(void *options, const char *value)
{
  struct xgb_bench_options *o = options;
  if (o->kernel_level != o->level) o->kernel_count = 0;
  o->kernel_level = o->level;
  if (!xg_backend_of_kernel(value)) {
    fprintf(stderr, "xgemm: --kernel %s: there is no such kernel; \"xgemm info\" lists them\n",
            value);
    return -1;
  }
  if (o->kernel_count == XGB_MAX_LIST) return xgb_error("--kernel: at most %d", XGB_MAX_LIST);
  snprintf(o->kernels[o->kernel_count++], XGB_NAME, "%s", value);
  return 0;
}

static int set_kernels(void *options, const char *value)
{
  static const char *const names[] = {"all", "ladder", NULL};
  struct xgb_bench_options *o = options;
  int found[2], count;
  if (read_list("--kernels", value, names, found, 2, &count)) return -1;
  o->all_kernels = 1, o->ladder_too = 0;
  for (int i = 0; i < count; i++) o->ladder_too |= found[i] == 1;
  return 0;
}

static int set_peer(void *options, const char *value)
{
  struct xgb_bench_options *o = options;
  if (o->peer_level != o->level) o->peer_count = 0;
  o->peer_level = o->level;
  if (o->peer_count == XGB_MAX_PEERS) return xgb_error("--peer: at most %d", XGB_MAX_PEERS);
  if (strlen(value) >= sizeof o->peers[0]) return xgb_error("--peer: name too long");
  strcpy(o->peers[o->peer_count++], value);
  return 0;
}

/* Its libraries are part of peer "all", which it asks for. */
static int set_peers(void *options, const char *value)
{
  struct xgb_bench_options *o = options;
  if (value[0] == 0) return xgb_error("--peers: the name of a folder");
  o->peers_folder = value;
  return set_peer(o, "all");
}

static int set_real(const char *flag, const char *value, double low, double high, double *out)
{
  return xgb_real(value, low, high, out)
             ? xgb_error("%s %s: a number from %g to %g", flag, value, low, high)
             : 0;
}

static int set_integer(const char *flag, const char *value, int64_t low, int64_t high, int64_t *out)
{
  return xgb_integer(value, low, high, out)
             ? xgb_error("%s %s: a whole number from %lld to %lld", flag, value, (long long)low,
                         (long long)high)
             : 0;
}

static int set_alpha(void *options, const char *value)
{
  struct xgb_bench_options *o = options;
  o->has_alpha = 1;
  return set_real("--alpha", value, -1e30, 1e30, &o->alpha);
}

static int set_beta(void *options, const char *value)
{
  struct xgb_bench_options *o = options;
  o->has_beta = 1;
  return set_real("--beta", value, -1e30, 1e30, &o->beta);
}

static int set_pad(void *options, const char *value)
{
  struct xgb_bench_options *o = options;
  char text[256], *parts[XGB_MAX_LIST];
  snprintf(text, sizeof text, "%s", value);
  int count = xgb_split(text, parts, XGB_MAX_LIST);
  for (int i = 0; i < count; i++)
    if (xgb_integer(parts[i], 0, 1 << 20, &o->pads[i])) count = -1;
  if (count < 1) return xgb_error("--pad %s: whole numbers, separated by commas", value);
  o->pad_count = count;
  return 0;
}

static int set_max_dim(void *options, const char *value)
{
  return set_integer("--max-dim", value, 1, INT64_C(1) << 31,
                     &((struct xgb_bench_options *)options)->max_dim);
}

static int set_max_gflop(void *options, const char *value)
{
  double *out = &((struct xgb_bench_options *)options)->max_flops;
  if (set_real("--max-gflop", value, 1e-9, 1e9, out)) return -1;
  *out *= 1e9;
  return 0;
}

static int set_under(void *options, const char *value)
{
  return set_real("--under", value, 0, 1e6, &((struct xgb_bench_options *)options)->under);
}

static int set_reps(void *options, const char *value)
{
  int64_t reps;
  if (set_integer("--reps", value, 1, 10000, &reps)) return -1;
  ((struct xgb_bench_options *)options)->effort.reps = (int)reps;
  return 0;
}

static int set_min_time(void *options, const char *value)
{
  return set_real("--min-time", value, 0, 3600,
                  &((struct xgb_bench_options *)options)->effort.min_time);
}

static int set_max_time(void *options, const char *value)
{
  return set_real("--max-time", value, 0.001, 1e6,
                  &((struct xgb_bench_options *)options)->effort.max_time);
}

static int set_shapes(void *options, const char *value)
{
  struct xgb_bench_options *o = options;
  if (o->level == 0) return xgb_error("--shapes cannot stand in a shape file");
  return xgb_shapes_file(&o->shapes, value);
}

static int set_csv(void *options, const char *value)
{
  ((struct xgb_bench_options *)options)->csv = value;
  return 0;
}

static int set_json(void *options, const char *value)
{
  ((struct xgb_bench_options *)options)->json = value;
  return 0;
}

static int set_bits(void *options, const char *value)
{
  (void)value;
  ((struct xgb_bench_options *)options)->bits = 1;
  return 0;
}

static int set_beside_one(void *options, const char *value)
{
  (void)value;
  ((struct xgb_bench_options *)options)->beside_one = 1;
  return 0;
}

static int set_held(void *options, const char *value)
{
  (void)value;
  ((struct xgb_bench_options *)options)->held = 1;
  return 0;
}

static int set_best_peer(void *options, const char *value)
{
  (void)value;
  ((struct xgb_bench_options *)options)->effort.best_peer = 1;
  return 0;
}

static int set_goals(void *options, const char *value)
{
  (void)value;
  ((struct xgb_bench_options *)options)->goals = 1;
  return 0;
}

static int set_help(void *options, const char *value)
{
  (void)value;
  ((struct xgb_bench_options *)options)->help = 1;
  return 0;
}

const struct xgb_flag xgb_bench_flags[] = {
    {"--shapes", "FILE",
     "shapes of a file, or of one in bench/shapes by name (name:PATTERN: some); repeatable",
     set_shapes},
    {"--type", "f32,f64", "element types (default f32)", set_type},
    {"--layout", "col,row", "storage (default col)", set_layout},
    {"--trans", "NN,NT,TN,TT", "transposes instead of the shapes' own", set_trans},
    {"--alpha", "X", "default 1, or the shape's own", set_alpha},
    {"--beta", "X", "default 0, or the shape's own", set_beta},
    {"--pad", "0,1", "elements added to every leading dimension (default 0)", set_pad},
    {"--threads", "1,2", "CPU threads (default: what the library takes)", set_threads},
    {"--backend", "cpu,gpu,ref,auto",
     "engines (default auto); gpu? if it can be used; device: gpu without the column gpu+copy",
     set_backend},
    {"--kernel", "NAME", "a kernel forced by name, instead of an engine; repeatable", set_kernel},
    {"--kernels", "all,ladder",
     "every GPU kernel that is legal, beside the one that is taken; ladder: also the rungs",
     set_kernels},
    {"--peer", "NAME|PATH", "a library to compare with; NAME? if it is there; repeatable",
     set_peer},
    {"--peers", "DIR",
     "OpenBLAS, BLIS and every lib*.so of a folder that bench/peers.sh has filled; "
     "--peer all takes it from $XGB_PEERS",
     set_peers},
    {"--best-peer", NULL, "two passes: the first picks the fastest peer for each row",
     set_best_peer},
    {"--beside-one", NULL, "a column for the CPU engine with one thread, for rows with more",
     set_beside_one},
    {"--held", NULL, "columns for our held plan and the kernels that peers generate", set_held},
    {"--via", "xgemm|plan|cblas", "our entry point that is timed (default xgemm)", set_via},
    {"--pages", "4k|huge", "pages under the operands; adds the share of the bound to the table",
     set_pages},
    {"--clock", "wall|cpu", "cpu: the calling thread's CPU time, for one thread on a busy machine",
     set_clock},
    {"--reps", "N", "at least N samples each (default 5)", set_reps},
    {"--min-time", "S", "at least S seconds of samples each (default 0.2)", set_min_time},
    {"--max-time", "S", "about at most S seconds each (default 20)", set_max_time},
    {"--max-dim", "N", "leave out shapes with a larger m, n or k", set_max_dim},
    {"--max-gflop", "X", "leave out shapes of more than X GFLOP", set_max_gflop},
    {"--under", "X", "the summary counts ratios below X (default 0.92)", set_under},
    {"--csv", "FILE", "one line for each row and contestant", set_csv},
    {"--json", "FILE", "everything, with machine and versions", set_json},
    {"--bits", NULL, "compare the bits of results for 1, 2, 3, 4 threads; no timing", set_bits},
    {"--goals", NULL, "measure the goals of bench/goals.tsv on this machine", set_goals},
    {"--help", NULL, "this text", set_help},
    {NULL, NULL, NULL, NULL}};

static int add_shape(void *options, const char *word)
{
  struct xgb_bench_options *o = options;
  if (o->level == 0) return xgb_error("in a shape file's options: unexpected \"%s\"", word);
  return xgb_shapes_word(&o->shapes, word);
}

static void set_defaults(struct xgb_bench_options *o)
{
  memset(o, 0, sizeof *o);
  o->type_count = o->layout_count = o->thread_count = o->pad_count = 1;
  o->alpha = 1;
  o->under = 0.92;
  o->effort = (struct xgb_effort){.reps = 5, .min_time = 0.2, .max_time = 20};
  o->level = 1;
}

/* The flags of a shape file, as an argv. The text is kept: options point into it. */
static int parse_file_options(struct xgb_bench_options *o, char *text)
{
  char *words[64] = {"options"};
  int count = 1;
  for (char *save, *word = strtok_r(text, " \t", &save); word && count < 64;
       word = strtok_r(NULL, " \t", &save))
    words[count++] = word;
  o->level = 0;
  int bad = xgb_parse("bench", count, words, xgb_bench_flags, o, add_shape);
  o->level = 1;
  return bad;
}

int xgb_bench_parse(struct xgb_bench_options *o, int argc, char **argv)
{
  static char text[sizeof o->shapes.options];
  set_defaults(o);
  if (xgb_parse("bench", argc, argv, xgb_bench_flags, o, add_shape)) return -1;
  if (!o->shapes.options[0]) return 0;
  /* Once more, now that it is known what holds by default. */
  memcpy(text, o->shapes.options, sizeof text);
  xgb_shapes_free(&o->shapes);
  set_defaults(o);
  return parse_file_options(o, text) ||
                 xgb_parse("bench", argc, argv, xgb_bench_flags, o, add_shape)
             ? -1
             : 0;
}

static int fill_case(const struct xgb_bench_options *o, struct xgb_case *c, int trans, int64_t pad)
{
  if (o->trans_count > 0) {
    c->transa = o->trans[trans][0];
    c->transb = o->trans[trans][1];
  }
  if (!c->has_scalars || o->has_alpha) c->alpha = o->alpha;
  if (!c->has_scalars || o->has_beta) c->beta = o->beta;
  int64_t most = c->m > c->n ? c->m : c->n;
  if (c->k > most) most = c->k;
  xgb_case_storage(c, pad);
  if (o->max_flops > 0 && xgb_flops(c) > o->max_flops) return 0;
  return o->max_dim == 0 || most <= o->max_dim;
}

/* One shape with its type, layout and threads: every combination of transposes and pads. */
static int each_storage(const struct xgb_bench_options *o, const struct xgb_case *shape,
                        int (*visit)(void *context, const struct xgb_case *c), void *context)
{
  int trans_count = o->trans_count > 0 ? o->trans_count : 1;
  for (int trans = 0; trans < trans_count; trans++)
    for (int pad = 0; pad < o->pad_count; pad++) {
      struct xgb_case c = *shape;
      if (!fill_case(o, &c, trans, o->pads[pad])) continue;
      int stop = visit(context, &c);
      if (stop) return stop;
    }
  return 0;
}

int xgb_each_case(const struct xgb_bench_options *o,
                  int (*visit)(void *context, const struct xgb_case *c), void *context)
{
  for (int type = 0; type < o->type_count; type++)
    for (int layout = 0; layout < o->layout_count; layout++)
      for (int threads = 0; threads < o->thread_count; threads++)
        for (int shape = 0; shape < o->shapes.count; shape++) {
          struct xgb_case c = o->shapes.list[shape];
          c.type = o->types[type];
          if (!c.has_layout) c.row_major = o->layouts[layout];
          if (c.has_layout && layout > 0) continue;
          if (c.only_type[0] && strcmp(c.only_type, xgb_type_name(c.type)) != 0) continue;
          c.threads = o->threads[threads];
          int stop = each_storage(o, &c, visit, context);
          if (stop) return stop;
        }
  return 0;
}
