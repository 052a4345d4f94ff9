#define _GNU_SOURCE
#include "peers.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "cublas.h"
#include "xgemm_cblas.h"

typedef void sgemm_fn(int, int, int, int, int, int, float, const float *, int, const float *, int,
                      float, float *, int);
typedef void dgemm_fn(int, int, int, int, int, int, double, const double *, int, const double *,
                      int, double, double *, int);

static const struct {
  const char *name;
  const char *files[4];
} known[] = {
    {"openblas", {"libopenblas.so.0", "libopenblas.so"}},
    {"blis", {"libblis.so.4", "libblis.so", "libblis-mt.so"}},
    {"mkl", {"libmkl_rt.so.2", "libmkl_rt.so"}},
    {"atlas", {"libtatlas.so.3", "libsatlas.so.3"}},
    {"nvpl", {"libnvpl_blas_lp64_gomp.so.0", "libnvpl_blas_lp64_seq.so.0"}},
    {"blas", {"libblas.so.3"}},
};

/* Deep binding keeps the peer's calls to its own gemm; the address sanitizer forbids it. */
static void *open_library(const char *file)
{
  /* OpenBLAS's threads yield in a loop for 2^28 cycles after a call before they sleep, in the way
   * of whoever is timed next; 2^20 still bridges calls in a row. */
  setenv("OPENBLAS_THREAD_TIMEOUT", "20", 0);
  int deep = dlsym(RTLD_DEFAULT, "__asan_init") ? 0 : RTLD_DEEPBIND;
  return dlopen(file, RTLD_NOW | RTLD_LOCAL | deep);
}

static void find_thread_setter(struct xgb_peer *peer)
{
  static const char *const setters[] = {"openblas_set_num_threads", "bli_thread_set_num_threads",
                                        "MKL_Set_Num_Threads", "nvpl_blas_set_num_threads",
                                        "omp_set_num_threads"};
  for (size_t i = 0; i < sizeof setters / sizeof *setters && !peer->set_threads; i++) {
    peer->set_threads = dlsym(peer->library, setters[i]);
    if (peer->set_threads) snprintf(peer->threads_by, sizeof peer->threads_by, "%s", setters[i]);
  }
}

static void find_version(struct xgb_peer *peer)
{
  const char *(*text)(void);
  *(void **)&text = dlsym(peer->library, "xg_peer_version");
  if (text) {
    snprintf(peer->version, sizeof peer->version, "%.150s", text());
    return;
  }
  const char *(*core)(void);
  void (*mkl)(char *, int);
  *(void **)&text = dlsym(peer->library, "openblas_get_config");
  *(void **)&core = dlsym(peer->library, "openblas_get_corename");
  if (text) {
    snprintf(peer->version, sizeof peer->version, "%.100s, core %.40s", text(),
             core ? core() : "?");
    return;
  }
  *(void **)&text = dlsym(peer->library, "bli_info_get_version_str");
  if (text) {
    snprintf(peer->version, sizeof peer->version, "BLIS %.100s", text());
    return;
  }
  *(void **)&mkl = dlsym(peer->library, "MKL_Get_Version_String");
  if (mkl) mkl(peer->version, sizeof peer->version);
}

static int not_there(const char *name, int optional, const char *why)
{
  if (optional) return 1;
  fprintf(stderr, "xgemm: cannot open the peer \"%s\": %s; known names: cublas", name, why);
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) fprintf(stderr, " %s", known[i].name);
  fputs("; or give the path of a .so with cblas_sgemm, or all\n", stderr);
  return -1;
}

static void open_by_name(struct xgb_peer *peer, const char *name)
{
  char file[300];
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    for (int f = 0; strcmp(known[i].name, name) == 0 && f < 4 && known[i].files[f]; f++)
      if ((peer->library = open_library(known[i].files[f]))) return;
  snprintf(file, sizeof file, "lib%s.so", name);
  peer->library = open_library(file);
}

/* "/usr/lib/libfoo-bar.so.3" -> "foo-bar" */
static void name_from_path(char *out, size_t size, const char *path)
{
  const char *base = strrchr(path, '/') + 1;
  if (strncmp(base, "lib", 3) == 0) base += 3;
  size_t length = strcspn(base, ".");
  snprintf(out, size, "%.*s", (int)(length < size ? length : size - 1), base);
}

