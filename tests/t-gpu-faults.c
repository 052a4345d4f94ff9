/* The GPU engine when CUDA fails: the n-th call for every n, memory that is short, a context that
 * was broken before, a fork, the caller's own error and current card. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "card.h"
#include "child.h"
#include "cm.h"

#include "../gpu/device.h"

static void fresh(struct product *x, const char *layout)
{
  product_make(x, XGEMM_F32, 90, 70, 50, layout, 3);
  x->p.alpha = 2, x->p.beta = -1;
}

/* Makes the n-th CUDA call of a product fail, n = 1, 2, ... until none is left to fail. */
static void each_call_fails(xgemm_problem *p, struct product *x, cudaError_t error, int host)
{
  xgemm_options o = card_options(NULL);
  for (long n = 1;; n++) {
    assert_true(n < 100);
    xg_cuda_fail_at(n, error);
    xgemm_status status = xgemm(p, &o);
    long calls = xg_cuda_calls();
    xg_cuda_fail_at(0, cudaSuccess);
    if (status == XGEMM_OK) {
      assert_true(calls < n); /* an injected failure never goes unnoticed */
      assert_true(n > 2);
      return;
    }
    assert_true(xgemm_last_reason()[0] != 0);
    assert_int_equal(status,
                     error == cudaErrorMemoryAllocation ? XGEMM_OUT_OF_MEMORY : XGEMM_DEVICE_ERROR);
    if (host) assert_true(product_is_untouched(x)); /* even the copy out is one call here */
    assert_int_equal(cudaPeekAtLastError(), cudaSuccess);
  }
}

static void the_nth_call_fails(void **state)
{
  (void)state;
  static const cudaError_t errors[] = {cudaErrorUnknown, cudaErrorMemoryAllocation};
  for (int e = 0; e < 2; e++)
    for (int lies = 0; lies < 3; lies++) {
      struct product x;
      fresh(&x, lies == 0 ? "RCR" : lies == 1 ? "gnr" : "rcg");
      product_expect(&x);
      each_call_fails(&x.p, &x, errors[e], 1);
      assert_true(product_is_right(&x, 1));
      product_rewind(&x);
      product_expect(&x);
      xgemm_problem q = card_put(&x, 1);
      each_call_fails(&q, &x, errors[e], 0);
      CARD_OK(cudaDeviceSynchronize());
      card_get(&x);
      assert_true(product_is_right(&x, 1));
      product_free(&x);
    }
}

/* 200 failing calls cost no device memory. */
static void failures_leak_nothing(void **state)
{
  (void)state;
  struct product x;
  size_t before, after, total;
  xgemm_options o = card_options(NULL);
  fresh(&x, "RCR");
  product_expect(&x);
  assert_int_equal(xgemm(&x.p, &o), XGEMM_OK);
  product_rewind(&x);
  assert_int_equal(xgemm_release_memory(), XGEMM_OK);
  CARD_OK(cudaMemGetInfo(&before, &total));
  for (int i = 0; i < 200; i++) {
    xg_cuda_fail_at(1 + i % 8, cudaErrorUnknown);
    if (xgemm(&x.p, &o) == XGEMM_OK) product_rewind(&x);
  }
  xg_cuda_fail_at(0, cudaSuccess);
  assert_int_equal(xgemm_release_memory(), XGEMM_OK);
  CARD_OK(cudaMemGetInfo(&after, &total));
  assert_true(after + (1 << 20) > before);
  product_free(&x);
}

/* GPU-18: little memory left on the card is a status, nothing is stuck afterwards. */
static void a_full_card(void **state)
{
  (void)state;
  struct product x;
  size_t left, total;
  void *filler;
  xgemm_options o = card_options(NULL);
  product_make(&x, XGEMM_F64, 3000, 3000, 4, "rcr", 5);
  product_expect(&x);
  assert_int_equal(xgemm_release_memory(), XGEMM_OK);
  CARD_OK(cudaMemGetInfo(&left, &total));
  CARD_OK(cudaMalloc(&filler, left - (50 << 20)));
  assert_int_equal(xgemm(&x.p, &o), XGEMM_OUT_OF_MEMORY);
  assert_true(product_is_untouched(&x));
  assert_int_equal(cudaPeekAtLastError(), cudaSuccess);
  struct product small;
  product_make(&small, XGEMM_F32, 100, 100, 100, "rcr", 6);
  card_staged_must_be_right(&small, NULL, 1); /* still fits */
  CARD_OK(cudaFree(filler));
  assert_int_equal(xgemm(&x.p, &o), XGEMM_OK);
  assert_true(product_is_right(&x, 1));
  product_free(&x), product_free(&small);
}

