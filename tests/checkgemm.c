/* checkgemm: arguments, tiers, the list of kernels. What it checks stands in checkgemm.h. */
#include "checkgemm.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: checkgemm [-k kernel-glob] [-p problem] [-s seed] [-b] [-v] [--list] [--quick | "
    "--big]\n"
    "                 [--layer NAME] [--backend NAME] [--selftest] [--help]\n";

static const char help[] =
    "  -k GLOB         only kernels (in layer blas: names) that match\n"
    "  -p KEY=VALUE,.. one case; layer=ukr|pack|loops|blas and the keys that a failure prints\n"
    "  -s SEED         seed of all data and drawn cases (default 1)\n"
    "  -b              time each micro-kernel after checking it\n"
    "  -v              more lines\n"
    "  --list          the kernels and whether they run on this machine\n"
    "  --quick         a sample of the cases, in some seconds\n"
    "  --big           sizes beyond 2^31 elements and long shapes instead\n"
    "  --layer NAME    ukr, pack, loops or blas alone\n"
    "  --backend NAME  cpu, gpu or ref alone, in layer loops\n"
    "  --selftest      run kernels that are broken on purpose; each must be reported\n"
    "exit status: 0 all right, 1 something failed, 2 bad arguments, 77 nothing could run\n";

static void list_kernels(void)
{
  printf("%-4s %-28s %-8s %-8s %-4s %-9s %s\n", "", "kernel", "family", "kind", "type", "tile",
         "runs here");
  for (const struct xg_backend *const *b = xg_backends; *b; b++)
    for (int i = 0; i < (*b)->kernel_count(); i++) {
      struct xg_kernel_info info = (*b)->kernel_info(i);
      const char *kind = "tile";
      for (const struct xg_ukr *const *u = xg_ukr_table; *u; u++)
        if (strcmp((*u)->name, info.name) == 0)
          kind = (*u)->kind == XG_UKR_PANEL     ? ((*u)->flags & XG_UKR_MASKED ? "masked" : "panel")
                 : (*u)->kind == XG_UKR_INPLACE ? "inplace"
                 : (*u)->kind == XG_UKR_STREAM  ? "stream"
                                                : "pack";
      char tile[24];
      snprintf(tile, sizeof tile, "%dx%d", info.mr, info.nr);
      printf("%-4s %-28s %-8s %-8s %-4c %-9s %s\n", (*b)->name, info.name, info.family, kind,
             xg_letter(info.type), tile, info.reason ? info.reason : "yes");
    }
}

struct arguments {
  struct check check;
  int list, bench, selftest;
};

static const char *value_of(int argc, char **argv, int *i)
{
  if (*i + 1 < argc) return argv[++*i];
  fprintf(stderr, "checkgemm: %s needs a value\n%s", argv[*i], usage);
  exit(2);
}

static void need_one_of(const char *option, const char *value, const char *const *accepted)
{
  for (const char *const *a = accepted; *a; a++)
    if (strcmp(*a, value) == 0) return;
  fprintf(stderr, "checkgemm: %s '%s' is none of:", option, value);
  for (const char *const *a = accepted; *a; a++) fprintf(stderr, " %s", *a);
  fprintf(stderr, "\n");
  exit(2);
}

static uint64_t parse_seed(const char *text)
{
  char *end;
  uint64_t seed = strtoull(text, &end, 0);
  if (end == text || *end) {
    fprintf(stderr, "checkgemm: -s: '%s' is not a number\n", text);
    exit(2);
  }
  return seed;
}

static void parse(int argc, char **argv, struct arguments *a)
{
  static const char *const layers[] = {"ukr", "pack", "loops", "blas", NULL};
  static const char *const backends[] = {"gpu", "cpu", "ref", NULL};
  struct check *k = &a->check;
  for (int i = 1; i < argc; i++) {
    const char *o = argv[i];
    if (strcmp(o, "-k") == 0)
      k->kernel = value_of(argc, argv, &i);
    else if (strcmp(o, "-p") == 0)
      k->problem = value_of(argc, argv, &i);
    else if (strcmp(o, "-s") == 0)
      k->seed = parse_seed(value_of(argc, argv, &i));
    else if (strcmp(o, "--layer") == 0)
      need_one_of(o, k->layers = value_of(argc, argv, &i), layers);
    else if (strcmp(o, "--backend") == 0)
      need_one_of(o, k->backend = value_of(argc, argv, &i), backends);
    else if (strcmp(o, "-b") == 0)
      a->bench = 1;
    else if (strcmp(o, "-v") == 0)
      k->verbose = 1;
    else if (strcmp(o, "--list") == 0)
      a->list = 1;
    else if (strcmp(o, "--quick") == 0)
      k->tier = CHECK_QUICK;
    else if (strcmp(o, "--big") == 0)
      k->tier = CHECK_BIG;
    else if (strcmp(o, "--selftest") == 0)
      a->selftest = 1;
    else if (strcmp(o, "--help") == 0 || strcmp(o, "-h") == 0) {
      printf("%s%s", usage, help);
      exit(0);
    } else {
      fprintf(stderr, "checkgemm: unknown argument '%s'\n%s", o, usage);
      exit(2);
    }
  }
  if (k->problem) {
    const char *at = strstr(k->problem, "layer=");
    int known = 0;
    for (int l = 0; layers[l] && at; l++)
      known |= strncmp(at + 6, layers[l], strlen(layers[l])) == 0;
    if (!known) {
      fprintf(stderr, "checkgemm: -p: begin with layer=ukr, pack, loops or blas\n");
      exit(2);
    }
  }
}

int main(int argc, char **argv)
{
  struct arguments a = {.check = {.program = argv[0], .seed = 1, .tier = CHECK_FULL}};
  struct check *k = &a.check;
  parse(argc, argv, &a);
  if (a.list) {
    list_kernels();
    return 0;
  }
  printf("checkgemm: seed %" PRIu64 "\n", k->seed);
  if (hostile_slack())
    printf("checkgemm: masked loads fault where they must not (an emulator?): reads up to %zu "
           "bytes past "
           "an operand are not found\n",
           hostile_slack());
  hostile_last_words("checkgemm (a thread of the library, or outside a case)");
  if (a.selftest && hostile_slack()) return 77;
  if (a.selftest) return check_selftest(k) ? 1 : 0;
  if (k->tier == CHECK_BIG) {
    check_big(k);
  } else {
    if (check_wants(k, "pack")) check_pack(k);
    if (check_wants(k, "ukr")) check_ukr(k);
    if (a.bench && k->failures == 0) check_bench(k);
    if (!a.bench && check_wants(k, "loops")) check_loops(k);
    if (!a.bench && check_wants(k, "loops")) check_thin(k);
    if (!a.bench && check_wants(k, "loops")) check_strip(k);
    if (!a.bench && check_wants(k, "blas")) check_blas(k);
  }
  printf("checkgemm: %ld cases, %ld failures, %ld skipped\n", k->cases, k->failures, k->skips);
  if (k->cases == 0 && k->failures == 0) {
    printf("checkgemm: nothing ran\n");
    return 77;
  }
  return k->failures ? 1 : 0;
}
