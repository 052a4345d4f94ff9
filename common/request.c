/* What a call asks for: its own options, then xgemm_set_defaults(), then the environment. */
#include <pthread.h>
#include <string.h>

#include "env.h"
#include "plan.h"
#include "status.h"

/* Why the BLAS names and default calls may not take the straight way to the tiny path. */
enum { SLOW_UNINITIALISED = 1, SLOW_ENVIRONMENT = 2, SLOW_DEFAULTS = 4 };

atomic_int xg_slow_word = SLOW_UNINITIALISED;

/* The engine with a tiny path; set before the word is cleared. */
int (*xg_tiny)(const struct xg_problem *p);

/* xgemm_set_defaults(); each field stands alone, so they need no lock. 0 or NULL: the
 * environment's. */
static struct {
  atomic_int backend, threads, device, deterministic;
  const char *_Atomic kernel;
} defaults;

/* The environment's kernel in the registry's own spelling, NULL if there is none of that name. */
static const char *environment_kernel;

const char *xg_registry_name(const char *name, xgemm_type *type)
{
  const struct xg_backend *owner = xg_backend_of_kernel(name);
  for (int i = 0; owner && i < owner->kernel_count(); i++) {
    struct xg_kernel_info info = owner->kernel_info(i);
    if (strcmp(info.name, name) == 0) {
      if (type) *type = info.type;
      return info.name;
    }
  }
  return NULL;
}

/* Whether what is forced keeps even the smallest products from the CPU's tiny path, which has one
 * thread, no choice of kernel and the same bits every time. */
static int leaves_tiny_path(xgemm_backend backend, const char *kernel)
{
  return (backend != XGEMM_BACKEND_AUTO && backend != XGEMM_BACKEND_CPU) || kernel;
}

static void initialise(void)
{
  const struct xg_env *env = xg_env();
  if (env->kernel) {
    environment_kernel = xg_registry_name(env->kernel, NULL);
    if (!environment_kernel) xg_env_complain("XGEMM_KERNEL");
  }
  for (int i = 0; xg_backends[i]; i++)
    if (xg_backends[i]->tiny) xg_tiny = xg_backends[i]->tiny;
  if (!xg_tiny || leaves_tiny_path(env->backend, environment_kernel) || env->verbose)
    atomic_fetch_or(&xg_slow_word, SLOW_ENVIRONMENT);
  atomic_fetch_and(&xg_slow_word, ~SLOW_UNINITIALISED);
}

static void initialise_once(void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, initialise);
}

int xg_environment_problems(void)
{
  initialise_once();
  return xg_env()->problems + (xg_env()->kernel && !environment_kernel);
}

xgemm_status xgemm_set_defaults(const xgemm_options *options)
{
  static const xgemm_options none = XGEMM_OPTIONS_INIT;
  struct xg_request checked;
  xgemm_status status = xg_request_from_public(&checked, options);
  if (status != XGEMM_OK) return status;
  if (!options) options = &none;
  if (options->stream)
    return xg_fail(XGEMM_INVALID_ARGUMENT, "options.stream cannot be a default; pass it per call");
  atomic_store(&defaults.backend, (int)options->backend);
  atomic_store(&defaults.threads, options->threads);
  atomic_store(&defaults.device, options->device);
  atomic_store(&defaults.deterministic, options->deterministic);
  atomic_store(&defaults.kernel, options->kernel ? xg_registry_name(options->kernel, NULL) : NULL);
  if (leaves_tiny_path(options->backend, options->kernel))
    atomic_fetch_or(&xg_slow_word, SLOW_DEFAULTS);
  else
    atomic_fetch_and(&xg_slow_word, ~SLOW_DEFAULTS);
  return XGEMM_OK;
}

static xgemm_status check_options(const xgemm_options *o)
{
  xgemm_status status = xg_check_layout("options", o, o->size, sizeof *o);
  if (status != XGEMM_OK) return status;
  if ((int)o->backend < XGEMM_BACKEND_AUTO || o->backend > XGEMM_BACKEND_REF)
    return xg_fail(XGEMM_INVALID_ARGUMENT, "options.backend is %d, not a known engine",
                   (int)o->backend);
  if (o->threads < 0)
    return xg_fail(XGEMM_INVALID_ARGUMENT, "options.threads is %d, negative", o->threads);
  if (o->device < 0)
    return xg_fail(XGEMM_INVALID_ARGUMENT, "options.device is %d, negative", o->device);
  if (o->deterministic < 0 || o->deterministic > 1)
    return xg_fail(XGEMM_INVALID_ARGUMENT, "options.deterministic is %d, not 0 or 1",
                   o->deterministic);
  if (o->kernel && !xg_registry_name(o->kernel, NULL))
    return xg_fail(XGEMM_UNKNOWN_NAME, "options.kernel: there is no kernel \"%.64s\"", o->kernel);
  return XGEMM_OK;
}

static int either(int first, int second)
{
  return first ? first : second;
}

int xg_default_threads(void)
{
  return either(atomic_load_explicit(&defaults.threads, memory_order_relaxed), xg_env()->threads);
}

xgemm_status xg_request_from_public(struct xg_request *out, const xgemm_options *options)
{
  static const xgemm_options none = XGEMM_OPTIONS_INIT;
  initialise_once();
  if (!options) options = &none;
  xgemm_status status = check_options(options);
  if (status != XGEMM_OK) return status;
  const struct xg_env *env = xg_env();
  int backend = either(options->backend, either(atomic_load(&defaults.backend), env->backend));
  *out = (struct xg_request){
      .backend = (xgemm_backend)backend,
      .threads = either(options->threads, atomic_load(&defaults.threads)),
      .device = either(options->device, atomic_load(&defaults.device)),
      .stream = options->stream,
      .deterministic =
          options->deterministic || atomic_load(&defaults.deterministic) || env->deterministic,
      .kernel = options->kernel ? xg_registry_name(options->kernel, NULL) : NULL,
  };
  return XGEMM_OK;
}

/* A kernel named by default serves the products of its own type and, if an engine is named too, of
 * that engine; one named by the call must fit. */
void xg_request_default_kernel(struct xg_request *r, const struct xg_problem *p)
{
  const char *name = atomic_load(&defaults.kernel);
  if (!name) name = environment_kernel;
  xgemm_type type;
  if (r->kernel || !name || !xg_registry_name(name, &type) || type != p->type) return;
  if (r->backend == XGEMM_BACKEND_AUTO || xg_backend_of_kernel(name)->id == r->backend)
    r->kernel = name;
}
