/* The instructions of the f64 Tensor Core kernels: mma, asynchronous copies, barriers in shared
 * memory, clusters. On cards before Hopper a cluster is one block. */
#ifndef XG_MMA_F64_PTX_CUH
#define XG_MMA_F64_PTX_CUH

/* 16 x 8 sums of a warp over 8 steps, in TURNS instructions of 8 / TURNS steps. */

/* Hopper's 16 x 8 x 8. */
struct xg_mma64_sm90 {
  static constexpr int TURNS = 1;
  static constexpr bool CLUSTERS = true;

  static __device__ void mma(double (&c)[4], const double (&a)[4], const double (&b)[2], int)
  {
    asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
  }
};

/* 8 x 8 x 4, all that Ampere has; its lanes hold the same elements. */
struct xg_mma64_sm80 {
  static constexpr int TURNS = 2;
  static constexpr bool CLUSTERS = false;

  static __device__ void mma(double (&c)[4], const double (&a)[4], const double (&b)[2], int turn)
  {
    one(c[0], c[1], a[2 * turn], b[turn]), one(c[2], c[3], a[2 * turn + 1], b[turn]);
  }

  static __device__ void one(double &c0, double &c1, double a, double b)
  {
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
        : "+d"(c0), "+d"(c1)
        : "d"(a), "d"(b));
  }
};

/* threadIdx.x, read anew: what follows from it is worked out here and not kept in registers, which
 * are dear in the kernels' loops. */
__device__ inline int xg_thread_anew()
{
  int thread;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
  return thread;
}

/* ---------------------------------------------------------------- copies */

/* V elements on their way to shared memory, if `on`. */
template <int V> __device__ inline void xg_copy64(unsigned to, const double *from, bool on)
{
  if (V == 2)
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %2, 0;"
                 " @p cp.async.cg.shared.global [%0], [%1], 16; }" ::"r"(to),
                 "l"(from), "r"((int)on));
  else
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %2, 0;"
                 " @p cp.async.ca.shared.global [%0], [%1], 8; }" ::"r"(to),
                 "l"(from), "r"((int)on));
}

/* Only `count` of them are read, the others set to 0. */
template <int V> __device__ inline void xg_copy_some64(unsigned to, const double *from, int count)
{
  if (V == 2)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
                 "r"(count * 8));
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to), "l"(from),
                 "r"(count * 8));
}

/* ---------------------------------------------------------------- barriers in shared memory */

__device__ inline void xg_bar64_init(unsigned barrier, int count)
{
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}

__device__ inline void xg_bar64_arrive(unsigned barrier)
{
  asm volatile("{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [%0]; }" ::"r"(barrier)
               : "memory");
}

/* Arrives once this thread's copies so far have landed. */
__device__ inline void xg_bar64_arrive_copied(unsigned barrier)
{
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(barrier) : "memory");
}

/* Whether the phase of this parity has ended. Orders nothing: xg_bar64_wait does. */
__device__ inline bool xg_bar64_look(unsigned barrier, unsigned parity)
{
  unsigned ended;
#if __CUDA_ARCH__ >= 900
  asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2;"
               " selp.u32 %0, 1, 0, p; }"
               : "=r"(ended)
               : "r"(barrier), "r"(parity));
#else
  asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2;"
               " selp.u32 %0, 1, 0, p; }"
               : "=r"(ended)
               : "r"(barrier), "r"(parity));
#endif
  return ended != 0;
}

/* `seen`: an earlier look found that it has. */
__device__ inline void xg_bar64_wait(unsigned barrier, unsigned parity, bool seen = false)
{
  while (!seen) seen = xg_bar64_look(barrier, parity);
  asm volatile("" ::: "memory");
}

/* ---------------------------------------------------------------- clusters */

__device__ inline unsigned xg_cluster_rank()
{
  unsigned r = 0;
#if __CUDA_ARCH__ >= 900
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
#endif
  return r;
}

/* Where the block of that rank has its `x`, x in shared memory. */
__device__ inline const double *xg_cluster_peer(const double *x, unsigned rank)
{
#if __CUDA_ARCH__ >= 900
  asm("mapa.u64 %0, %0, %1;" : "+l"(x) : "r"(rank));
#endif
  return x;
}

/* All threads of the cluster meet. */
__device__ inline void xg_cluster_meet(unsigned blocks)
{
#if __CUDA_ARCH__ >= 900
  if (blocks > 1) {
    asm volatile("barrier.cluster.arrive.release; barrier.cluster.wait.acquire;" ::: "memory");
    return;
  }
#endif
  __syncthreads();
}

/* A kernel launched early waits here for the end of the one before it. */
__device__ inline void xg_wait_for_previous_kernel()
{
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

#endif
