/* Other BLAS libraries, opened by name or path beside ours and called through their CBLAS. */
#ifndef XGB_PEERS_H
#define XGB_PEERS_H

#include "case.h"

enum { XGB_MAX_PEERS = 10 };

struct xgb_peer {
  char name[XGB_NAME];
  char path[256];      /* what the loader found */
  char version[160];   /* as the library tells it, "" if it does not */
  char threads_by[48]; /* the function that sets the thread count, "" if there is none */
  void *library;
  void *sgemm, *dgemm; /* cblas_sgemm, cblas_dgemm with 32-bit integers */
  void *set_threads;
  void *kernel_maker; /* xg_peer_kernel (bench/peers/peer.h), or NULL */
  int is_cublas;
};

/* "openblas", "blis", "mkl", ... , a path (with a slash), "cublas"; any other NAME is looked for as
 * libNAME.so. A trailing '?' makes it optional: 1 is returned and nothing printed if it is not
 * there. Returns 0, 1, or -1 after a message. */
int xgb_peer_open(struct xgb_peer *peer, const char *name);

/* The paths of DIR/lib*.so, in order of their names: how many, or -1 after a message. */
int xgb_peers_in(const char *folder, char (*paths)[256], int most);

/* NULL, or why this case cannot be given to it. */
const char *xgb_peer_refuses(const struct xgb_peer *peer, const struct xgb_case *c);

/* A function that the peer generates for this product alone; NULL if it does not. */
typedef void xgb_peer_kernel(const void *a, const void *b, void *c);
xgb_peer_kernel *xgb_peer_generate(const struct xgb_peer *peer, const struct xgb_case *c);

void xgb_peer_threads(const struct xgb_peer *peer, int threads);
void xgb_peer_call(const struct xgb_peer *peer, const struct xgb_case *c, const void *a,
                   const void *b, void *out);

#endif
