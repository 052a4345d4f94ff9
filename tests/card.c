#include "card.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm.h"

#include "../gpu/device.h"

enum { GUARD = 256, ROOM = 64 << 20 };

static struct mirror {
  char *card; /* ROOM bytes */
  size_t at;  /* where the span begins */
} mirrors[3];

static unsigned char *scratch;

int card_missing(void)
{
  const char *why = xg_gpu_available(1);
  if (why) printf("SKIP: the GPU backend can't, because %s\n", why);
  return why ? 77 : 0;
}

void card_ok(cudaError_t error, const char *what)
{
  if (error) fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  assert_int_equal(error, cudaSuccess);
}

xgemm_options card_options(const char *kernel)
{
  xgemm_options o = XGEMM_OPTIONS_INIT;
  o.backend = XGEMM_BACKEND_GPU;
  o.kernel = kernel;
  return o;
}

void card_plan_is(const xgemm_problem *p, const xgemm_options *o, const char *kernel, char *name)
{
  xgemm_plan *plan = NULL;
  char text[512], engine[16] = "";
  xgemm_status status = xgemm_plan_create(&plan, p, o);
  if (status != XGEMM_OK) fprintf(stderr, "plan: %s\n", xgemm_last_reason());
  assert_int_equal(status, XGEMM_OK);
  xgemm_plan_describe(plan, 0, text, sizeof text);
  xgemm_plan_destroy(plan);
  assert_int_equal(sscanf(text, "%15s %63s", engine, name), 2);
  assert_string_equal(engine, "gpu");
  if (kernel) assert_string_equal(name, kernel);
}

static const struct hostile_matrix *operand(const struct product *x, int i)
{
  return i == 0 ? &x->a : i == 1 ? &x->b : &x->c;
}

xgemm_problem card_put(const struct product *x, int shift)
{
  xgemm_problem q = x->p;
  xgemm_matrix *matrices[3] = {&q.a, &q.b, &q.c};
  if (!scratch) scratch = malloc(ROOM);
  assert_non_null(scratch);
  for (int i = 0; i < 3; i++) {
    struct mirror *m = &mirrors[i];
    const struct hostile_matrix *h = operand(x, i);
    m->at = GUARD + (size_t)shift * h->es;
    assert_true(m->at + h->mem.bytes + GUARD <= ROOM);
    if (!m->card) CARD_OK(cudaMalloc((void **)&m->card, ROOM));
    memset(scratch, 0xA5, m->at + h->mem.bytes + GUARD);
    memcpy(scratch + m->at, h->mem.data, h->mem.bytes);
    CARD_OK(cudaMemcpy(m->card, scratch, m->at + h->mem.bytes + GUARD, cudaMemcpyHostToDevice));
    matrices[i]->data = m->card + m->at + ((unsigned char *)h->at - h->mem.data);
  }
  return q;
}

static int all_a5(const unsigned char *bytes, size_t count)
{
  for (size_t i = 0; i < count; i++)
    if (bytes[i] != 0xA5) return 0;
  return 1;
}

void card_get(struct product *x)
{
  for (int i = 0; i < 3; i++) {
    const struct mirror *m = &mirrors[i];
    const struct hostile_matrix *h = operand(x, i);
    CARD_OK(cudaMemcpy(scratch, m->card, m->at + h->mem.bytes + GUARD, cudaMemcpyDeviceToHost));
    assert_true(all_a5(scratch, m->at));
    assert_true(all_a5(scratch + m->at + h->mem.bytes, GUARD));
    if (i == 2)
      memcpy(h->mem.data, scratch + m->at, h->mem.bytes);
    else
      assert_int_equal(memcmp(h->mem.data, scratch + m->at, h->mem.bytes), 0);
  }
}

static void judge(struct product *x, const char *name, const char *where, int exact)
{
  int right = product_is_right(x, exact);
  if (!right)
    fprintf(stderr, "%s, %s operands, strides %lld,%lld %lld,%lld %lld,%lld\n", name, where,
            (long long)x->p.a.row_stride, (long long)x->p.a.col_stride,
            (long long)x->p.b.row_stride, (long long)x->p.b.col_stride,
            (long long)x->p.c.row_stride, (long long)x->p.c.col_stride);
  assert_true(right);
}

/* 0: the kernel that is forced says that this is not for it. */
static int run(const xgemm_problem *p, const xgemm_options *o)
{
  xgemm_status status = xgemm(p, o);
  if (o->kernel && status == XGEMM_UNSUPPORTED && strstr(xgemm_last_reason(), "because")) return 0;
  if (status != XGEMM_OK) fprintf(stderr, "%s\n", xgemm_last_reason());
  assert_int_equal(status, XGEMM_OK);
  return 1;
}

/* The copies of staged operands always lie alike, so a plan already knows. */
static int refuses_staged(const xgemm_problem *p, const xgemm_options *o)
{
  xgemm_plan *plan = NULL;
  xgemm_status status = xgemm_plan_create(&plan, p, o);
  xgemm_plan_destroy(plan);
  return o->kernel && status == XGEMM_UNSUPPORTED;
}

static void must_be_untouched(struct product *x)
{
  const struct mirror *m = &mirrors[2];
  CARD_OK(cudaMemcpy(scratch, m->card, m->at + x->c.mem.bytes + GUARD, cudaMemcpyDeviceToHost));
  assert_memory_equal(scratch + m->at, x->c.mem.data, x->c.mem.bytes);
}

int card_must_be_right(struct product *x, int shift, const char *kernel, int exact)
{
  char name[64];
  xgemm_options o = card_options(kernel);
  product_expect(x);
  xgemm_problem q = card_put(x, shift);
  if (shift % 2) q.a.space = q.b.space = q.c.space = XGEMM_SPACE_DEVICE; /* else it is found out */
  if (!run(&q, &o)) {
    must_be_untouched(x);
    return 0;
  }
  card_plan_is(&q, &o, kernel, name);
  CARD_OK(cudaDeviceSynchronize());
  card_get(x);
  judge(x, name, "device", exact);
  return 1;
}

int card_staged_must_be_right(struct product *x, const char *kernel, int exact)
{
  char name[64];
  xgemm_options o = card_options(kernel);
  product_expect(x);
  if (refuses_staged(&x->p, &o)) return 0;
  card_plan_is(&x->p, &o, kernel, name);
  assert_true(run(&x->p, &o));
  judge(x, name, "host", exact);
  return 1;
}
