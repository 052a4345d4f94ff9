/* Shared memory to fragments, by a warp together (sm_75). */
#ifndef XG_PTX_LDMATRIX_CUH
#define XG_PTX_LDMATRIX_CUH

#include <stdint.h>

/* Four 8 x 8 matrices of 2-byte elements. Lane l names row l%8 of matrix l/8: 8 neighbours, on 16
 * bytes. Lane l receives in x[i] elements 2*(l%4) and 2*(l%4)+1 of row l/4 of matrix i; TRANS: of
 * its column l/4. */
template <bool TRANS> __device__ inline void xg_ldmatrix(uint32_t (&x)[4], const void *row)
{
  unsigned address = (unsigned)__cvta_generic_to_shared(row);
  if (TRANS)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(address)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(address)
                 : "memory");
}

#endif
