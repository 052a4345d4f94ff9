/* What the Tensor Core rungs share: shapes, and an instance for a size class and for how the
 * operands lie. */
#ifndef XG_LADDER_TENSOR_CUH
#define XG_LADDER_TENSOR_CUH

#include "copies.cuh"

/* A block tile of BM x BN, BK steps of k a piece, a warp tile of WM x WN. */
template <int BM_, int BN_, int BK_, int WM_, int WN_, int STAGES_> struct xg_tensor_shape {
  static constexpr int BM = BM_, BN = BN_, BK = BK_, WM = WM_, WN = WN_, STAGES = STAGES_;
  static constexpr int WARPS_N = BN / WN, THREADS = BM / WM * WARPS_N * 32;
};

template <class E, class S, xg_way WAY_A, xg_way WAY_B> struct xg_tensor_copies {
  using a = xg_copies<E, S::BM, S::BK, S::THREADS, WAY_A>;
  using b = xg_copies<E, S::BN, S::BK, S::THREADS, WAY_B>;
  static constexpr int PIECE = a::SIZE + b::SIZE, SHARED = S::STAGES * PIECE * (int)sizeof(E);
};

template <bool, class YES, class NO> struct xg_tensor_choice {
  using type = YES;
};
template <class YES, class NO> struct xg_tensor_choice<false, YES, NO> {
  using type = NO;
};

/* The instances of a rung R, in which R::kernel<S, WAY_A, WAY_B> is a kernel and
 * R::small, medium and large are the shapes, R::any the one for operands without vectors. */
template <class R> struct xg_tensor_rung {
  using E = typename R::E;
  using product = xg_product<float, E>;

  template <class S, xg_way WAY_A, xg_way WAY_B>
  static constexpr xg_instance<product> instance = {R::template kernel<S, WAY_A, WAY_B>, S::BM,
                                                    S::BN, S::THREADS,
                                                    xg_tensor_copies<E, S, WAY_A, WAY_B>::SHARED};
  /* Element by element larger tiles gain nothing and take registers for addresses. */
  template <xg_way WAY, class S>
  using for_way = typename xg_tensor_choice<WAY == XG_ANY, typename R::any, S>::type;
  template <xg_way WAY_A, xg_way WAY_B>
  static constexpr xg_instance<product> of_sizes[3] = {
      instance<typename R::small, WAY_A, WAY_B>,
      instance<for_way<WAY_A, typename R::medium>, WAY_A, WAY_B>,
      instance<for_way<WAY_A, typename R::large>, WAY_A, WAY_B>};

  static const xg_instance<product> &instance_for(const xg_gkr_args *args)
  {
    product p = xg_rows_contiguous<float, E>(args);
    bool a = p.cs_a == 1, b = p.rs_b == 1; /* contiguous along k */
    if (!xg_in_vectors(p.a, p.m, p.k, p.rs_a, p.cs_a) ||
        !xg_in_vectors(p.b, p.k, p.n, p.rs_b, p.cs_b))
      return xg_of_size(of_sizes<XG_ANY, XG_ANY>, args);
    if (a)
      return xg_of_size(b ? of_sizes<XG_ALONG, XG_ALONG> : of_sizes<XG_ALONG, XG_ACROSS>, args);
    return xg_of_size(b ? of_sizes<XG_ACROSS, XG_ALONG> : of_sizes<XG_ACROSS, XG_ACROSS>, args);
  }

  static const char *ok(const xg_gkr_args *args)
  {
    return xg_grid_ok(args, R::small::BM, R::small::BN);
  }

  static int launch(const xg_gkr_args *args, void *stream)
  {
    product p = xg_rows_contiguous<float, E>(args);
    return xg_launch_instance(instance_for(args), p, p, stream);
  }

  static const void *function(const xg_gkr_args *args)
  {
    return (const void *)instance_for(args).kernel;
  }
};

#endif
