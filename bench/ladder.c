/* `xgemm ladder` */
#include "ladder.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "commands.h"
#include "device.h"
#include "operands.h"
#include "peers.h"
#include "report.h"
#include "timing.h"

enum { MOST = 16 };

struct ladder_options {
  int64_t sizes[MOST];
  int size_count;
  char types[MOST];
  int type_count;
  char trans[MOST][2];
  int trans_count;
  const char *rung, *json, *counters;
  int once, predict, help;
  struct xgb_effort effort;
};

/* ---------------------------------------------------------------- flags */

static int set_sizes(void *options, const char *value)
{
  struct ladder_options *o = options;
  char text[256], *parts[MOST];
  snprintf(text, sizeof text, "%s", value);
  int count = xgb_split(text, parts, MOST);
  for (int i = 0; i < count; i++)
    if (xgb_integer(parts[i], 1, 32768, &o->sizes[i])) count = -1;
  if (count < 1)
    return xgb_error("--sizes %s: numbers from 1 to 32768, separated by commas", value);
  o->size_count = count;
  return 0;
}

static int set_type(void *options, const char *value)
{
  static const struct {
    const char *name;
    char letter;
  } known[] = {{"f32", 's'}, {"f64", 'd'}, {"f16", 'h'}, {"bf16", 'b'}};
  struct ladder_options *o = options;
  char text[256], *parts[MOST];
  snprintf(text, sizeof text, "%s", value);
  int count = xgb_split(text, parts, MOST);
  for (int i = 0; i < count; i++) {
    o->types[i] = 0;
    for (size_t t = 0; t < sizeof known / sizeof *known; t++)
      if (strcmp(known[t].name, parts[i]) == 0) o->types[i] = known[t].letter;
    if (!o->types[i]) count = -1;
  }
  if (count < 1)
    return xgb_error("--type %s: a list, separated by commas, of f32 f64 f16 bf16", value);
  o->type_count = count;
  return 0;
}

static int set_trans(void *options, const char *value)
{
  struct ladder_options *o = options;
  char text[256], *parts[MOST];
  snprintf(text, sizeof text, "%s", value);
  int count = xgb_split(text, parts, MOST);
  for (int i = 0; i < count; i++) {
    if (strlen(parts[i]) != 2 || strspn(parts[i], "NT") != 2) count = -1;
    if (count > 0) memcpy(o->trans[i], parts[i], 2);
  }
  if (count < 1) return xgb_error("--trans %s: a list, separated by commas, of NN NT TN TT", value);
  o->trans_count = count;
  return 0;
}

static int set_rung(void *options, const char *value)
{
  ((struct ladder_options *)options)->rung = value;
  for (const struct xg_rung *rung = xg_ladder; rung->kernel; rung++)
    if (fnmatch(value, rung->number, 0) == 0) return 0;
  fprintf(stderr, "xgemm: --rung %s: no such rung; there are", value);
  for (const struct xg_rung *rung = xg_ladder; rung->kernel; rung++)
    fprintf(stderr, " %s (%s)", rung->number, rung->kernel);
  fputc('\n', stderr);
  return -1;
}

static int set_reps(void *options, const char *value)
{
  int64_t reps;
  if (xgb_integer(value, 1, 64, &reps))
    return xgb_error("--reps %s: a whole number from 1 to 64", value);
  ((struct ladder_options *)options)->effort.reps = (int)reps;
  return 0;
}

static int set_max_time(void *options, const char *value)
{
  double *out = &((struct ladder_options *)options)->effort.max_time;
  return xgb_real(value, 0.001, 1e6, out)
             ? xgb_error("--max-time %s: seconds, from 0.001 to 1000000", value)
             : 0;
}

static int set_once(void *options, const char *value)
{
  (void)value;
  ((struct ladder_options *)options)->once = 1;
  return 0;
}

static int set_predict(void *options, const char *value)
{
  (void)value;
  ((struct ladder_options *)options)->predict = 1;
  return 0;
}

static int set_counters(void *options, const char *value)
{
  ((struct ladder_options *)options)->counters = value;
  return 0;
}

static int set_json(void *options, const char *value)
{
  ((struct ladder_options *)options)->json = value;
  return 0;
}

static int set_help(void *options, const char *value)
{
  (void)value;
  ((struct ladder_options *)options)->help = 1;
  return 0;
}

static const struct xgb_flag flags[] = {
    {"--sizes", "256,1024", "m = n = k of the products (default 256,1024,4096)", set_sizes},
    {"--type", "f32,f64,f16,bf16", "element types (default all; 16-bit ones have a C of f32)",
     set_type},
    {"--trans", "NN,NT,TN,TT", "transposes (default NN)", set_trans},
    {"--rung", "PATTERN", "only rungs whose numbers match, as 5*", set_rung},
    {"--reps", "N", "samples each (default 7)", set_reps},
    {"--max-time", "S", "about at most S seconds of samples each (default 2)", set_max_time},
    {"--once", NULL, "launch and verify each rung once, no timing: for a profiler", set_once},
    {"--predict", NULL, "only what paper says; nothing is run", set_predict},
    {"--counters", "FILE", "what bench/ncu.sh counted for the same rungs, sizes and types",
     set_counters},
    {"--json", "FILE", "everything, with machine and versions", set_json},
    {"--help", NULL, "this text", set_help},
    {NULL, NULL, NULL, NULL}};

/* ---------------------------------------------------------------- products */

