/* The contestants: our engines (host or device operands) and the peers, behind one face. */
#ifndef XGB_CONTEST_H
#define XGB_CONTEST_H

#include "case.h"
#include "cublas.h"
#include "operands.h"
#include "peers.h"

enum xgb_kind {
  XGB_OWN,        /* host operands */
  XGB_OWN_DEVICE, /* device operands */
  XGB_PEER,
  XGB_PEER_KERNEL, /* a function that a peer generated for the case */
  XGB_CUBLAS       /* device operands; the faster of its two entries */
};

/* By which of our entry points. */
enum xgb_via { XGB_VIA_XGEMM, XGB_VIA_PLAN, XGB_VIA_CBLAS };

struct xgb_contestant {
  char name[XGB_NAME];
  enum xgb_kind kind;
  xgemm_backend backend;
  const char *kernel; /* forced, or NULL */
  enum xgb_via via;
  int threads;   /* 0: those of the case */
  int held;      /* timed apart: our plan or the peer's generated kernel */
  int candidate; /* one of --kernels */
  const struct xgb_peer *peer;
  /* of the case at hand */
  const struct xgb_case *c;
  struct xgb_operands *o;
  xgemm_problem p;
  xgemm_options options;
  xgemm_plan *plan;
  xgb_peer_kernel *generated;
  struct xgb_cublas_plan cublas;
  enum xgb_cublas_entry entry;
  long first; /* set of device operands that call 0 takes */
};

int xgb_on_device(const struct xgb_contestant *x);

/* Gets ready for a case. Fills backend, kernel, threads and peak of `r`; returns 0, or -1 with the
 * reason in r->reason: it cannot do it, or another engine than the one asked for would. */
int xgb_contestant_prepare(struct xgb_contestant *x, const struct xgb_case *c,
                           struct xgb_operands *o, double longest, struct xgb_result *r);
/* Before a contestant's own calls: sets the peer's thread count. */
void xgb_contestant_enter(struct xgb_contestant *x);
/* Chooses the entry of a peer that has several: its name goes to r->kernel. */
void xgb_contestant_enter_by(struct xgb_contestant *x, int entry, struct xgb_result *r);
/* One call on set `first + i` of the operands; the host has only one. 0, or an error. Queues only,
 * on the device. Suits xgb_device_time(). */
int xgb_contestant_call(void *contestant, long i);
void xgb_contestant_done(struct xgb_contestant *x);

/* Which engine AUTO takes for this case with host operands; "-" if none. */
const char *xgb_auto_engine(const struct xgb_case *c);

/* Threads that a case means: its own number, or what the machine offers. */
int xgb_case_threads(const struct xgb_case *c);

#endif
