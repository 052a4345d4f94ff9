#include "env.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <unistd.h>

static struct xg_env env;
static pthread_once_t once = PTHREAD_ONCE_INIT;

const struct xg_env_entry xg_env_table[] = {
    {"XGEMM_BACKEND", "auto|cpu|gpu|ref", "engine for calls that do not name one"},
    {"XGEMM_NUM_THREADS", "1 .. 65536", "CPU threads of a call; default: what the machine allows"},
    {"XGEMM_CPU", "base|avx2|avx512", "highest instruction set to use"},
    {"XGEMM_KERNEL", "a name that xgemm info lists", "kernel for calls that do not name one"},
    {"XGEMM_DEVICES", "card numbers, as 0,1", "GPUs that may be used"},
    {"XGEMM_GPU_MEMORY", "bytes, with K M G or T", "device memory that may be used"},
    {"XGEMM_DETERMINISTIC", "0|1", "1: the engine does not depend on what ran before"},
    {"XGEMM_VERBOSE", "0|1|2", "1: a line for each product; 2: why each engine was not taken"},
    {"XGEMM_LOG_FILE", "a path, %i is the process id", "where verbose lines go; default: stderr"},
    {NULL, NULL, NULL},
};

void xg_env_complain(const char *name)
{
  const struct xg_env_entry *entry = xg_env_table;
  while (strcmp(entry->name, name) != 0) entry++;
  char line[512];
  int length = snprintf(line, sizeof line, "xgemm: %s=%.200s is not one of: %s; default used\n",
                        name, getenv(name), entry->accepted);
  if (write(STDERR_FILENO, line, (size_t)length) < 0) { /* nowhere left to say so */
  }
}

/* ---- one reader per form of value; 1: understood ---- */

/* Index of `text` among the words of `accepted`, separated by '|'; -1: none of them. */
static int word_index(const char *text, const char *accepted)
{
  size_t length = strlen(text);
  for (int i = 0;; i++) {
    size_t word = strcspn(accepted, "|");
    if (word == length && strncmp(text, accepted, word) == 0) return i;
    if (accepted[word] == 0) return -1;
    accepted += word + 1;
  }
}

static int read_count(const char *text, long lowest, long highest, long *out, char **end)
{
  errno = 0;
  if (*text < '0' || *text > '9') return 0;
  *out = strtol(text, end, 10);
  return errno == 0 && *out >= lowest && *out <= highest;
}

static int read_bytes(const char *text, uint64_t *out)
{
  static const char suffixes[] = "KMGT";
  char *end;
  long count;
  if (!read_count(text, 0, __LONG_MAX__, &count, &end)) return 0;
  int shift = 0;
  if (*end) {
    const char *s = strchr(suffixes, *end >= 'a' ? *end - 32 : *end);
    if (!s || end[1]) return 0;
    shift = 10 * (int)(s - suffixes + 1);
  }
  *out = (uint64_t)count << shift;
  return *out >> shift == (uint64_t)count;
}

static int read_devices(const char *text)
{
  int count = 0, cards[XG_MAX_DEVICES];
  for (;;) {
    char *end;
    long card;
    if (count == XG_MAX_DEVICES || !read_count(text, 0, 1023, &card, &end)) return 0;
    cards[count++] = (int)card;
    if (*end == 0) break;
    if (*end != ',') return 0;
    text = end + 1;
  }
  memcpy(env.devices, cards, sizeof cards);
  env.device_count = count;
  return 1;
}

static int read_word(const char *text, const char *accepted, int *out)
{
  int index = word_index(text, accepted);
  if (index >= 0) *out = index;
  return index >= 0;
}

static int read_variable(const struct xg_env_entry *entry, const char *text)
{
  const char *name = entry->name + strlen("XGEMM_");
  int word;
  long count;
  char *end;
  if (strcmp(name, "BACKEND") == 0) {
    if (!read_word(text, entry->accepted, &word)) return 0;
    env.backend = (xgemm_backend)word; /* the words stand in the order of the enum */
    return 1;
  }
  if (strcmp(name, "NUM_THREADS") == 0) {
    if (!read_count(text, 1, 65536, &count, &end) || *end) return 0;
    env.threads = (int)count;
    return 1;
  }
  if (strcmp(name, "CPU") == 0) {
    if (!read_word(text, entry->accepted, &word)) return 0;
    env.cpu = text;
    return 1;
  }
  if (strcmp(name, "KERNEL") == 0) {
    if (*text) env.kernel = text; /* checked against the registry by the router */
    return *text != 0;
  }
  if (strcmp(name, "DEVICES") == 0) return read_devices(text);
  if (strcmp(name, "GPU_MEMORY") == 0) return read_bytes(text, &env.gpu_memory);
  if (strcmp(name, "DETERMINISTIC") == 0)
    return read_word(text, entry->accepted, &env.deterministic);
  if (strcmp(name, "VERBOSE") == 0) return read_word(text, entry->accepted, &env.verbose);
  if (*text) env.log_file = text; /* LOG_FILE */
  return *text != 0;
}

static void read_all(void)
{
  for (const struct xg_env_entry *entry = xg_env_table; entry->name; entry++) {
    const char *text = getenv(entry->name);
    if (!text) continue;
    text = strdup(text); /* a later setenv must not move it under us */
    const int understood = text && read_variable(entry, text);
    if (understood && (env.cpu == text || env.kernel == text || env.log_file == text)) continue;
    free((void *)text);
    if (understood) continue;
    env.problems++;
    xg_env_complain(entry->name);
  }
}

const struct xg_env *xg_env(void)
{
  pthread_once(&once, read_all);
  return &env;
}

const char *xg_env_value(const char *name)
{
  return getenv(name);
}
