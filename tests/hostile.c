#include "hostile.h"

#include <errno.h>
#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t page_size(void)
{
  static size_t size;
  if (!size) size = (size_t)sysconf(_SC_PAGESIZE);
  return size;
}

static size_t slack; /* what hostile_slack() found; 0 while it looks */

int hostile_open(struct hostile *h, size_t capacity)
{
  size_t page = page_size();
  size_t room = (capacity + hostile_slack() + page - 1) / page * page;
  if (room < page) room = page;
  unsigned char *map = mmap(NULL, room + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(h, 0, sizeof *h);
  if (map == MAP_FAILED) return -1;
  if (mprotect(map + page, room, PROT_READ | PROT_WRITE) != 0) {
    int error = errno;
    munmap(map, room + 2 * page);
    errno = error;
    return -1;
  }
  h->room = map + page;
  h->capacity = room;
  h->data = h->room;
  return 0;
}

void hostile_close(struct hostile *h)
{
  if (h->room) munmap(h->room - page_size(), h->capacity + 2 * page_size());
  memset(h, 0, sizeof *h);
}

static void protect(struct hostile *h, int readonly)
{
  if (h->readonly == readonly) return;
  if (mprotect(h->room, h->capacity, readonly ? PROT_READ : PROT_READ | PROT_WRITE) != 0) {
    perror("hostile: mprotect");
    exit(99);
  }
  h->readonly = readonly;
}

void hostile_readonly(struct hostile *h)
{
  protect(h, 1);
}

void hostile_writable(struct hostile *h)
{
  protect(h, 0);
}

void *hostile_place(struct hostile *h, size_t bytes, size_t align, enum hostile_side side)
{
  size_t end = h->capacity - slack;
  if (bytes > end || (align & (align - 1)) != 0) {
    fprintf(stderr, "hostile_place: %zu bytes do not fit %zu\n", bytes, h->capacity);
    exit(99);
  }
  hostile_writable(h);
  uint32_t *word = (uint32_t *)(void *)h->room;
  for (size_t i = 0; i < h->capacity / 4; i++) word[i] = HOSTILE_PATTERN;
  size_t offset = side == HOSTILE_START ? 0 : (end - bytes) & ~(align - 1);
  h->data = h->room + offset;
  h->bytes = bytes;
  return h->data;
}

/* The pattern byte at any address of the room (the room starts at a page, so phase is the address).
 */
static unsigned char pattern_byte(size_t offset)
{
  uint32_t word = HOSTILE_PATTERN;
  unsigned char bytes[4];
  memcpy(bytes, &word, 4);
  return bytes[offset & 3];
}

static int pattern_whole(const struct hostile *h, size_t from, size_t to)
{
  for (; from < to && (from & 3); from++)
    if (h->room[from] != pattern_byte(from)) return 0;
  for (; from + 4 <= to; from += 4) {
    uint32_t word;
    memcpy(&word, h->room + from, 4);
    if (word != HOSTILE_PATTERN) return 0;
  }
  for (; from < to; from++)
    if (h->room[from] != pattern_byte(from)) return 0;
  return 1;
}

int hostile_intact(const struct hostile *h)
{
  size_t start = (size_t)(h->data - h->room);
  return pattern_whole(h, 0, start) && pattern_whole(h, start + h->bytes, h->capacity);
}

void hostile_alloc(struct hostile *h, size_t bytes, size_t align, enum hostile_side side)
{
  if (hostile_open(h, bytes + align) != 0) {
    perror("hostile_alloc");
    exit(99);
  }
  hostile_place(h, bytes, align, side);
}

/* ---------------------------------------------------------------- masked loads */

#if defined(__x86_64__)

/* One lane of eight, the last before a forbidden page. */
__attribute__((target("avx2"))) static void load_one_lane(void *last)
{
  __asm__ volatile("vpcmpeqd %%xmm1, %%xmm1, %%xmm1\n\t"
                   "vpsrldq $12, %%xmm1, %%xmm1\n\t"
                   "vmaskmovps (%0), %%ymm1, %%ymm0\n\t"
                   "vzeroupper"
                   :
                   : "r"(last)
                   : "xmm0", "xmm1", "memory");
}

static size_t look_for_slack(void)
{
  struct hostile h;
  struct hostile_fault fault;
  if (!__builtin_cpu_supports("avx2") || hostile_open(&h, 4) != 0) return 0;
  int found = hostile_catch(load_one_lane, hostile_place(&h, 4, 4, HOSTILE_END), &fault);
  hostile_close(&h);
  return found ? 64 : 0;
}

#else

static size_t look_for_slack(void)
{
  return 0;
}

#endif

size_t hostile_slack(void)
{
  static int looked;
  if (!looked) {
    looked = 1;
    slack = look_for_slack();
  }
  return slack;
}

/* ---------------------------------------------------------------- matrices */

int64_t hostile_span(int64_t rows, int64_t cols, int64_t rs, int64_t cs)
{
  if (rows <= 0 || cols <= 0) return 0;
  return (rows - 1) * (rs < 0 ? -rs : rs) + (cols - 1) * (cs < 0 ? -cs : cs) + 1;
}

/* How far element (0,0) lies above the lowest address. */
static int64_t lowest_to_origin(int64_t rows, int64_t cols, int64_t rs, int64_t cs)
{
  if (rows <= 0 || cols <= 0) return 0;
  return (rs < 0 ? (rows - 1) * -rs : 0) + (cs < 0 ? (cols - 1) * -cs : 0);
}

void hostile_matrix_place(struct hostile_matrix *x, int64_t rows, int64_t cols, int64_t rs,
                          int64_t cs, size_t es, enum hostile_side side)
{
  size_t bytes = (size_t)hostile_span(rows, cols, rs, cs) * es;
  unsigned char *low = hostile_place(&x->mem, bytes, es, side);
  x->at = low + (size_t)lowest_to_origin(rows, cols, rs, cs) * es;
  x->rows = rows, x->cols = cols, x->rs = rs, x->cs = cs, x->es = es;
}

void hostile_matrix_alloc(struct hostile_matrix *x, int64_t rows, int64_t cols, int64_t rs,
                          int64_t cs, size_t es, enum hostile_side side)
{
  if (hostile_open(&x->mem, (size_t)hostile_span(rows, cols, rs, cs) * es) != 0) {
    perror("hostile_matrix_alloc");
    exit(99);
  }
  hostile_matrix_place(x, rows, cols, rs, cs, es, side);
}

void hostile_matrix_free(struct hostile_matrix *x)
{
  hostile_close(&x->mem);
}

int hostile_matrix_gaps_intact(const struct hostile_matrix *x)
{
  const struct hostile *h = &x->mem;
  if (!hostile_intact(h)) return 0;
  size_t span = (size_t)hostile_span(x->rows, x->cols, x->rs, x->cs);
  if (span == 0 || (uint64_t)span == (uint64_t)x->rows * (uint64_t)x->cols) return 1;
  unsigned char *element = calloc(span, 1);
  if (!element) {
    perror("hostile_matrix_gaps_intact");
    exit(99);
  }
  int64_t origin = lowest_to_origin(x->rows, x->cols, x->rs, x->cs);
  for (int64_t i = 0; i < x->rows; i++)
    for (int64_t j = 0; j < x->cols; j++) element[origin + i * x->rs + j * x->cs] = 1;
  size_t start = (size_t)(h->data - h->room);
  int whole = 1;
  for (size_t e = 0; e < span && whole; e++)
    if (!element[e]) whole = pattern_whole(h, start + e * x->es, start + (e + 1) * x->es);
  free(element);
  return whole;
}

/* ---------------------------------------------------------------- faults */

static const int fault_signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};
enum { FAULT_SIGNALS = sizeof fault_signals / sizeof *fault_signals };

