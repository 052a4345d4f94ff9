/* What rungs share, so that a rung's file holds its idea and a diff of two shows nothing else:
 * which way an operand lies, the store of one element, and from rung 5 on a tile for each size
 * class. */
#ifndef XG_LADDER_RUNG_CUH
#define XG_LADDER_RUNG_CUH

#include "../launch.cuh"

/* Whether neighbours in one direction are nearer to each other than in the other. */
__host__ __device__ inline bool xg_nearer(int64_t stride, int64_t other)
{
  return (stride < 0 ? -stride : stride) < (other < 0 ? -other : other);
}

/* C's element (row,col), if there is one, from its sum. */
template <class T, class E>
__device__ inline void xg_put(const xg_product<T, E> &p, int64_t row, int64_t col, T sum)
{
  asm volatile("" : "+l"(row), "+l"(col)); /* no addresses of a whole tile in registers */
  if (row >= p.m || col >= p.n) return;
  T *c = p.c + row * p.rs_c + col * p.cs_c;
  *c = xg_finish(p.alpha, sum, p.beta, c);
}

/* Whether rows start on 16 bytes and their elements are neighbours. */
template <class T> __host__ __device__ bool xg_on_16_bytes(const T *x, int64_t rs, int64_t cs)
{
  return cs == 1 && (size_t)x % 16 == 0 && rs % (int)(16 / sizeof(T)) == 0;
}

/* Whether an operand is all vectors of 16 bytes, along rows or along columns. */
template <class T>
bool xg_in_vectors(const T *x, int64_t rows, int64_t cols, int64_t rs, int64_t cs)
{
  const int v = 16 / sizeof(T);
  return (xg_on_16_bytes(x, rs, cs) && cols % v == 0) ||
         (xg_on_16_bytes(x, cs, rs) && rows % v == 0);
}

/* A block tile of BM x BN, BK steps of k at a time in each of STAGES pieces of shared memory, and a
 * thread tile of TM x TN. Rows of shared memory are padded by 4. */
template <int BM_, int BN_, int BK_, int TM_, int TN_, int STAGES_> struct xg_shape {
  static constexpr int BM = BM_, BN = BN_, BK = BK_, TM = TM_, TN = TN_, STAGES = STAGES_;
  static constexpr int THREADS = (BM / TM) * (BN / TN);
  static constexpr int WM = 4 * TM, WN = 8 * TN; /* a warp's tile from rung 5b on: 4 x 8 lanes */
  static constexpr int BLOCKS = TM * TN > 64 ? 1 : 2; /* on a multiprocessor, so many at least */
  static constexpr int SHARED = STAGES * BK * (BM + 4 + BN + 4) * (int)sizeof(float);
};

/* sum += x y, an outer product. The order: 2 x 2 at a time, around, so that each FMA has an operand
 * of the one before, which need not be read from the registers again. */
template <int TM, int TN>
__device__ inline void xg_outer_product(float (&sum)[TM][TN], const float (&x)[TM],
                                        const float (&y)[TN])
{
#pragma unroll
  for (int i = 0; i < TM; i += 2)
#pragma unroll
    for (int j = 0; j < TN; j += 2) {
      sum[i][j] = fma(x[i], y[j], sum[i][j]);
      sum[i + 1][j] = fma(x[i + 1], y[j], sum[i + 1][j]);
      sum[i + 1][j + 1] = fma(x[i + 1], y[j + 1], sum[i + 1][j + 1]);
      sum[i][j + 1] = fma(x[i], y[j + 1], sum[i][j + 1]);
    }
}

/* A kernel compiled for a shape. */
template <class A> struct xg_instance {
  void (*kernel)(A);
  int bm, bn, threads;
  int shared; /* bytes of shared memory that the launch adds */
};

/* The instance for a product: that of its size class, or of the class that is forced. */
template <class A>
const xg_instance<A> &xg_of_size(const xg_instance<A> (&small_to_large)[3], const xg_gkr_args *args)
{
  return small_to_large[(args->size ? args->size : xg_size_class_of(args->m, args->n)) - 1];
}

/* More than 48 KiB a block must be asked for. */
template <class A, class T, class E>
int xg_launch_instance(const xg_instance<A> &i, A args, const xg_product<T, E> &p, void *stream)
{
  const void *kernel = (const void *)i.kernel;
  void *arguments[] = {&args};
  if (i.shared > 48 * 1024)
    if (int error =
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, i.shared))
      return error;
  return (int)cudaLaunchKernel(kernel, dim3((unsigned)xg_blocks(p, i.bm, i.bn)), dim3(i.threads),
                               arguments, i.shared, (cudaStream_t)stream);
}

/* A thread's share of a BX x BK piece of an operand, taken from device memory into registers and
 * put into shared memory k by k, [BK][BX + 4]. Neighbouring threads follow the operand as in rung
 * 3, along outer (m of A, n of B) or 8 along k; a thread's elements are OUTER apart. */
template <int BX, int BK, int THREADS> struct xg_piece {
  static constexpr int V = 1, ROW = BX + 4, OUTER = THREADS / BK, COUNT = BX / OUTER;
  static_assert(BK == 8 && THREADS % BK == 0 && BX % OUTER == 0, "");

  const float *from;
  int64_t step, next; /* to my next element, to my first of the next piece */
  int k, outer, to;   /* of my first element: its k, how far it is from the edge, where it goes */
  float held[COUNT];

  __device__ xg_piece(const float *x, int64_t extent, int64_t so, int64_t sk, int64_t origin)
  {
    int t = threadIdx.x;
    bool along_k = xg_nearer(sk, so);
    int o = along_k ? t / BK : t % OUTER;
    k = along_k ? t % BK : t / OUTER;
    from = x + (origin + o) * so + k * sk, step = OUTER * so, next = BK * sk;
    outer = (int)(extent - origin < BX ? extent - origin : BX) - o;
    to = k * ROW + o;
  }

  /* Takes the next piece, of which `rest` steps exist. What lies outside the operand is 0. */
  __device__ void fetch(int64_t rest)
  {
#pragma unroll
    for (int i = 0; i < COUNT; i++) held[i] = k < rest && i * OUTER < outer ? from[i * step] : 0;
    from += next;
  }

  __device__ void put(float *stage) const
  {
#pragma unroll
    for (int i = 0; i < COUNT; i++) stage[to + i * OUTER] = held[i];
  }
};

#endif
