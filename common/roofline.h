/* Peaks, bandwidths, intensity and attainable time: used by the router, by info and by the bench.
 */
#ifndef XG_ROOFLINE_H
#define XG_ROOFLINE_H

#include "problem.h"

/* One engine's ceilings. Rates in flop/s and bytes/s. */
struct xg_ceiling {
  double peak;      /* for the type at hand, all units that take part */
  double bandwidth; /* main or device memory */
};

/* Flops per byte when each matrix moves once. */
double xg_intensity(const struct xg_problem *p);

/* attainable = min(peak, intensity * bandwidth), in flop/s. */
double xg_attainable(struct xg_ceiling c, double intensity);

/* The intensity where the two limits meet: peak / bandwidth. */
double xg_ridge(struct xg_ceiling c);

/* Seconds for the flops and for the ideal bytes. */
double xg_compute_seconds(struct xg_ceiling c, const struct xg_problem *p);
double xg_memory_seconds(struct xg_ceiling c, const struct xg_problem *p);

/* Intensity of a C tile tm x tn with elements of e bytes: 2 tm tn / (e (tm + tn)). */
double xg_tile_intensity(double tm, double tn, double e);

#endif
