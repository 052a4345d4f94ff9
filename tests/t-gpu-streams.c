/* The GPU engine on the caller's streams: nothing waits, order is the stream's, graphs capture it.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "card.h"
#include "cm.h"

/* A square product with integers on the card, and what is right. */
struct square {
  int n;
  float *a, *b, *c;
  float *host, *right; /* n*n each; host: pinned */
};

static void square_make(struct square *s, int n)
{
  size_t bytes = (size_t)n * n * sizeof(float);
  s->n = n;
  CARD_OK(cudaMalloc((void **)&s->a, bytes));
  CARD_OK(cudaMalloc((void **)&s->b, bytes));
  CARD_OK(cudaMalloc((void **)&s->c, bytes));
  CARD_OK(cudaMallocHost((void **)&s->host, bytes));
  s->right = malloc(bytes);
  assert_non_null(s->right);
  for (int i = 0; i < n * n; i++) s->host[i] = (float)(i * 7 % 5 - 2);
  CARD_OK(cudaMemcpy(s->a, s->host, bytes, cudaMemcpyHostToDevice));
  CARD_OK(cudaMemcpy(s->b, s->host, bytes, cudaMemcpyHostToDevice));
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      float sum = 0;
      for (int k = 0; k < n; k++) sum += s->host[i * n + k] * s->host[k * n + j];
      s->right[i * n + j] = sum;
    }
}

static void square_free(struct square *s)
{
  CARD_OK(cudaFree(s->a)), CARD_OK(cudaFree(s->b)), CARD_OK(cudaFree(s->c));
  CARD_OK(cudaFreeHost(s->host));
  free(s->right);
}

static xgemm_problem square_problem(const struct square *s)
{
  xgemm_problem p = XGEMM_PROBLEM_INIT;
  p.m = p.n = p.k = s->n;
  p.a = xgemm_row_major(s->a, XGEMM_F32, s->n);
  p.b = xgemm_row_major(s->b, XGEMM_F32, s->n);
  p.c = xgemm_row_major(s->c, XGEMM_F32, s->n);
  p.a.space = p.b.space = p.c.space = XGEMM_SPACE_DEVICE;
  return p;
}

/* C = factor * A * B */
static int square_is(struct square *s, float factor)
{
  CARD_OK(cudaMemcpy(s->host, s->c, (size_t)s->n * s->n * sizeof(float), cudaMemcpyDeviceToHost));
  for (int i = 0; i < s->n * s->n; i++)
    if (!(s->host[i] == factor * s->right[i])) return 0;
  return 1;
}

static void CUDART_CB nap(void *unused)
{
  (void)unused;
  nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
}

/* GPU-02: the scalars are those of the call, and the call does not wait for the stream. */
static void scalars_are_taken_at_the_call(void **state)
{
  (void)state;
  struct square s;
  cudaStream_t stream;
  square_make(&s, 100);
  CARD_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  xgemm_options o = card_options(NULL);
  o.stream = stream;
  xgemm_problem p = square_problem(&s);
  p.alpha = 3;
  assert_int_equal(xgemm(&p, &o), XGEMM_OK); /* the kernel is loaded */
  CARD_OK(cudaStreamSynchronize(stream));
  CARD_OK(cudaLaunchHostFunc(stream, nap, NULL));
  p.alpha = 2;
  assert_int_equal(xgemm(&p, &o), XGEMM_OK);
  p.alpha = 77;
  assert_int_equal(cudaStreamQuery(stream), cudaErrorNotReady);
  CARD_OK(cudaStreamSynchronize(stream));
  assert_true(square_is(&s, 2));
  CARD_OK(cudaStreamDestroy(stream));
  square_free(&s);
}

/* GPU-04: a copy into A, the product, a copy out, all on one non-blocking stream. */
static void order_is_the_streams(void **state)
{
  (void)state;
  struct square s;
  cudaStream_t stream;
  square_make(&s, 64);
  size_t bytes = (size_t)s.n * s.n * sizeof(float);
  float *first, *back;
  CARD_OK(cudaMallocHost((void **)&first, bytes));
  CARD_OK(cudaMallocHost((void **)&back, bytes));
  memcpy(first, s.host, bytes);
  CARD_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  xgemm_options o = card_options(NULL);
  o.stream = stream;
  xgemm_problem p = square_problem(&s);
  for (int again = 0; again < 1000; again++) {
    CARD_OK(cudaMemsetAsync(s.a, 0xFF, bytes, stream)); /* NaN */
    CARD_OK(cudaMemsetAsync(s.c, 0xFF, bytes, stream));
    CARD_OK(cudaMemcpyAsync(s.a, first, bytes, cudaMemcpyHostToDevice, stream));
    assert_int_equal(xgemm(&p, &o), XGEMM_OK);
    CARD_OK(cudaMemcpyAsync(back, s.c, bytes, cudaMemcpyDeviceToHost, stream));
    CARD_OK(cudaStreamSynchronize(stream));
    for (int i = 0; i < s.n * s.n; i++) assert_true(back[i] == s.right[i]);
  }
  CARD_OK(cudaStreamDestroy(stream));
  CARD_OK(cudaFreeHost(first));
  CARD_OK(cudaFreeHost(back));
  square_free(&s);
}