void xgb_ladder_list(struct xgb_ladder_row *row, const char *pattern, const char *why)
{
  row->count = 0;
  for (const struct xg_rung *rung = xg_ladder; rung->kernel; rung++) {
    if (rung->type != row->type || fnmatch(pattern, rung->number, 0) != 0 ||
        row->count == XGB_MOST_RUNGS)
      continue;
    struct xgb_rung_result *r = &row->rungs[row->count++];
    *r = (struct xgb_rung_result){.rung = rung, .status = XGB_UNSUPPORTED, .difference = -1};
    snprintf(r->reason, sizeof r->reason, "%s", why);
  }
  row->cublas.status = XGB_UNSUPPORTED;
  snprintf(row->cublas.reason, sizeof row->cublas.reason, "%s", why);
}

struct session {
  const struct ladder_options *o;
  struct xgb_counter_list counters;
  FILE *json;
  int rows, wrong, launches;
};

/* Those of the rungs that ran, in the order in which --once launches them. */
static void assign_counters(struct session *s, const struct xgb_ladder_row *row,
                            const struct xgb_counters **counted)
{
  for (int i = 0; i < row->count; i++) {
    counted[i] = NULL;
    if (row->rungs[i].status == XGB_UNSUPPORTED) continue;
    if (s->launches < s->counters.count) counted[i] = &s->counters.list[s->launches];
    s->launches++;
  }
}

static void fill_case(struct xgb_case *c, int64_t size, char type, const char *trans)
{
  *c = (struct xgb_case){.m = size, .n = size, .k = size, .batch = 1, .alpha = 1};
  snprintf(c->name, sizeof c->name, "%lld", (long long)size);
  c->type = type == 'd' ? XGEMM_F64 : XGEMM_F32;
  c->transa = trans[0], c->transb = trans[1];
  xgb_case_storage(c, 0);
}

static int one_product(struct session *s, int64_t size, char type, const char *trans)
{
  const struct xgb_counters *counted[XGB_MOST_RUNGS];
  struct xgb_ladder_row *row = calloc(1, sizeof *row);
  if (!row) return xgb_error("out of memory");
  row->type = type;
  fill_case(&row->c, size, type, trans);
  int bad = 0;
  if (s->o->predict)
    xgb_ladder_list(row, s->o->rung, "only predicted");
  else
    bad = xgb_ladder_run(row, s->o->rung, &s->o->effort);
  if (!bad) {
    assign_counters(s, row, counted);
    xgb_ladder_table(row, s->o->counters ? counted : NULL);
    if (s->json) xgb_ladder_json(s->json, row, s->o->counters ? counted : NULL, &s->rows);
    for (int i = 0; i < row->count; i++) s->wrong |= row->rungs[i].status == XGB_WRONG;
    s->wrong |= row->cublas.status == XGB_WRONG;
  }
  free(row);
  return bad;
}

static int all_products(struct session *s)
{
  const struct ladder_options *o = s->o;
  for (int type = 0; type < o->type_count; type++)
    for (int size = 0; size < o->size_count; size++)
      for (int trans = 0; trans < o->trans_count; trans++)
        if (one_product(s, o->sizes[size], o->types[type], o->trans[trans])) return -1;
  return 0;
}

static int open_json(struct session *s, struct xgb_head *head)
{
  static struct xgb_peer cublas;
  if (!s->o->json) return 0;
  s->json = fopen(s->o->json, "w");
  if (!s->json) {
    perror(s->o->json);
    return -1;
  }
  if (!s->o->predict && !s->o->once && xgb_peer_open(&cublas, "cublas?") == 0)
    head->peers = &cublas, head->peer_count = 1;
  xgb_json_begin(s->json, head);
  return 0;
}

static void defaults(struct ladder_options *o)
{
  static const int64_t sizes[] = {256, 1024, 4096};
  *o = (struct ladder_options){.size_count = 3, .type_count = 4, .trans_count = 1, .rung = "*"};
  memcpy(o->sizes, sizes, sizeof sizes);
  memcpy(o->types, "sdhb", 4);
  memcpy(o->trans[0], "NN", 2);
  o->effort = (struct xgb_effort){.reps = 7, .max_time = 2};
}

int xgb_ladder(int argc, char **argv)
{
  static struct ladder_options o;
  static struct session s;
  struct xgb_head head = {.argc = argc, .argv = argv};
  defaults(&o);
  if (xgb_parse("ladder", argc, argv, flags, &o, NULL)) return XGB_EXIT_USAGE;
  if (o.help) {
    puts("usage: xgemm ladder [flags]\n\nThe kernels of the ladder, one idea each: verified and "
         "timed on the card beside cuBLAS,\nwith the traffic that paper predicts and what holds "
         "them.\n\nflags:");
    xgb_print_flags(flags);
    return XGB_EXIT_GOOD;
  }
  s.o = &o;
  if (o.once) o.effort.reps = 0;
  if (o.counters && xgb_counters_read(&s.counters, o.counters)) return XGB_EXIT_USAGE;
  xgb_head_fill(&head, !o.predict);
  head.copy_rate = o.predict ? 0 : xgb_device_copy_rate();
  if (open_json(&s, &head)) return XGB_EXIT_USAGE;
  printf("libxgemm %s on %s%s%s\n", head.version, head.machine.cpu, head.machine.gpu[0] ? "; " : "",
         head.machine.gpu);
  xgb_catch_interrupt();
  int bad = all_products(&s);
  if (s.json && !bad) xgb_json_end(s.json, NULL, 0, NULL);
  if (s.json && bad) xgb_json_stop(s.json);
  if (s.json) fclose(s.json);
  if (s.wrong) fputs("xgemm: WRONG RESULTS, see above\n", stderr);
  if (xgb_interrupted) return XGB_EXIT_INTERRUPTED;
  return bad || s.wrong ? XGB_EXIT_FAILED : XGB_EXIT_GOOD;
}
