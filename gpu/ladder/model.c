#include "model.h"

#include <string.h>

/* One tile for all sizes. */
#define ALL(...)                                                                                   \
  {                                                                                                \
    __VA_ARGS__, __VA_ARGS__, __VA_ARGS__                                                          \
  }

/* As the kernels' files have them. From rung 8 on shared memory is that of row-major operands. */
/* clang-format off */
const struct xg_rung xg_ladder[] = {
  /*                  bm   bn  bk  tm  tn  wm   wn st threads shared blocks */
  {"1", "sgemm_ladder_1_naive", "one thread, one element", 's', 10, ALL(
                   { 16,  16,  1,  1,  1,  2,  16, 0,  256,     0, 8})},
  {"2", "sgemm_ladder_2_tiled", "T x T tiles in shared memory", 's', 20, ALL(
                   { 32,  32, 32,  1,  1,  1,  32, 1, 1024,  8192, 2})},
  {"3", "sgemm_ladder_3_coalesced", "neighbouring threads, neighbouring addresses; padded rows", 's', 30, ALL(
                   { 32,  32, 32,  1,  1,  1,  32, 1, 1024,  9216, 2})},
  {"4", "sgemm_ladder_4_double", "load tile t+1 while computing t", 's', 40, ALL(
                   { 32,  32, 32,  1,  1,  1,  32, 2, 1024, 18432, 2})},
  {"5", "sgemm_ladder_5_blocked", "8 x 8 elements a thread, outer products", 's', 70, {
                   { 64,  64,  8,  4,  8, 16,  64, 1,  128,  4352, 4},
                   {128, 128,  8,  8,  8, 16, 128, 2,  256, 16896, 2},
                   {128, 256,  8, 16,  8, 16, 256, 2,  256, 25088, 1}}},
  {"5b", "sgemm_ladder_5b_warp", "block, warp and thread tiles", 's', 0, {
                   { 64,  64,  8,  4,  8, 16,  64, 1,  128,  4352, 4},
                   {128, 128,  8,  8,  8, 32,  64, 2,  256, 16896, 2},
                   {128, 256,  8, 16,  8, 64,  64, 2,  256, 25088, 1}}},
  {"6", "sgemm_ladder_6_fused", "bias and ReLU in the epilogue", 's', 81, {
                   { 64,  64,  8,  4,  8, 16,  64, 1,  128,  4352, 4},
                   {128, 128,  8,  8,  8, 32,  64, 2,  256, 16896, 2},
                   {128, 256,  8, 16,  8, 64,  64, 2,  256, 25088, 1}}},
  {"7", "sgemm_ladder_7_vector", "16-byte loads and stores", 's', 89, {
                   { 64,  64,  8,  4,  8, 16,  64, 1,  128,  4352, 4},
                   {128, 128,  8,  8,  8, 32,  64, 2,  256, 16896, 2},
                   {128, 256,  8, 16,  8, 64,  64, 2,  256, 25088, 1}}},
  {"8", "sgemm_ladder_8_async", "asynchronous copies, several pieces under way", 's', 0, {
                   { 64,  64,  8,  4,  8, 16,  64, 3,  128, 13056, 4},
                   {128, 128,  8,  8,  8, 32,  64, 4,  256, 33792, 2},
                   {128, 256,  8, 16,  8, 64,  64, 3,  256, 37632, 1}}},
  {"9", "hgemm_ladder_9_wmma", "Tensor Cores by WMMA, fp16", 'h', 0, {
                   { 64,  64, 32, 32, 32, 32,  32, 2,  128, 19456, 7},
                   {128, 128, 64, 64, 32, 64,  32, 3,  256, 107520, 2},
                   {128, 256, 64, 64, 64, 64,  64, 3,  256, 156672, 1}}},
  {"9", "bgemm_ladder_9_wmma", "Tensor Cores by WMMA, bf16", 'b', 0, {
                   { 64,  64, 32, 32, 32, 32,  32, 2,  128, 19456, 7},
                   {128, 128, 64, 64, 32, 64,  32, 3,  256, 107520, 2},
                   {128, 256, 64, 64, 64, 64,  64, 3,  256, 156672, 1}}},
  {"9b", "hgemm_ladder_9b_mma", "mma.sync with ldmatrix, fp16", 'h', 0, {
                   { 64,  64, 32, 32, 32, 32,  32, 2,  128, 19456, 5},
                   {128, 128, 64, 64, 32, 64,  32, 3,  256, 107520, 1},
                   {128, 256, 64, 64, 64, 64,  64, 3,  256, 156672, 1}}},
  {"9b", "bgemm_ladder_9b_mma", "mma.sync with ldmatrix, bf16", 'b', 0, {
                   { 64,  64, 32, 32, 32, 32,  32, 2,  128, 19456, 5},
                   {128, 128, 64, 64, 32, 64,  32, 3,  256, 107520, 1},
                   {128, 256, 64, 64, 64, 64,  64, 3,  256, 156672, 1}}},
  {0}};
/* clang-format on */

static const char *const names[] = {"any", "small", "medium", "large"};

const char *xg_size_class_name(enum xg_size_class size)
{
  return names[size];
}

int xg_size_class_named(const char *name)
{
  for (int i = 0; i < 4; i++)
    if (strcmp(name, names[i]) == 0) return i;
  return -1;
}

const struct xg_rung *xg_rung_of(const char *kernel)
{
  for (const struct xg_rung *r = xg_ladder; r->kernel; r++)
    if (strcmp(r->kernel, kernel) == 0) return r;
  return NULL;
}

static double up(int64_t extent, int tile)
{
  return (double)((extent + tile - 1) / tile);
}

static double element_bytes(char type)
{
  return type == 'd' ? 8 : type == 's' ? 4 : 2;
}

static double sum_bytes(char type)
{
  return type == 'd' ? 8 : 4;
}

struct xg_rung_model xg_rung_model(const struct xg_rung *rung, int64_t m, int64_t n, int64_t k,
                                   double beta, enum xg_size_class size, int sms)
{
  if (size == XG_SIZE_ANY) size = xg_size_class_of(m, n);
  const struct xg_rung_tile *t = &rung->tile[size - XG_SIZE_SMALL];
  double e = element_bytes(rung->type), M = (double)m, N = (double)n, K = (double)k;
  double c = (beta == 0 ? 1 : 2) * M * N * sum_bytes(rung->type);
  double down = up(m, t->bm), across = up(n, t->bn);
  struct xg_rung_model x = {.size = size, .tile = *t, .flops = 2 * M * N * K};

  x.ideal_bytes = e * (M * K + K * N) + c;
  x.tiled_bytes = t->shared ? e * (M * K * across + K * N * down) + c : e * 2 * M * N * K + c;
  x.ideal_intensity = x.flops / x.ideal_bytes, x.tiled_intensity = x.flops / x.tiled_bytes;
  if (t->shared) { /* what is outside C is computed too, and thrown away */
    double padded = down * t->bm * across * t->bn * up(k, t->bk) * t->bk;
    x.shared_bytes = e * padded * (1.0 / t->tm + 1.0 / t->tn);
    x.delivered_bytes = e * padded * (1.0 / t->wm + 1.0 / t->wn);
  }
  x.tiles = down * across;
  x.waves = (double)(((int64_t)x.tiles + sms - 1) / sms);
  x.fill = x.tiles / (x.waves * sms);
  return x;
}

double xg_pass_bytes(int64_t m, int64_t n, char type)
{
  return 2 * (double)m * (double)n * sum_bytes(type);
}
