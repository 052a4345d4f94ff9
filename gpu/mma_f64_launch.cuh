/* The host's side of the f64 Tensor Core kernels: which way round, how many parts, the launch. */
#ifndef XG_MMA_F64_LAUNCH_CUH
#define XG_MMA_F64_LAUNCH_CUH

#include "mma_f64.cuh"

/* An operand as rows (m of A, n of B) by steps of k. */
struct xg_side64 {
  const double *x;
  int64_t outer, so, sk;

  bool by_k() const
  {
    return (sk < 0 ? -sk : sk) < (so < 0 ? -so : so);
  }

  /* Can be copied 16 bytes at a time along its smaller stride. */
  bool wide() const
  {
    if ((size_t)x % 16 != 0) return false;
    return by_k() ? sk == 1 && so % 2 == 0 : so == 1 && sk % 2 == 0 && outer % 2 == 0;
  }
};

using xg_mma64_type = void (*)(xg_mma64_args);

template <class S, bool A_BY_K, bool B_BY_K, bool TURNED, bool WIDE>
xg_mma64_type xg_mma64_as(const xg_side64 &a, const xg_side64 &b, xg_mma64_args *args)
{
  constexpr xg_lay64 LAY_A = A_BY_K ? XG_TWO : XG_ALONG, LAY_B = B_BY_K ? XG_ROW : XG_ALONG;
  args->a = xg_loader64<S::BM, S::WK, S::THREADS, LAY_A, WIDE>::plan(a.x, a.outer, a.so, a.sk);
  args->b = xg_loader64<S::BN, S::WK, S::THREADS, LAY_B, WIDE>::plan(b.x, b.outer, b.so, b.sk);
  args->rows = (unsigned)xg_tiles(a.outer, S::BM), args->cols = (unsigned)xg_tiles(b.outer, S::BN);
  return xg_mma64_kernel<S, A_BY_K, B_BY_K, TURNED, WIDE>;
}

template <class S, bool WIDE>
xg_mma64_type xg_mma64_lay(const xg_side64 &a, const xg_side64 &b, xg_mma64_args *args)
{
  if (a.by_k() && b.by_k()) return xg_mma64_as<S, true, true, false, WIDE>(a, b, args);
  if (a.by_k()) return xg_mma64_as<S, false, true, true, WIDE>(b, a, args);
  if (b.by_k()) return xg_mma64_as<S, false, true, false, WIDE>(a, b, args);
  return xg_mma64_as<S, false, false, false, WIDE>(a, b, args);
}

/* The kernel for a product, and how it walks the operands. */
template <class S> xg_mma64_type xg_mma64_choose(const xg_product<double> &p, xg_mma64_args *args)
{
  xg_side64 a = {p.a, p.m, p.rs_a, p.cs_a}, b = {p.b, p.n, p.cs_b, p.rs_b};
  return a.wide() && b.wide() ? xg_mma64_lay<S, true>(a, b, args)
                              : xg_mma64_lay<S, false>(a, b, args);
}

template <class S> const void *xg_mma64_function(const xg_gkr_args *x)
{
  xg_mma64_args args;
  return (const void *)xg_mma64_choose<S>(xg_rows_contiguous<double>(x), &args);
}

/* How k is cut for few tiles: into `parts`, of which `cluster` meet in shared memory. */
struct xg_cut64 {
  int64_t tiles, parts, cluster, part_k;
};

/* Up to 4 parts make one cluster. More go through the workspace, whose few microseconds have to be
 * earned: by 256 steps a part, or nearly. Only clusters of 2 can use every multiprocessor, because
 * they come in groups of 16 or 18; clusters of 4 can use ten of eleven. */