/* What the caller has not fetched is neither swallowed nor taken for ours. */
static void the_callers_own_error_stays(void **state)
{
  (void)state;
  struct product x;
  fresh(&x, "RCR");
  void *nothing = NULL;
  assert_int_equal(cudaMalloc(&nothing, (size_t)1 << 60), cudaErrorMemoryAllocation);
  card_staged_must_be_right(&x, NULL, 1);
  assert_int_equal(cudaGetLastError(), cudaErrorMemoryAllocation);
  assert_int_equal(cudaGetLastError(), cudaSuccess);
  product_free(&x);
}

/* GPU-15, first half; the second, with operands on two cards, if there are two. */
static void the_current_card_is_left(void **state)
{
  (void)state;
  int count, card;
  CARD_OK(cudaGetDeviceCount(&count));
  for (int i = 0; i < (count < 2 ? count : 2); i++)
    for (int current = 0; current<count; current += count> 1 ? count - 1 : 1) {
      struct product x;
      fresh(&x, "RCR");
      CARD_OK(cudaSetDevice(current));
      xgemm_options o = card_options(NULL);
      o.device = i + 1;
      product_must_be_right(&x, &o);
      CARD_OK(cudaGetDevice(&card));
      assert_int_equal(card, current);
      product_free(&x);
    }
  struct product x;
  xgemm_options o = card_options(NULL);
  fresh(&x, "RCR");
  o.device = count + 1;
  assert_int_not_equal(xgemm(&x.p, &o), XGEMM_OK);
  assert_non_null(strstr(xgemm_last_reason(), "there is no card"));
  product_free(&x);
}

static void where_pointers_are(void **state)
{
  (void)state;
  int device = 9, on_stack = 0;
  void *card, *pinned, *managed;
  CARD_OK(cudaMalloc(&card, 256));
  CARD_OK(cudaMallocHost(&pinned, 256));
  CARD_OK(cudaMallocManaged(&managed, 256, cudaMemAttachGlobal));
  assert_int_equal(xg_gpu_classify(&on_stack, &device), XGEMM_SPACE_HOST);
  assert_int_equal(device, -1);
  assert_int_equal(xg_gpu_classify(pinned, &device), XGEMM_SPACE_HOST);
  assert_int_equal(xg_gpu_classify((char *)card + 100, &device), XGEMM_SPACE_DEVICE);
  assert_int_equal(device, 0);
  assert_int_equal(xg_gpu_classify(managed, &device), XGEMM_SPACE_MANAGED);
  CARD_OK(cudaFree(card));
  CARD_OK(cudaFreeHost(pinned));
  CARD_OK(cudaFree(managed));
}

/* One operand here and one there is refused; so is device memory for the CPU. */
static void mixed_places_are_refused(void **state)
{
  (void)state;
  struct product x;
  fresh(&x, "rrr");
  product_expect(&x);
  xgemm_problem q = card_put(&x, 0);
  q.a.data = x.p.a.data;
  assert_int_equal(xgemm(&q, NULL), XGEMM_UNSUPPORTED);
  q = card_put(&x, 0);
  xgemm_options o = XGEMM_OPTIONS_INIT;
  o.backend = XGEMM_BACKEND_CPU;
  assert_int_equal(xgemm(&q, &o), XGEMM_UNSUPPORTED);
  product_free(&x);
}

/* GPU-19, in a process of its own: a fault that is not ours, then products. */
static int broken_context(void)
{
  enum { N = 64 };
  static float host[N * N];
  xgemm_problem p = XGEMM_PROBLEM_INIT;
  xgemm_options o = card_options(NULL);
  void *card;
  p.m = p.n = p.k = N;
  p.a = p.b = p.c = xgemm_row_major((void *)0x40, XGEMM_F32, N);
  p.c.data = (void *)0x40000;
  p.a.space = p.b.space = p.c.space = XGEMM_SPACE_DEVICE;
  if (cudaMalloc(&card, sizeof host)) return 2;
  if (xgemm(&p, &o)) return 3; /* only queued: it faults later */
  if (!cudaDeviceSynchronize()) return 4;
  p.a.data = card, p.b.data = card, p.c.data = (char *)card + 1024;
  if (xgemm(&p, &o) != XGEMM_DEVICE_ERROR) return 5;
  puts(xgemm_last_reason());
  p.a = p.b = xgemm_row_major(card, XGEMM_F32, N); /* places not told: found out, or refused */
  p.c = xgemm_row_major((char *)card + 1024, XGEMM_F32, N);
  if (xgemm(&p, NULL) != XGEMM_DEVICE_ERROR) return 6;
  puts(xgemm_last_reason());
  p.a = p.b = xgemm_row_major(host, XGEMM_F32, N);
  p.c = xgemm_row_major(malloc(sizeof host), XGEMM_F32, N);
  if (xgemm(&p, &o) != XGEMM_DEVICE_ERROR) return 7;
  puts(xgemm_last_reason());
  o.backend = XGEMM_BACKEND_CPU;
  return xgemm(&p, &o) ? 8 : 0;
}

