/* Which instruction sets this process may use. */
#ifndef XG_CPUID_H
#define XG_CPUID_H

#include "ukr.h"

/* The highest set that the CPU has, the operating system saves (OSXSAVE, XCR0) and XGEMM_CPU
 * allows. Found once. */
enum xg_isa xg_cpu_isa(void);

/* The same without regard to XGEMM_CPU. */
enum xg_isa xg_cpu_isa_hardware(void);

/* "base", "avx2", "avx512". */
const char *xg_isa_name(enum xg_isa isa);

/* Flops a cycle and core with the set at hand, for predictions. */
int xg_isa_flops_per_cycle(enum xg_isa isa, char type);

/* Whether AVX-512 runs on units of 256 bits, each instruction in two halves: AMD's Zen 4. */
int xg_cpu_has_half_units(void);

/* The CPU's own name, or "unknown CPU". `size` of 49 holds any. */
void xg_cpu_brand(char *buffer, int size);

#endif
