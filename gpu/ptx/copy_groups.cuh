/* Asynchronous copies from global to shared memory, waited for in groups (sm_80). A thread's copies
 * since its last xg_copies_end() are a group; groups land in order. */
#ifndef XG_PTX_COPY_GROUPS_CUH
#define XG_PTX_COPY_GROUPS_CUH

/* SIZE bytes, 4 or 16, both addresses on SIZE bytes; if not inside, zeros without a read. */
template <int SIZE> __device__ inline void xg_copy_async(void *to, const void *from, bool inside)
{
  unsigned address = (unsigned)__cvta_generic_to_shared(to);
  if (SIZE == 16)
    asm volatile("{ .reg .pred p; setp.eq.u32 p, %2, 0;\n"
                 "cp.async.cg.shared.global [%0], [%1], 16, p; }" ::"r"(address),
                 "l"(from), "r"((unsigned)inside)
                 : "memory");
  else
    asm volatile("{ .reg .pred p; setp.eq.u32 p, %2, 0;\n"
                 "cp.async.ca.shared.global [%0], [%1], 4, p; }" ::"r"(address),
                 "l"(from), "r"((unsigned)inside)
                 : "memory");
}

__device__ inline void xg_copies_end()
{
  asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Until all but the last PENDING groups have landed: of this thread, so a barrier follows. */
template <int PENDING> __device__ inline void xg_copies_wait()
{
  asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

#endif
