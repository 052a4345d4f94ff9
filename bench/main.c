/* xgemm - looks at, times and checks libxgemm on this machine. */
#include <stdio.h>
#include <string.h>

#include "../common/plan.h"
#include "args.h"
#include "commands.h"
#include "machine.h"

static const struct {
  const char *name;
  int (*run)(int argc, char **argv);
  const char *help; /* NULL: not for people */
} commands[] = {
    {"info", xgb_info, "the machine, what each engine can do here, the kernels"},
    {"bench", xgb_bench, "verify and time products, beside other libraries"},
    {"latency", xgb_latency, "nanoseconds of a small call, and of the first call of a process"},
    {"goals", xgb_goals, "performance goals: check result files, or measure here"},
    {"model", xgb_model, "what the CPU kernels should reach, and what they do"},
    {"ladder", xgb_ladder, "the GPU kernels of the ladder beside cuBLAS and what paper predicts"},
    {"first-call", xgb_first_call, NULL},
};

enum { COMMANDS = sizeof commands / sizeof *commands };

static void usage(FILE *out)
{
  fputs("usage: xgemm COMMAND [flags]\n\n", out);
  for (int i = 0; i < COMMANDS; i++)
    if (commands[i].help) fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].help);
  fputs("\n  xgemm COMMAND --help   its flags\n  xgemm --version\n", out);
}

int main(int argc, char **argv)
{
  if (argc < 2) {
    usage(stderr);
    return XGB_EXIT_USAGE;
  }
  if (strcmp(argv[1], "--version") == 0) {
    char version[32];
    xgb_version(version, sizeof version);
    printf("xgemm %s\n", version);
    return XGB_EXIT_GOOD;
  }
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
    usage(stdout);
    return XGB_EXIT_GOOD;
  }
  for (int i = 0; i < COMMANDS; i++) {
    if (strcmp(argv[1], commands[i].name) != 0) continue;
    /* The first call is timed from here: it reads the environment itself. */
    if (commands[i].help && xg_environment_problems() > 0) return XGB_EXIT_USAGE;
    return commands[i].run(argc - 1, argv + 1);
  }
  fprintf(stderr, "xgemm: unknown command \"%s\"; accepted:", argv[1]);
  for (int i = 0; i < COMMANDS; i++)
    if (commands[i].help) fprintf(stderr, " %s", commands[i].name);
  fputs(" --version --help\n", stderr);
  return XGB_EXIT_USAGE;
}
