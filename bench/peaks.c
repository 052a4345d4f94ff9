#include "peaks.h"

#include <pthread.h>
#include <stdlib.h>

#include "timing.h"

/* ---------------------------------------------------------------- FMA loops
 * Twelve independent chains hide the latency of the FMA units (4 cycles x 2 units = 8 chains).
 * Assembly, because a compiler that sees the result unused or reassociates would measure itself. */

#define CHAIN(op, r, n) op " %%" r "14, %%" r "15, %%" r #n "\n\t"
#define TWELVE(op, r)                                                                              \
  CHAIN(op, r, 0)                                                                                  \
  CHAIN(op, r, 1)                                                                                  \
  CHAIN(op, r, 2)                                                                                  \
  CHAIN(op, r, 3)                                                                                  \
  CHAIN(op, r, 4)                                                                                  \
  CHAIN(op, r, 5)                                                                                  \
  CHAIN(op, r, 6) CHAIN(op, r, 7) CHAIN(op, r, 8) CHAIN(op, r, 9) CHAIN(op, r, 10)                 \
      CHAIN(op, r, 11)
#define CLOBBERS                                                                                   \
  "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",   \
      "xmm11", "xmm12", "xmm13", "xmm14", "xmm15"
#define FMA_LOOP(name, op, broadcast, r)                                                           \
  static void name(long rounds, const void *one)                                                   \
  {                                                                                                \
    __asm__ volatile("vzeroall\n\t" broadcast " (%1), %%" r "14\n\t" broadcast " (%1), %%" r       \
                     "15\n"                                                                        \
                     "1:\n\t" TWELVE(op, r) "dec %0\n\tjnz 1b\n\tvzeroupper"                       \
                     : "+r"(rounds)                                                                \
                     : "r"(one)                                                                    \
                     : CLOBBERS);                                                                  \
  }
FMA_LOOP(avx512_f32, "vfmadd231ps", "vbroadcastss", "zmm")
FMA_LOOP(avx512_f64, "vfmadd231pd", "vbroadcastsd", "zmm")
FMA_LOOP(avx2_f32, "vfmadd231ps", "vbroadcastss", "ymm")
FMA_LOOP(avx2_f64, "vfmadd231pd", "vbroadcastsd", "ymm")

/* Without FMA: six chains of multiplications beside six of additions. */
#define PAIR(t, a, b) "mul" t " %%xmm14, %%xmm" #a "\n\tadd" t " %%xmm14, %%xmm" #b "\n\t"
#define SSE2_LOOP(name, t)                                                                         \
  static void name(long rounds, const void *one)                                                   \
  {                                                                                                \
    __asm__ volatile("movups (%1), %%xmm14\n"                                                      \
                     "1:\n\t" PAIR(t, 0, 6) PAIR(t, 1, 7) PAIR(t, 2, 8) PAIR(t, 3, 9)              \
                         PAIR(t, 4, 10) PAIR(t, 5, 11) "dec %0\n\tjnz 1b"                          \
                     : "+r"(rounds)                                                                \
                     : "r"(one)                                                                    \
                     : CLOBBERS);                                                                  \
  }
SSE2_LOOP(sse2_f32, "ps")
SSE2_LOOP(sse2_f64, "pd")

struct unit {
  const char *name;
  int bytes;          /* of a vector */
  int flops_per_lane; /* in one round */
  void (*loop[2])(long rounds, const void *one);
};

static const struct unit *unit(void)
{
  static const struct unit avx512 = {"AVX-512", 64, 24, {avx512_f32, avx512_f64}};
  static const struct unit avx2 = {"AVX2+FMA", 32, 24, {avx2_f32, avx2_f64}};
  static const struct unit sse2 = {"SSE2", 16, 12, {sse2_f32, sse2_f64}};
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) return &avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &avx2;
  return &sse2;
}

const char *xgb_cpu_vectors(void)
{
  return unit()->name;
}

/* ---------------------------------------------------------------- the same work on n threads */

enum { MOST_THREADS = 1024 };

struct crew {
  pthread_barrier_t barrier;
  void (*work)(void *context, int index);
  void *context;
  int rounds;
  double best; /* seconds of the quickest round */
};

struct member {
  struct crew *crew;
  int index;
};

static void *member_main(void *argument)
{
  struct member *me = argument;
  struct crew *crew = me->crew;
  for (int r = 0; r < crew->rounds; r++) {
    pthread_barrier_wait(&crew->barrier);
    double start = xgb_now();
    crew->work(crew->context, me->index);
    pthread_barrier_wait(&crew->barrier);
    double passed = xgb_now() - start;
    if (me->index == 0 && passed < crew->best) crew->best = passed;
  }
  return NULL;
}

double xgb_quickest(int threads, int rounds, void (*work)(void *, int), void *context)
{
  struct crew crew = {.work = work, .context = context, .rounds = rounds, .best = 1e30};
  pthread_t handles[MOST_THREADS];
  struct member members[MOST_THREADS];
  if (threads < 1 || threads > MOST_THREADS) return 0;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_barrier_init(&crew.barrier, NULL, (unsigned)threads);
  int started = 1;
  for (; started < threads; started++) {
    members[started] = (struct member){&crew, started};
    if (pthread_create(&handles[started], &attributes, member_main, &members[started])) break;
  }
  if (started < threads) { /* those that wait at the barrier cannot be called back */
    for (int t = 1; t < started; t++) pthread_cancel(handles[t]), pthread_join(handles[t], NULL);
    return 0;
  }
  members[0] = (struct member){&crew, 0};
  member_main(&members[0]);
  for (int t = 1; t < threads; t++) pthread_join(handles[t], NULL);
  pthread_barrier_destroy(&crew.barrier);
  pthread_attr_destroy(&attributes);
  return crew.best;
}

void xgb_share_out(int threads, void (*work)(void *, int), void *context)
{
  if (threads > 1 && xgb_quickest(threads, 1, work, context) > 0) return;
  for (int i = 0; i < threads; i++) work(context, i);
}

/* ---------------------------------------------------------------- the FMA rate */

struct fma_work {
  const struct unit *unit;
  int wide;
  long rounds;
};

static void do_fma(void *context, int index)
{
  static const float one_f32[4] = {1, 1, 1, 1};
  static const double one_f64[2] = {1, 1};
  const struct fma_work *w = context;
  (void)index;
  w->unit->loop[w->wide](w->rounds, w->wide ? (const void *)one_f64 : (const void *)one_f32);
}

static struct {
  int wide, threads;
  double rate;
} known[64];
static int count;

void xgb_peaks_forget(void)
{
  count = 0;
}

double xgb_cpu_peak(xgemm_type type, int threads)
{
  int wide = type == XGEMM_F64;
  for (int i = 0; i < count; i++)
    if (known[i].wide == wide && known[i].threads == threads) return known[i].rate;

  struct fma_work w = {unit(), wide, 300000}; /* about 0.5 ms */
  double seconds = xgb_quickest(threads, 60, do_fma, &w);
  double lanes = (double)w.unit->bytes / (wide ? 8 : 4);
  double flops = (double)w.rounds * w.unit->flops_per_lane * lanes * threads;
  double rate = seconds > 0 ? flops / seconds : 0;
  if (count < 64) {
    known[count].wide = wide;
    known[count].threads = threads;
    known[count++].rate = rate;
  }
  return rate;
}