static void a_context_broken_before(void **state)
{
  (void)state;
  struct child c;
  child_exec(&c, "broken-context", NULL, NULL, 60);
  if (c.exited) fprintf(stderr, "%d\n%s%s", c.exited, c.out, c.err);
  assert_int_equal(c.exited, 0);
  assert_int_equal(child_lines_with(c.out, "already broken before this call"), 3);
}

static int in_forked_child(void *argument)
{
  struct product *x = argument;
  xgemm_options o = card_options(NULL);
  if (xgemm(&x->p, &o) == XGEMM_OK) return 1;
  if (!strstr(xgemm_last_reason(), "forked")) return 2;
  o.backend = XGEMM_BACKEND_AUTO;
  return xgemm(&x->p, &o) == XGEMM_OK && product_is_right(x, 1) ? 0 : 3;
}

static void a_forked_child_uses_the_cpu(void **state)
{
  (void)state;
  struct product x;
  struct child c;
  fresh(&x, "RCR");
  product_expect(&x);
  child_fork(&c, in_forked_child, &x, 60);
  assert_int_equal(c.exited, 0);
  card_staged_must_be_right(&x, NULL, 1); /* and the parent the GPU */
  product_free(&x);
}

/* XGEMM_GPU_MEMORY and XGEMM_DEVICES, read once a process: children. */
static int capped(void)
{
  struct product x;
  xgemm_options o = card_options(NULL);
  product_make(&x, XGEMM_F32, 600, 600, 600, "rrr", 1);
  product_expect(&x);
  xgemm_status status = xgemm(&x.p, &o);
  puts(status == XGEMM_OK ? "done" : xgemm_last_reason());
  return status == XGEMM_OK || product_is_untouched(&x) ? 0 : 1;
}

static void limits_from_the_environment(void **state)
{
  (void)state;
  struct child c;
  const char *const small[] = {"XGEMM_GPU_MEMORY=4000000", NULL};
  const char *const enough[] = {"XGEMM_GPU_MEMORY=5000000", NULL};
  const char *const no_card[] = {"XGEMM_DEVICES=63", NULL};
  child_exec(&c, "capped", NULL, small, 60);
  assert_int_equal(c.exited, 0);
  assert_non_null(strstr(c.out, "XGEMM_GPU_MEMORY"));
  child_exec(&c, "capped", NULL, enough, 60);
  assert_int_equal(c.exited, 0);
  assert_non_null(strstr(c.out, "done"));
  child_exec(&c, "capped", NULL, no_card, 60);
  assert_int_equal(c.exited, 0);
  assert_non_null(strstr(c.out, "XGEMM_DEVICES"));
}

/* CUDA is not loaded by host products that do not pay for it. */
static int small_host_products(void)
{
  char line[512];
  int loaded = 0;
  struct product x;
  product_make(&x, XGEMM_F32, 100, 100, 100, "rrr", 1);
  product_expect(&x);
  if (xgemm(&x.p, NULL) || !product_is_right(&x, 1)) return 1;
  FILE *maps = fopen("/proc/self/maps", "r");
  while (maps && fgets(line, sizeof line, maps)) loaded |= strstr(line, "libcuda") != NULL;
  if (maps) fclose(maps);
  return loaded ? 2 : 0;
}

static void host_products_load_no_driver(void **state)
{
  (void)state;
  struct child c;
  child_exec(&c, "small", NULL, NULL, 60);
  assert_int_equal(c.exited, 0);
}

int main(int argc, char **argv)
{
  if (argc > 1 && !strcmp(argv[1], "broken-context")) return broken_context();
  if (argc > 1 && !strcmp(argv[1], "capped")) return capped();
  if (argc > 1 && !strcmp(argv[1], "small")) return small_host_products();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(host_products_load_no_driver), cmocka_unit_test(the_nth_call_fails),
      cmocka_unit_test(failures_leak_nothing),        cmocka_unit_test(a_full_card),
      cmocka_unit_test(the_callers_own_error_stays),  cmocka_unit_test(the_current_card_is_left),
      cmocka_unit_test(where_pointers_are),           cmocka_unit_test(mixed_places_are_refused),
      cmocka_unit_test(a_forked_child_uses_the_cpu),  cmocka_unit_test(limits_from_the_environment),
      cmocka_unit_test(a_context_broken_before),
  };
  int missing = card_missing();
  return missing ? missing : cmocka_run_group_tests(tests, NULL, NULL);
}
