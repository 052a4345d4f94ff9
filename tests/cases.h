/* For the programs t-cases-*. */
#ifndef CASES_H
#define CASES_H

#include <stdio.h>

#include "cm.h"
#include "product.h"
#include "xgemm.h"

static inline xgemm_options cpu(int threads)
{
  xgemm_options o = XGEMM_OPTIONS_INIT;
  o.backend = XGEMM_BACKEND_CPU, o.threads = threads;
  return o;
}

static inline void must_run(const xgemm_problem *p, const xgemm_options *o)
{
  xgemm_status status = xgemm(p, o);
  if (status != XGEMM_OK) fprintf(stderr, "%s\n", xgemm_last_reason());
  assert_int_equal(status, XGEMM_OK);
}

#endif
