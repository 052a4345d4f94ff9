/* Memory that punishes: buffers between two pages that cannot be touched, read-only operands, and a
 * known pattern in every byte that nobody may write. Test programs only; no framework needed. */
#ifndef HOSTILE_H
#define HOSTILE_H

#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>

/* The pattern: a quiet NaN as f32 and, twice, as f64. What is read where nothing may be read shows
 * up as a NaN in the result, what is written there as a changed word. */
#define HOSTILE_PATTERN 0xFFFDA5A5u

/* Which of the two forbidden pages the data touches. */
enum hostile_side { HOSTILE_END, HOSTILE_START };

struct hostile {
  unsigned char *data; /* the bytes to use, as placed last */
  size_t bytes;
  unsigned char *room; /* all that can be accessed: whole pages between the two forbidden ones */
  size_t capacity;
  int readonly;
};

/* Room for at least `capacity` bytes. 0, or -1 with errno. */
int hostile_open(struct hostile *h, size_t capacity);
void hostile_close(struct hostile *h);

/* Puts `bytes` (<= capacity) against one end of the room and fills the whole room with the pattern.
 * At the end the start is rounded down to `align` (a power of two), so data and forbidden page
 * touch exactly when bytes is a multiple of align. With bytes = 0, data is the forbidden page
 * itself. Returns data. Makes the room writable. */
void *hostile_place(struct hostile *h, size_t bytes, size_t align, enum hostile_side side);

void hostile_readonly(struct hostile *h);
void hostile_writable(struct hostile *h);

/* Some emulators fault on lanes that a masked load leaves out, where a CPU must not. There data
 * keep this many bytes (64) away from the forbidden page at the end, and reads that go past it by
 * less are not found; 0 on any CPU. */
size_t hostile_slack(void);

/* 1 if the pattern outside [data, data+bytes) is whole. */
int hostile_intact(const struct hostile *h);

/* open and place in one: exits with a message if there is no memory. */
void hostile_alloc(struct hostile *h, size_t bytes, size_t align, enum hostile_side side);

/* ---------------------------------------------------------------- matrices */

/* Element (i,j) at at + i*rs + j*cs in elements of es bytes; strides of any sign, or 0. */
struct hostile_matrix {
  struct hostile mem;
  void *at;
  int64_t rows, cols, rs, cs;
  size_t es;
};

/* Elements between the lowest and the highest address, both included; 0 for an empty matrix. */
int64_t hostile_span(int64_t rows, int64_t cols, int64_t rs, int64_t cs);

/* In fresh memory. */
void hostile_matrix_alloc(struct hostile_matrix *x, int64_t rows, int64_t cols, int64_t rs,
                          int64_t cs, size_t es, enum hostile_side side);
/* In memory opened before: the matrix's span, aligned to its elements, everything else the pattern.
 */
void hostile_matrix_place(struct hostile_matrix *x, int64_t rows, int64_t cols, int64_t rs,
                          int64_t cs, size_t es, enum hostile_side side);
void hostile_matrix_free(struct hostile_matrix *x);

/* 1 if everything but the elements still holds the pattern: between them, before and after. */
int hostile_matrix_gaps_intact(const struct hostile_matrix *x);

/* ---------------------------------------------------------------- faults */

struct hostile_fault {
  int signal; /* 0: none */
  void *address;
};

/* Calls f(argument); a SIGSEGV, SIGBUS, SIGILL or SIGFPE on this thread ends the call and is
 * described in *fault. Floating-point control is put back then. Returns the signal, or 0. */
int hostile_catch(void (*f)(void *), void *argument, struct hostile_fault *fault);

/* Says once on stderr what was running when a fault comes that nobody catches (another thread,
 * say). The text must live on; NULL: nothing. */
void hostile_last_words(const char *text);

#endif
