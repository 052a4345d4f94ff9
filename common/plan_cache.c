/* A direct-mapped table of slots, each guarded by a sequence number: odd while it is written. A
 * reader copies key and value and takes them only if the number was even and did not move. Entries
 * are words of relaxed atomics, so a torn copy is detected, never undefined. */
#include "plan_cache.h"

#include <stdatomic.h>
#include <string.h>

#include "env.h"

enum { SLOTS = 256 };

/* All that a decision may depend on; no padding, since keys are compared as bytes. */
struct key {
  int64_t m, n, k, strides[6];
  const char *kernel;
  int32_t type, space, card, backend, threads, device, scalars, alignment, deterministic, zero;
};

struct entry {
  struct key key;
  struct xg_choice choice;
};

enum { WORDS = (sizeof(struct entry) + 7) / 8 };

static struct slot {
  atomic_uint sequence;
  atomic_uint_least64_t words[WORDS];
} slots[SLOTS];

static int zeroness(double x)
{
  return x == 0 ? 0 : x == 1 ? 1 : 2;
}

static int alignment(const void *pointer)
{
  return (int)((uintptr_t)pointer & 15);
}

static struct key make_key(const struct xg_problem *p, const struct xg_request *r)
{
  struct key key;
  memset(&key, 0, sizeof key);
  key.m = p->m, key.n = p->n, key.k = p->k;
  key.strides[0] = p->a.rs, key.strides[1] = p->a.cs;
  key.strides[2] = p->b.rs, key.strides[3] = p->b.cs;
  key.strides[4] = p->c.rs, key.strides[5] = p->c.cs;
  key.kernel = r->kernel;
  key.type = p->type, key.space = p->space, key.card = p->device;
  key.backend = r->backend, key.threads = r->threads, key.device = r->device;
  key.scalars = 3 * zeroness(p->alpha) + zeroness(p->beta);
  key.alignment = alignment(p->a.data) << 8 | alignment(p->b.data) << 4 | alignment(p->c.data);
  key.deterministic = r->deterministic;
  return key;
}

static struct slot *slot_of(const struct key *key)
{
  const unsigned char *bytes = (const unsigned char *)key;
  uint64_t hash = 14695981039346656037u; /* FNV-1a, a word at a time */
  for (size_t i = 0; i < sizeof *key / 8; i++) {
    uint64_t word;
    memcpy(&word, bytes + 8 * i, 8);
    hash = (hash ^ word) * 1099511628211u;
    hash ^= hash >> 29;
  }
  return &slots[hash % SLOTS];
}

int xg_plan_cache_get(const struct xg_problem *p, const struct xg_request *r, struct xg_choice *out)
{
  if (xg_env()->verbose) return 0; /* every call is decided and told anew */
  struct key key = make_key(p, r);
  struct slot *slot = slot_of(&key);
  uint64_t words[WORDS];
  unsigned before = atomic_load_explicit(&slot->sequence, memory_order_acquire);
  if (before == 0 || before & 1) return 0;
  for (int i = 0; i < WORDS; i++)
    words[i] = atomic_load_explicit(&slot->words[i], memory_order_relaxed);
  atomic_thread_fence(memory_order_acquire);
  if (atomic_load_explicit(&slot->sequence, memory_order_relaxed) != before) return 0;
  struct entry entry;
  memcpy(&entry, words, sizeof entry);
  if (memcmp(&entry.key, &key, sizeof key) != 0) return 0;
  *out = entry.choice;
  return 1;
}

void xg_plan_cache_put(const struct xg_problem *p, const struct xg_request *r,
                       const struct xg_choice *choice)
{
  struct entry entry = {.key = make_key(p, r), .choice = *choice};
  struct slot *slot = slot_of(&entry.key);
  unsigned before = atomic_load_explicit(&slot->sequence, memory_order_relaxed);
  if (before & 1 || !atomic_compare_exchange_strong(&slot->sequence, &before, before + 1))
    return; /* someone else is writing it; to forget is allowed */
  atomic_thread_fence(memory_order_release);
  uint64_t words[WORDS] = {0};
  memcpy(words, &entry, sizeof entry);
  for (int i = 0; i < WORDS; i++)
    atomic_store_explicit(&slot->words[i], words[i], memory_order_relaxed);
  atomic_store_explicit(&slot->sequence, before + 2, memory_order_release);
}
