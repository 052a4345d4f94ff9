/* The subcommands of `xgemm`: each takes its own argv (argv[0] is its name) and returns the exit
 * code. */
#ifndef XGB_COMMANDS_H
#define XGB_COMMANDS_H

int xgb_info(int argc, char **argv);
int xgb_bench(int argc, char **argv);
int xgb_latency(int argc, char **argv);
int xgb_goals(int argc, char **argv);
int xgb_model(int argc, char **argv);
int xgb_ladder(int argc, char **argv);

/* Run by `xgemm latency` in a fresh process: prints the nanoseconds of the first small product. */
int xgb_first_call(int argc, char **argv);

#endif
