/* A direct-mapped table of slots, each guarded by a sequence number: odd while it is written. A
 * reader compares the key and copies the choice, and takes it only if the number was even and did
 * not move. Entries are words of relaxed atomics, so a torn copy is detected, never undefined. A
 * hit costs some 15 ns, which products of a microsecond notice. */
#include "plan_cache.h"

#include <stdatomic.h>
#include <string.h>

#include "env.h"

enum { SLOTS = 256, KEY = 13, CHOICE = sizeof(struct xg_choice) / 8 };
_Static_assert(sizeof(struct xg_choice) % 8 == 0, "copied in words");

static struct slot {
  atomic_uint sequence;
  atomic_uint_least64_t key[KEY], choice[CHOICE];
} slots[SLOTS];

static unsigned zeroness(double x)
{
  return x == 0 ? 0 : x == 1 ? 1 : 2;
}

static unsigned alignment(const void *pointer)
{
  return (unsigned)((uintptr_t)pointer & 15);
}

static uint64_t pair(int high, int low)
{
  return (uint64_t)(unsigned)high << 32 | (unsigned)low;
}

/* All that a decision may depend on, made as the words that are compared: written in pieces, they
 * would be waited for. */
static inline void make_key(const struct xg_problem *p, const struct xg_request *r,
                            uint64_t key[KEY])
{
  const unsigned scalars = 3 * zeroness(p->alpha) + zeroness(p->beta);
  const unsigned aligned =
      alignment(p->a.data) << 8 | alignment(p->b.data) << 4 | alignment(p->c.data);
  key[0] = (uint64_t)p->m, key[1] = (uint64_t)p->n, key[2] = (uint64_t)p->k;
  key[3] = (uint64_t)p->a.rs, key[4] = (uint64_t)p->a.cs;
  key[5] = (uint64_t)p->b.rs, key[6] = (uint64_t)p->b.cs;
  key[7] = (uint64_t)p->c.rs, key[8] = (uint64_t)p->c.cs;
  key[9] = (uint64_t)(uintptr_t)r->kernel;
  key[10] = pair((int)p->type, p->device);
  key[11] = pair(r->device, r->threads);
  key[12] = (uint64_t)p->space << 48 | (uint64_t)r->backend << 40 |
            (uint64_t)(r->deterministic != 0) << 32 | scalars << 16 | aligned;
}

/* One multiplication a word, none waiting for another: the top bits of a sum with odd factors. */
static inline struct slot *slot_of(const uint64_t key[KEY])
{
  static const uint64_t factor[KEY] = {0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9, 0x94d049bb133111eb,
                                       0xd6e8feb86659fd93, 0xff51afd7ed558ccd, 0xc4ceb9fe1a85ec53,
                                       0x2545f4914f6cdd1d, 0x5851f42d4c957f2d, 0xda942042e4dd58b5,
                                       0x369dea0f31a53f85, 0xaef17502108ef2d9, 0x106689d45497fdb5,
                                       0xe7037ed1a0b428db};
  uint64_t hash = 0;
#pragma GCC unroll 13
  for (int i = 0; i < KEY; i++) hash += key[i] * factor[i];
  return &slots[hash >> 56];
}
_Static_assert(SLOTS == 1 << 8, "slot_of() takes the top 8 bits");

int xg_plan_cache_get(const struct xg_problem *p, const struct xg_request *r, struct xg_choice *out)
{
  if (xg_env()->verbose) return 0; /* every call is decided and told anew */
  uint64_t key[KEY], differs = 0;
  make_key(p, r, key);
  struct slot *slot = slot_of(key);
  const unsigned before = atomic_load_explicit(&slot->sequence, memory_order_acquire);
  if (before == 0 || before & 1) return 0;
  for (int i = 0; i < KEY; i++)
    differs |= key[i] ^ atomic_load_explicit(&slot->key[i], memory_order_relaxed);
  if (differs) return 0;
  for (int i = 0; i < CHOICE; i++) {
    const uint64_t word = atomic_load_explicit(&slot->choice[i], memory_order_relaxed);
    memcpy((char *)out + 8 * i, &word, sizeof word);
  }
  atomic_thread_fence(memory_order_acquire);
  if (atomic_load_explicit(&slot->sequence, memory_order_relaxed) != before) return 0;
  return 1;
}

void xg_plan_cache_put(const struct xg_problem *p, const struct xg_request *r,
                       const struct xg_choice *value)
{
  uint64_t key[KEY], choice[CHOICE];
  make_key(p, r, key);
  memcpy(choice, value, sizeof choice);
  struct slot *slot = slot_of(key);
  unsigned before = atomic_load_explicit(&slot->sequence, memory_order_relaxed);
  if (before & 1 || !atomic_compare_exchange_strong(&slot->sequence, &before, before + 1))
    return; /* someone else is writing it; to forget is allowed */
  atomic_thread_fence(memory_order_release);
  for (int i = 0; i < KEY; i++) atomic_store_explicit(&slot->key[i], key[i], memory_order_relaxed);
  for (int i = 0; i < CHOICE; i++)
    atomic_store_explicit(&slot->choice[i], choice[i], memory_order_relaxed);
  atomic_store_explicit(&slot->sequence, before + 2, memory_order_release);
}
