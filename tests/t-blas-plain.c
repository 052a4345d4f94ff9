/* The BLAS names in a program without error handlers: a bad call says one line on stderr that names
 * the routine and the parameter as the caller counts, returns, and leaves C alone. */
#include <stdio.h>
#include <string.h>

#include "blas_names.h"
#include "child.h"
#include "cm.h"

enum { ROW = 101, COL = 102, N = 111 };

struct mistake {
  const struct blas_name *name;
  struct blas_call call;
  int position; /* counted in the call the user wrote */
};

static int make_it(void *argument)
{
  const struct mistake *x = argument;
  double operand[64], c[64];
  struct blas_call g = x->call;
  memset(operand, 0, sizeof operand);
  for (int i = 0; i < 64; i++) c[i] = 5;
  g.a = operand, g.b = operand, g.c = c, g.alpha = 1, g.beta = 0;
  x->name->call(&g);
  for (int i = 0; i < 64; i++)
    if (!(c[i] == 5)) return 2;
  printf("returned\n");
  return 0;
}

static void says_so(struct mistake x)
{
  struct child c;
  char number[16];
  snprintf(number, sizeof number, " %d ", x.position);
  child_fork(&c, make_it, &x, 20);
  if (child_lines(c.err) != 1 || !strstr(c.err, number))
    fprintf(stderr, "%s: said \"%s\", expected parameter%s\n", x.name->name, c.err, number);
  assert_int_equal(c.exited, 0);
  assert_string_equal(c.out, "returned\n"); /* nothing of the library's on stdout */
  assert_int_equal(child_lines(c.err), 1);
  assert_non_null(strstr(c.err, x.name->reports));
  assert_non_null(strstr(c.err, number));
}

static void one_line_with_the_callers_number(void **state)
{
  (void)state;
  for (int i = 0; i < BLAS_NAMES; i++)
    for (int layout = ROW; layout <= COL; layout++) {
      const struct blas_name *f = &blas_names[i];
      int row = layout == ROW, shift = f->fortran ? 0 : 1;
      if (f->fortran && row) continue;
      struct blas_call g = {layout,
                            f->fortran ? 'N' : N,
                            f->fortran ? 'N' : N,
                            2,
                            3,
                            4,
                            row ? 4 : 2,
                            row ? 3 : 4,
                            row ? 3 : 2,
                            1,
                            0,
                            NULL,
                            NULL,
                            NULL};
      struct blas_call bad;
      bad = g, bad.transa = 'x', says_so((struct mistake){f, bad, 1 + shift});
      bad = g, bad.m = -1, says_so((struct mistake){f, bad, 3 + shift});
      bad = g, bad.n = -1, says_so((struct mistake){f, bad, 4 + shift});
      bad = g, bad.lda = 1, says_so((struct mistake){f, bad, 8 + shift});
      bad = g, bad.ldb = 1, says_so((struct mistake){f, bad, 10 + shift});
      bad = g, bad.ldc = 1, says_so((struct mistake){f, bad, 13 + shift});
    }
}

static int calls_that_are_fine(void *argument)
{
  (void)argument;
  double a[4] = {1, 2, 3, 4}, c[4] = {0, 0, 0, 0};
  for (int i = 0; i < BLAS_NAMES; i++) {
    const struct blas_name *f = &blas_names[i];
    struct blas_call g = {
        COL, f->fortran ? 't' : N, f->fortran ? 'C' : N, 1, 1, 1, 1, 1, 1, 1, 0, a, a, c};
    f->call(&g);
  }
  return 0;
}

static void good_calls_say_nothing(void **state)
{
  (void)state;
  struct child c;
  child_fork(&c, calls_that_are_fine, NULL, 20);
  assert_int_equal(c.exited, 0);
  assert_string_equal(c.err, "");
  assert_string_equal(c.out, "");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_line_with_the_callers_number),
      cmocka_unit_test(good_calls_say_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
