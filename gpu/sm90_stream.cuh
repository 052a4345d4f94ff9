/* Which pieces of which tiles of C each block of an sm90 kernel takes: the host deals, each block's
 * loaders and multipliers walk through its share alike.
 *
 * Tiles that come out even are taken whole. The others are streamed: they are one row of pieces
 * that is cut into equal ranges, one a block.
 *
 *      tile 0          tile 1          tile 2
 *     |===============|===============|=========== ..
 *     |-- rank 0 --|-- rank 1 --|-- rank 2 --|-- ..
 *
 * The block that has the first pieces of a tile adds to its sums those of the others, in order.
 * A rank's part of a tile begun by another is the first thing that it does, and its own tile,
 * unfinished, the last of its range: nobody waits long, and only for blocks of a lower number,
 * which were started before. */
#ifndef XG_SM90_STREAM_CUH
#define XG_SM90_STREAM_CUH

#include "launch.cuh"

/* Tiles in the last row or column of tiles of which half the warps or fewer have a part in C are
 * "thin": they take half the time and so count half. Cost is counted in pieces; two pieces of a
 * thin tile are 1. Numbers are of 32 bits, since division of longer ones delays a block's first
 * load. */
struct xg_deal {
  int rows, cols;         /* of tiles that are not thin */
  int thin_row, thin_col; /* tiles of the last row and of the last column, if those are thin */
  int pieces;             /* of a tile */
  int cost, extra;        /* of a block's range; the first `extra` ranges are longer by 1 */
  int thin_cost;          /* of the thin tiles that are streamed: they come first */
  int streamed;           /* tiles, besides the thin ones */
  int all;                /* whole tiles are those from `streamed` to here */
  float *sums;            /* of streamed tiles: a tile for each block */
  int *ready;             /* for each warp of each block: whether they are there */

  __device__ int thin_pieces() const
  {
    return (pieces + 1) / 2;
  }

  bool streams() const
  {
    return cost > 0 || extra > 0;
  }
};

/* Pieces first .. first+count of the tile at (row,col). */
struct xg_segment {
  int row, col, first, count;

  /* The tile: those that are not thin in the order of xg_tile_of, then the thin ones. */
  __device__ void place(const xg_deal &d, int tile)
  {
    const int band = 8;
    if (tile >= d.rows * d.cols) {
      tile -= d.rows * d.cols;
      row = tile < d.thin_row ? d.rows : tile - d.thin_row;
      col = tile < d.thin_row ? tile : d.cols;
      return;
    }
    int top = tile / (band * d.cols) * band, within = tile % (band * d.cols);
    int height = d.rows - top < band ? d.rows - top : band;
    row = top + within % height, col = within / height;
  }
};

struct xg_share {
  int at, whole; /* where I am in the streamed tiles; the next tile that is mine whole */

  __device__ xg_share(const xg_deal &d) : at(start(d, rank())), whole(d.streamed + (int)blockIdx.x)
  {
  }

  static __device__ int rank()
  {
    return (int)(gridDim.x - 1 - blockIdx.x);
  }

  static __device__ int start(const xg_deal &d, int rank)
  {
    return rank * d.cost + (rank < d.extra ? rank : d.extra);
  }

  /* Where the tile that my range ends in ends. */
  static __device__ int tile_end(const xg_deal &d)
  {
    int end = start(d, rank() + 1), before = end <= d.thin_cost ? 0 : d.thin_cost;
    int each = end <= d.thin_cost ? d.thin_pieces() : d.pieces;
    return before + (end - before + each - 1) / each * each;
  }

  __device__ bool next(const xg_deal &d, xg_segment &s)
  {
    int end = start(d, rank() + 1);
    if (at < end) {
      bool thin = at < d.thin_cost;
      int before = thin ? 0 : d.thin_cost, each = thin ? d.thin_pieces() : d.pieces;
      int number = (at - before) / each, from = (at - before) % each;
      int part = each - from < end - at ? each - from : end - at;
      s.first = thin ? 2 * from : from;
      s.count = thin ? 2 * part : part;
      if (s.count > d.pieces - s.first) s.count = d.pieces - s.first;
      s.place(d, thin ? d.rows * d.cols + number : number);
      at += part;
    } else {
      if (whole >= d.all) return false;
      s.place(d, whole);
      s.first = 0, s.count = d.pieces;
      whole += (int)gridDim.x;
    }
    return true;
  }
};

/* ---------------------------------------------------------------- host */

/* Tiles are streamed if what they would leave idle is more than streaming costs. */
template <class S> xg_deal xg_deal_out(const xg_product<float> &p, int sms, int *blocks)
{
  const int64_t price = 48, parts = 4, half = S::WARPS / 2; /* steps of k; of a tile; warps */
  xg_deal d = {};
  int64_t rows = xg_tiles(p.m, S::BM), cols = xg_tiles(p.n, S::BN), pieces = xg_tiles(p.k, S::BK);
  int64_t tiles = rows * cols, thin_row = 0, thin_col = 0;
  if (S::GROUPS == 1) {
    int64_t down = xg_tiles(p.m - (rows - 1) * S::BM, S::WARP_TILE);
    int64_t across = xg_tiles(p.n - (cols - 1) * S::BN, S::WARP_TILE);
    if (down * S::WARPS_N <= half) thin_row = cols, rows--;
    if (across * S::WARPS_M <= half) thin_col = rows, cols--;
  }
  d.rows = (int)rows, d.cols = (int)cols, d.pieces = (int)pieces;
  d.thin_row = (int)thin_row, d.thin_col = (int)thin_col, d.all = (int)tiles;
  *blocks = (int)(S::GROUPS > 1 || tiles < sms ? tiles : sms); /* groups meet where the ring was */

  int64_t full = rows * cols, thin_cost = (thin_row + thin_col) * ((pieces + 1) / 2);
  int64_t cost = full * pieces + thin_cost, idle = xg_tiles(tiles, sms) * sms * pieces - cost;
  if (S::GROUPS > 1 || idle * S::BK <= price * sms) return d;
  int64_t most = tiles * (pieces < parts ? pieces : parts), b = most < sms ? most : sms;
  int64_t waves = cost / (b * pieces) - 1; /* of whole tiles */
  waves = waves < 0 ? 0 : waves > full / b ? full / b : waves;
  cost -= waves * b * pieces;
  if (cost > 0x7fffffff - pieces) return d;
  d.all = (int)full, d.streamed = (int)(full - waves * b), d.thin_cost = (int)thin_cost;
  d.cost = (int)(cost / b), d.extra = (int)(cost % b);
  *blocks = (int)b;
  return d;
}

#endif
