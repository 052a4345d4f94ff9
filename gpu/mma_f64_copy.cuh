/* Operands of the f64 Tensor Core kernels on their way into shared memory. */
#ifndef XG_MMA_F64_COPY_CUH
#define XG_MMA_F64_COPY_CUH

#include "launch.cuh"
#include "mma_f64_ptx.cuh"

/* How an operand lies in shared memory, 16 steps of BX rows (rows: m of A, n of B) a slice. Each is
 * free of bank conflicts for the loads named and for the copies.
 *
 * ALONG: step k at k LD. Lanes (g, t) load rows 2g, 2g + 1 (16 bytes) or g (8) of steps 2t or
 * 2t + 1: t moves by 2 LD, 4 elements of 16 banks.
 * The others: row r at 16 r, its steps in an order that depends on r.
 * PAIRS:   lanes load steps 2t, 2t + 1 (16 bytes) of row g: odd rows begin with step 8.
 * ROW, TWO: lanes load step t or t + 4 (8 bytes) of row g or 2g: quads of steps are turned, so that
 *          four neighbouring g use different ones. */
enum xg_lay64 { XG_ALONG, XG_PAIRS, XG_ROW, XG_TWO };

template <int BX, xg_lay64 LAY> struct xg_slice64 {
  static constexpr int LD = BX + 2, SIZE = 16 * LD; /* elements; the same for all */

  static __device__ constexpr int at(int row, int k)
  {
    return LAY == XG_ALONG   ? k * LD + row
           : LAY == XG_PAIRS ? row * 16 + (k ^ (row & 1) * 8)
           : LAY == XG_ROW   ? row * 16 + (k ^ (row & 3) * 4)
                             : row * 16 + (k ^ (row >> 1 & 3) * 4);
  }
};

/* How an operand is walked: the same for all threads, so the host works it out and it stays in
 * constant memory. */
struct xg_walk64 {
  const double *x;
  int64_t outer, so, sk;      /* rows; strides of rows and of steps */
  int64_t step, slice, piece; /* elements to the next row of copies, slice, piece */
};

/* One thread's part in copying pieces of BX rows x 16 WK steps. Lanes run along k, or along the
 * rows if the operand lies along them. WIDE: 16 bytes at a time. */
template <int BX, int WK, int THREADS, xg_lay64 LAY, bool WIDE> struct xg_loader64 {
  using slice = xg_slice64<BX, LAY>;
  static constexpr bool BY_K = LAY != XG_ALONG;
  static constexpr int V = WIDE ? 2 : 1, LANES = (BY_K ? 16 : BX) / V, PASS = THREADS / LANES;
  static constexpr int ROWS = (BY_K ? BX : 16 * WK) / PASS, SLICES = BY_K ? WK : 1;
  static constexpr int COUNT = ROWS * SLICES; /* copies of a thread */
  static_assert(PASS * LANES == THREADS && ROWS * PASS == (BY_K ? BX : 16 * WK), "");
  static_assert(ROWS >= 1 && ROWS <= 32 && (!BY_K || PASS % 8 == 0), "");

  const double *from;
  unsigned to;   /* in the stage, bytes */
  unsigned rows; /* a bit for each row of copies that exists */

  /* Where in the piece my first copy is. */
  static __device__ int first_row(int thread)
  {
    return BY_K ? thread / LANES : thread % LANES * V;
  }

  static __device__ int first_step(int thread)
  {
    return BY_K ? thread % LANES * V : thread / LANES;
  }

  static xg_walk64 plan(const double *x, int64_t outer, int64_t so, int64_t sk)
  {
    return {x, outer, so, sk, PASS * (BY_K ? so : sk), 16 * sk, 16 * WK * sk};
  }

  __device__ xg_loader64(const xg_walk64 &w, int64_t origin, int64_t first_k)
  {
    int thread = xg_thread_anew(), row = first_row(thread), step = first_step(thread);
    from = w.x + (origin + row) * w.so + (first_k + step) * w.sk;
    to = (unsigned)slice::at(row, step) * 8;
    int64_t rest = w.outer - origin - row;
    rows = 0;
    for (int r = 0; r < ROWS; r++) rows |= (unsigned)((BY_K ? r * PASS : 0) < rest) << r;
    asm volatile("" : "+r"(rows)); /* or it is worked out again and again */
  }

  /* Starts my copies of the piece at `from`, if `on`. Rows that do not exist keep what was there:
   * it reaches only elements of C that do not exist. */
  __device__ void copy(const xg_walk64 &w, unsigned stage, bool on) const
  {
    unsigned live = on ? rows : 0;
#pragma unroll
    for (int c = 0; c < COUNT; c++)
      xg_copy64<V>(stage + to + place(c), source(w, c), live & 1u << c / SLICES);
  }

  /* The same of the piece `skip` elements further on, of which only the first `ks` steps exist:
   * zeros for the others. */
  __device__ void copy_part(const xg_walk64 &w, unsigned stage, int ks, int64_t skip) const
  {
    ks -= first_step(xg_thread_anew());
#pragma unroll
    for (int c = 0; c < COUNT; c++) {
      int steps = ks - (BY_K ? c % SLICES * 16 : c * PASS); /* from this copy's on */
      int count = steps <= 0 ? 0 : BY_K && steps < V ? steps : V;
      xg_copy_some64<V>(stage + to + place(c), source(w, c) + skip,
                        rows & 1u << c / SLICES ? count : 0);
    }
  }

  __device__ const double *source(const xg_walk64 &w, int c) const
  {
    return from + c / SLICES * w.step + c % SLICES * w.slice;
  }

  static __device__ constexpr unsigned place(int c)
  {
    return (BY_K ? c % SLICES * slice::SIZE + c / SLICES * PASS * 16 : c * PASS * slice::LD) * 8;
  }
};

#endif
