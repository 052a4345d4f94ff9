#include "backend.h"

#include <string.h>

const struct xg_backend *const xg_backends[] = {&xg_backend_gpu, &xg_backend_cpu, &xg_backend_ref,
                                                NULL};

const struct xg_backend *xg_backend_by_id(xgemm_backend id)
{
  for (int i = 0; xg_backends[i]; i++)
    if (xg_backends[i]->id == id) return xg_backends[i];
  return NULL;
}

const struct xg_backend *xg_backend_of_kernel(const char *name)
{
  for (int i = 0; xg_backends[i]; i++)
    for (int j = 0; j < xg_backends[i]->kernel_count(); j++)
      if (strcmp(xg_backends[i]->kernel_info(j).name, name) == 0) return xg_backends[i];
  return NULL;
}
