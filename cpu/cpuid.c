#include "cpuid.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "../common/env.h"

const char *xg_isa_name(enum xg_isa isa)
{
  static const char *const names[XG_ISA_COUNT] = {"base", "avx2", "avx512"};
  return names[isa];
}

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

static int bit(unsigned word, int n)
{
  return word >> n & 1;
}

/* Which register states the operating system saves; only legal to ask when OSXSAVE is set. */
static unsigned xcr0(void)
{
  unsigned low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

static enum xg_isa detect(void)
{
  enum { SSE_AVX = 0x06, OPMASK_ZMM = 0xe0 };
  unsigned a, b, c, d, b7, c7, d7;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return XG_ISA_BASE;
  const int fma = bit(c, 12), osxsave = bit(c, 27), avx = bit(c, 28);
  if (!osxsave || !avx || !fma || (xcr0() & SSE_AVX) != SSE_AVX) return XG_ISA_BASE;
  if (!__get_cpuid_count(7, 0, &a, &b7, &c7, &d7) || !bit(b7, 5)) return XG_ISA_BASE;
  const int f = bit(b7, 16), dq = bit(b7, 17), bw = bit(b7, 30), vl = bit(b7, 31);
  if (f && dq && bw && vl && (xcr0() & OPMASK_ZMM) == OPMASK_ZMM) return XG_ISA_AVX512;
  return XG_ISA_AVX2;
}

static int is_intel(void)
{
  unsigned a, b, c, d;
  return __get_cpuid(0, &a, &b, &c, &d) && b == 0x756e6547; /* "Genu" */
}

int xg_cpu_has_half_units(void)
{
  enum { AMD_ZEN3_ZEN4 = 0x19 };
  unsigned a, b, c, d;
  if (!__get_cpuid(0, &a, &b, &c, &d) || b != 0x68747541) return 0; /* "Auth" */
  __get_cpuid(1, &a, &b, &c, &d);
  return (a >> 8 & 0xf) + (a >> 20 & 0xff) == AMD_ZEN3_ZEN4;
}

void xg_cpu_brand(char *buffer, int size)
{
  unsigned words[13] = {0};
  unsigned a, b, c, d;
  snprintf(buffer, (size_t)size, "unknown CPU");
  if (!__get_cpuid(0x80000000, &a, &b, &c, &d) || a < 0x80000004) return;
  for (unsigned i = 0; i < 3; i++)
    __get_cpuid(0x80000002 + i, &words[4 * i], &words[4 * i + 1], &words[4 * i + 2],
                &words[4 * i + 3]);
  const char *name = (const char *)words;
  while (*name == ' ') name++;
  snprintf(buffer, (size_t)size, "%s", name);
  for (size_t n = strlen(buffer); n > 0 && buffer[n - 1] == ' '; n--) buffer[n - 1] = 0;
}

#else

static enum xg_isa detect(void)
{
  return XG_ISA_BASE;
}

static int is_intel(void)
{
  return 0;
}

int xg_cpu_has_half_units(void)
{
  return 0;
}

void xg_cpu_brand(char *buffer, int size)
{
  snprintf(buffer, (size_t)size, "unknown CPU");
}

#endif

static atomic_int hardware = -1, usable = -1;

enum xg_isa xg_cpu_isa_hardware(void)
{
  int isa = atomic_load_explicit(&hardware, memory_order_relaxed);
  if (isa < 0) {
    isa = detect();
    atomic_store_explicit(&hardware, isa, memory_order_relaxed);
  }
  return (enum xg_isa)isa;
}

enum xg_isa xg_cpu_isa(void)
{
  int isa = atomic_load_explicit(&usable, memory_order_relaxed);
  if (isa >= 0) return (enum xg_isa)isa;
  isa = xg_cpu_isa_hardware();
  const char *cap = xg_env()->cpu;
  for (int i = 0; cap && i < isa; i++)
    if (strcmp(cap, xg_isa_name((enum xg_isa)i)) == 0) isa = i;
  atomic_store_explicit(&usable, isa, memory_order_relaxed);
  return (enum xg_isa)isa;
}

int xg_isa_flops_per_cycle(enum xg_isa isa, char type)
{
  /* AVX2: two 256-bit FMA units. AVX-512: two 512-bit ones on Intel's server cores; elsewhere the
   * same 256-bit datapaths, used twice. Base: a 128-bit multiply and add. */
  int f32 = isa == XG_ISA_BASE ? 8 : isa == XG_ISA_AVX512 && is_intel() ? 64 : 32;
  return type == 'd' ? f32 / 2 : f32;
}