template <class S> xg_cut64 xg_mma64_cut(const xg_gkr_args *x)
{
  const int64_t least = 4, deep = 256; /* pieces, steps of a part */
  int64_t small = S::BM < S::BN ? S::BM : S::BN, large = S::BM < S::BN ? S::BN : S::BM;
  int64_t tiles = xg_tiles(x->m, (int)small) * xg_tiles(x->n, (int)large);
  int64_t other = xg_tiles(x->m, (int)large) * xg_tiles(x->n, (int)small);
  if (other > tiles) tiles = other; /* whichever way round */
  int64_t room = (int64_t)x->sms * S::BLOCKS, pieces = xg_tiles(x->k, S::BK);
  int64_t parts = room / tiles, cluster = 1;
  if (parts > pieces / least) parts = pieces / least;
  if (parts > 4 && x->k / parts < deep * 3 / 4) parts = x->k / deep > 4 ? x->k / deep : 4;
  if (S::MMA::CLUSTERS && parts > 4)
    cluster = 2, parts = parts / 2 * 2;
  else if (S::MMA::CLUSTERS && parts > 1)
    cluster = parts = parts == 4 && tiles * 4 <= room * 10 / 11 ? 4 : 2;
  else if (parts > x->k / deep)
    parts = x->k / deep;
  if (parts < 2) return {tiles, 1, 1, x->k};
  int64_t each = xg_tiles(pieces, (int)parts);
  parts = xg_tiles(xg_tiles(pieces, (int)each), (int)cluster) * cluster;
  return {tiles, parts, cluster, each * S::BK};
}

template <class S> int xg_mma64_split(const xg_gkr_args *args)
{
  return (int)xg_mma64_cut<S>(args).parts;
}

/* Sums of a cluster in the workspace: rows start on 16 bytes. */
inline int64_t xg_mma64_ld(const xg_product<double> &p)
{
  return (p.n + 1) / 2 * 2;
}

template <class S> size_t xg_mma64_workspace(const xg_gkr_args *x)
{
  xg_product<double> p = xg_rows_contiguous<double>(x);
  xg_cut64 cut = xg_mma64_cut<S>(x);
  int64_t places = cut.parts / cut.cluster;
  return places == 1 ? 0 : (size_t)(places * p.m * xg_mma64_ld(p)) * sizeof(double);
}

/* early: may start before the kernel in front of it has ended. */
inline int xg_launch_in_clusters(const void *kernel, void *args, int64_t blocks, dim3 threads,
                                 int shared, int64_t cluster, bool early, void *stream)
{
  cudaLaunchAttribute attributes[2] = {};
  int n = 0;
  if (cluster > 1) {
    attributes[n].id = cudaLaunchAttributeClusterDimension;
    attributes[n].val.clusterDim.x = (unsigned)cluster;
    attributes[n].val.clusterDim.y = attributes[n].val.clusterDim.z = 1, n++;
  }
  if (early) {
    attributes[n].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[n].val.programmaticStreamSerializationAllowed = 1, n++;
  }
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3((unsigned)blocks), config.blockDim = threads;
  config.dynamicSmemBytes = (size_t)shared, config.stream = (cudaStream_t)stream;
  config.attrs = attributes, config.numAttrs = (unsigned)n;
  void *arguments[] = {args};
  return (int)cudaLaunchKernelExC(&config, kernel, arguments);
}

template <class S> const char *xg_mma64_ok(const xg_gkr_args *args)
{
  return xg_pieces_ok(args, S::BM, S::BN, S::BK);
}

template <class S> int xg_mma64_launch(const xg_gkr_args *x, void *stream)
{
  xg_product<double> p = xg_rows_contiguous<double>(x);
  xg_cut64 cut = xg_mma64_cut<S>(x);
  int64_t places = cut.parts / cut.cluster;
  xg_mma64_args args = {};
  const void *kernel = (const void *)xg_mma64_choose<S>(p, &args);
  args.out = {p.c, p.m, p.n, p.rs_c, p.cs_c, p.alpha, p.beta};
  xg_parts64 add = {args.out, (const double *)x->workspace, xg_mma64_ld(p), p.m * xg_mma64_ld(p),
                    (int)places};
  if (places > 1)
    args.out = {(double *)x->workspace, p.m, p.n, add.ld, 1, 1, 0}, args.part_c = add.part_c;
  args.k = p.k, args.part_k = cut.part_k, args.cluster = (unsigned)cut.cluster;

  cudaError_t e =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, S::SHARED);
  if (e != cudaSuccess) return (int)e;
  int64_t blocks = (int64_t)args.rows * args.cols * cut.parts;
  int status = xg_launch_in_clusters(kernel, &args, blocks, dim3(S::THREADS), S::SHARED,
                                     cut.cluster, false, stream);
  if (status || places == 1) return status;
  return xg_launch_in_clusters((const void *)xg_mma64_add, &add, p.m * xg_tiles(p.n, 32),
                               dim3(32, (unsigned)(places < 8 ? places : 8)), 0, 1,
                               xg_may_start_early(), stream);
}

#endif