/* GPU-03: many products in flight on many streams give the bits of one alone. */
static void streams_do_not_disturb_each_other(void **state)
{
  (void)state;
  enum { STREAMS = 8, CALLS = 200, M = 256, K = 8192 };
  size_t in = (size_t)M * K * sizeof(float), out = (size_t)M * M * sizeof(float);
  float *a, *c[STREAMS + 1], *host = malloc(in), *one = malloc(out), *other = malloc(out);
  cudaStream_t streams[STREAMS + 1] = {NULL};
  assert_true(host && one && other);
  struct reference_rng rng = {5};
  for (int i = 0; i < M * K; i++) host[i] = (float)reference_uniform(&rng);
  CARD_OK(cudaMalloc((void **)&a, in));
  CARD_OK(cudaMemcpy(a, host, in, cudaMemcpyHostToDevice));
  for (int i = 0; i <= STREAMS; i++) {
    CARD_OK(cudaMalloc((void **)&c[i], out));
    if (i < STREAMS) CARD_OK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
  }
  xgemm_problem p = XGEMM_PROBLEM_INIT;
  p.m = p.n = M, p.k = K;
  p.a = xgemm_row_major(a, XGEMM_F32, K);
  p.b = xgemm_col_major(a, XGEMM_F32, K);
  for (int i = CALLS; i >= 0; i--) {
    int which = i == CALLS ? STREAMS : i % STREAMS; /* the first alone, on the default stream */
    xgemm_options o = card_options(NULL);
    o.stream = streams[which];
    p.c = xgemm_row_major(c[which], XGEMM_F32, M);
    assert_int_equal(xgemm(&p, &o), XGEMM_OK);
    if (i == CALLS) CARD_OK(cudaDeviceSynchronize());
  }
  CARD_OK(cudaDeviceSynchronize());
  CARD_OK(cudaMemcpy(one, c[STREAMS], out, cudaMemcpyDeviceToHost));
  for (int i = 0; i < STREAMS; i++) {
    CARD_OK(cudaMemcpy(other, c[i], out, cudaMemcpyDeviceToHost));
    assert_int_equal(memcmp(one, other, out), 0);
    CARD_OK(cudaStreamDestroy(streams[i]));
  }
  for (int i = 0; i <= STREAMS; i++) CARD_OK(cudaFree(c[i]));
  CARD_OK(cudaFree(a));
  free(host), free(one), free(other);
}

/* GPU-14: captured without a warm-up of its kernel, in the strictest mode too, replayed 100 times.
 */
static void capture(struct square *s, enum cudaStreamCaptureMode mode, const char *kernel)
{
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CARD_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  xgemm_options o = card_options(kernel);
  o.stream = stream;
  xgemm_problem p = square_problem(s);
  p.alpha = -1;
  CARD_OK(cudaMemset(s->c, 0xFF, (size_t)s->n * s->n * sizeof(float)));
  CARD_OK(cudaStreamBeginCapture(stream, mode));
  assert_int_equal(xgemm(&p, &o), XGEMM_OK);
  CARD_OK(cudaStreamEndCapture(stream, &graph));
  CARD_OK(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 100; i++) CARD_OK(cudaGraphLaunch(exec, stream));
  CARD_OK(cudaStreamSynchronize(stream));
  assert_true(square_is(s, -1));
  CARD_OK(cudaGraphExecDestroy(exec));
  CARD_OK(cudaGraphDestroy(graph));
  CARD_OK(cudaStreamDestroy(stream));
}

/* Whether a forced kernel is one for such a product at all. */
static int takes(struct square *s, const char *kernel)
{
  xgemm_plan *plan = NULL;
  xgemm_options o = card_options(kernel);
  xgemm_problem p = square_problem(s);
  xgemm_status status = xgemm_plan_create(&plan, &p, &o);
  xgemm_plan_destroy(plan);
  assert_true(status == XGEMM_OK || status == XGEMM_UNSUPPORTED);
  return status == XGEMM_OK;
}

static void products_are_captured(void **state)
{
  (void)state;
  struct square s;
  square_make(&s, 150);
  for (int i = 0; xg_gkr_table[i]; i++) {
    if (xg_gkr_table[i]->type != 's' || !takes(&s, xg_gkr_table[i]->name)) continue;
    capture(&s, cudaStreamCaptureModeGlobal, xg_gkr_table[i]->name);
    capture(&s, cudaStreamCaptureModeThreadLocal, xg_gkr_table[i]->name);
  }
  square_free(&s);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_are_captured),
      cmocka_unit_test(scalars_are_taken_at_the_call),
      cmocka_unit_test(order_is_the_streams),
      cmocka_unit_test(streams_do_not_disturb_each_other),
  };
  int missing = card_missing();
  return missing ? missing : cmocka_run_group_tests(tests, NULL, NULL);
}