int xgb_peer_open(struct xgb_peer *peer, const char *asked)
{
  char name[256];
  size_t length = strlen(asked);
  int optional = length > 0 && asked[length - 1] == '?';
  if (length == 0 || length >= sizeof name) return xgb_error("--peer: not a name: \"%s\"", asked);
  memcpy(name, asked, length + 1);
  if (optional) name[length - 1] = 0;

  memset(peer, 0, sizeof *peer);
  if (strcmp(name, "cublas") == 0) {
    const char *why = xgb_cublas_open(peer->version, sizeof peer->version);
    strcpy(peer->name, "cublas");
    peer->is_cublas = 1;
    return why ? not_there("cublas", optional, why) : 0;
  }
  if (strchr(name, '/')) {
    name_from_path(peer->name, sizeof peer->name, name);
    peer->library = open_library(name);
  } else {
    snprintf(peer->name, sizeof peer->name, "%.*s", XGB_NAME - 1, name);
    open_by_name(peer, name);
  }
  if (!peer->library) {
    const char *why = dlerror();
    return not_there(name, optional, why ? why : "not found");
  }
  peer->sgemm = dlsym(peer->library, "cblas_sgemm");
  peer->dgemm = dlsym(peer->library, "cblas_dgemm");
  if (!peer->sgemm && !peer->dgemm)
    return not_there(name, optional, "it has neither cblas_sgemm nor cblas_dgemm");
  Dl_info where;
  if (dladdr(peer->sgemm ? peer->sgemm : peer->dgemm, &where) && where.dli_fname)
    snprintf(peer->path, sizeof peer->path, "%s", where.dli_fname);
  peer->kernel_maker = dlsym(peer->library, "xg_peer_kernel");
  find_thread_setter(peer);
  find_version(peer);
  return 0;
}

static int is_library(const struct dirent *entry)
{
  return fnmatch("lib*.so", entry->d_name, 0) == 0;
}

int xgb_peers_in(const char *folder, char (*paths)[256], int most)
{
  struct dirent **names;
  int count = scandir(folder, &names, is_library, alphasort), bad = 0;
  if (count < 0) return xgb_error("--peers %s: %s", folder, strerror(errno));
  for (int i = 0; i < count; i++) {
    if (i < most &&
        snprintf(paths[i], sizeof *paths, "%s/%s", folder, names[i]->d_name) >= (int)sizeof *paths)
      bad = 1;
    free(names[i]);
  }
  free(names);
  if (bad) return xgb_error("--peers %s: the path is too long", folder);
  return count > most ? xgb_error("--peers %s: more than %d libraries", folder, most) : count;
}

const char *xgb_peer_refuses(const struct xgb_peer *peer, const struct xgb_case *c)
{
  if (c->type == XGEMM_F64 ? !peer->dgemm : !peer->sgemm)
    return c->type == XGEMM_F64 ? "it has no cblas_dgemm" : "it has no cblas_sgemm";
  if (c->m > INT_MAX || c->n > INT_MAX || c->k > INT_MAX || c->lda > INT_MAX || c->ldb > INT_MAX ||
      c->ldc > INT_MAX)
    return "its sizes are 32-bit integers";
  if (c->threads > 1 && !peer->set_threads) return "no function to set its number of threads";
  return NULL;
}

xgb_peer_kernel *xgb_peer_generate(const struct xgb_peer *peer, const struct xgb_case *c)
{
  xgb_peer_kernel *(*make)(int, int, int, int, int, int, int, double, int, int, double, int);
  *(void **)&make = peer->kernel_maker;
  if (!make || xgb_peer_refuses(peer, c)) return NULL;
  return make(c->type == XGEMM_F64, c->row_major ? CblasRowMajor : CblasColMajor,
              c->transa == 'T' ? CblasTrans : CblasNoTrans,
              c->transb == 'T' ? CblasTrans : CblasNoTrans, (int)c->m, (int)c->n, (int)c->k,
              c->alpha, (int)c->lda, (int)c->ldb, c->beta, (int)c->ldc);
}

void xgb_peer_threads(const struct xgb_peer *peer, int threads)
{
  void (*set)(int);
  *(void **)&set = peer->set_threads;
  if (set && threads > 0) set(threads);
}

void xgb_peer_call(const struct xgb_peer *peer, const struct xgb_case *c, const void *a,
                   const void *b, void *out)
{
  int layout = c->row_major ? CblasRowMajor : CblasColMajor;
  int ta = c->transa == 'T' ? CblasTrans : CblasNoTrans;
  int tb = c->transb == 'T' ? CblasTrans : CblasNoTrans;
  sgemm_fn *sgemm;
  dgemm_fn *dgemm;
  *(void **)&sgemm = peer->sgemm;
  *(void **)&dgemm = peer->dgemm;
  if (c->type == XGEMM_F64)
    dgemm(layout, ta, tb, (int)c->m, (int)c->n, (int)c->k, c->alpha, a, (int)c->lda, b, (int)c->ldb,
          c->beta, out, (int)c->ldc);
  else
    sgemm(layout, ta, tb, (int)c->m, (int)c->n, (int)c->k, (float)c->alpha, a, (int)c->lda, b,
          (int)c->ldb, (float)c->beta, out, (int)c->ldc);
}