static _Thread_local sigjmp_buf landing;
static _Thread_local volatile sig_atomic_t armed;
static _Thread_local struct hostile_fault *volatile caught;
static const char *volatile last_words;

static void say(const char *text)
{
  if (write(STDERR_FILENO, text, strlen(text)) < 0) return;
}

static void on_fault(int signal_number, siginfo_t *info, void *context)
{
  (void)context;
  if (armed) {
    armed = 0;
    caught->signal = signal_number;
    caught->address = info->si_addr;
    siglongjmp(landing, 1);
  }
  if (last_words) {
    say("\nfault that nobody caught, while running: ");
    say(last_words);
    say("\n");
    last_words = NULL;
  }
  signal(signal_number, SIG_DFL); /* returning runs the instruction again, now fatal */
}

static void install(void)
{
  static int done;
  if (done) return;
  done = 1;
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  for (int i = 0; i < FAULT_SIGNALS; i++) sigaction(fault_signals[i], &action, NULL);
}

void hostile_last_words(const char *text)
{
  install();
  last_words = text;
}

int hostile_catch(void (*f)(void *), void *argument, struct hostile_fault *fault)
{
  fenv_t environment;
  install();
  fault->signal = 0;
  fault->address = NULL;
  caught = fault;
  fegetenv(&environment);
  if (sigsetjmp(landing, 1) == 0) {
    armed = 1;
    f(argument);
    armed = 0;
  } else {
    fesetenv(&environment);
  }
  return fault->signal;
}
