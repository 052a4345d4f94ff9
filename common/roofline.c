#include "roofline.h"

double xg_intensity(const struct xg_problem *p)
{
  double bytes = xg_ideal_bytes(p);
  return bytes > 0 ? xg_flops(p) / bytes : 0;
}

double xg_attainable(struct xg_ceiling c, double intensity)
{
  double fed = intensity * c.bandwidth;
  return fed < c.peak ? fed : c.peak;
}

double xg_ridge(struct xg_ceiling c)
{
  return c.peak / c.bandwidth;
}

double xg_compute_seconds(struct xg_ceiling c, const struct xg_problem *p)
{
  return xg_is_scale_only(p) ? 0 : xg_flops(p) / c.peak;
}

double xg_memory_seconds(struct xg_ceiling c, const struct xg_problem *p)
{
  return xg_ideal_bytes(p) / c.bandwidth;
}

double xg_tile_intensity(double tm, double tn, double e)
{
  return 2 * tm * tn / (e * (tm + tn));
}
