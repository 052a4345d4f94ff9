/* The GPU engine of a build without CUDA: it is in the table, and says why it can't. */
#include <stdio.h>

#include "../common/backend.h"
#include "../common/status.h"

static const char reason[] = "this build of libxgemm has no CUDA (configure said why)";

static const char *available(int start)
{
  (void)start;
  return reason;
}

static const char *ok(const struct xg_problem *p, const struct xg_request *r, char *why,
                      size_t size)
{
  (void)p, (void)r, (void)why, (void)size;
  return reason;
}

static xgemm_status choose(const struct xg_problem *p, const struct xg_request *r,
                           struct xg_choice *out)
{
  (void)p, (void)r, (void)out;
  return xg_fail(XGEMM_NO_DEVICE, "this backend can't, because %s", reason);
}

static xgemm_status run(const struct xg_choice *c, const struct xg_problem *p,
                        const struct xg_request *r)
{
  (void)c;
  return choose(p, r, NULL);
}

static int kernel_count(void)
{
  return 0;
}

static struct xg_kernel_info kernel_info(int index)
{
  (void)index;
  return (struct xg_kernel_info){.name = "", .family = "", .reason = reason};
}

static xgemm_status release_memory(void)
{
  return XGEMM_OK;
}

static void describe_machine(void *file)
{
  fprintf(file, "gpu: %s\n", reason);
}

const struct xg_backend xg_backend_gpu = {
    .name = "gpu",
    .id = XGEMM_BACKEND_GPU,
    .available = available,
    .ok = ok,
    .choose = choose,
    .run = run,
    .kernel_count = kernel_count,
    .kernel_info = kernel_info,
    .release_memory = release_memory,
    .describe_machine = describe_machine,
};
