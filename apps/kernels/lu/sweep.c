#include "sweep.h"

#include "../flow/flux.h"

/* r := D^-1 r, with D at the point with state u.  D = 1 + 2 dt / h^2 (derivative of the potentials of all three axes)
 * couples each component only to earlier ones, so a forward substitution solves it. */
FLUX_INLINE void solve_diagonal(const Problem *problem, const double *u, double r[5])
{
  const double d = FLUX_DISSIPATION[0] + FLUX_DISSIPATION[1] + FLUX_DISSIPATION[2];
  const double stretch = FLUX_STRETCH + 2, heat = 3 * FLUX_HEAT;
  double scale = 2 * problem->dt * problem->second, own = 1 + scale * d;
  double per_mass = 1 / u[0], viscous = scale * FLUX_VISCOSITY * per_mass;
  double momentum = 1 / (own + viscous * stretch), carried = 0;
  r[0] /= own;
#pragma GCC unroll 3
  for (int m = 1; m < 4; m++) {
    double w = u[m] * per_mass;
    r[m] = (r[m] + viscous * stretch * w * r[0]) * momentum;
    carried += w * (r[m] - w * r[0]);
  }
  r[4] = (r[4] - viscous * ((stretch - heat) * carried - heat * u[4] * per_mass * r[0])) / (own + viscous * heat);
}

/* sum += the coupling to the neighbour along the axis, whose state is u, times the neighbour's v. */
FLUX_INLINE void couple(const Problem *problem, const double *u, const double *v, double sum[5], const int axis,
                        const int way)
{
  Flux change = flux_derivative(u, v, axis);
#pragma GCC unroll 5
  for (int m = 0; m < 5; m++)
    sum[m] -= way * problem->first * change.convective[m] + problem->second * change.potential[m];
}

FLUX_INLINE void solve_point(const Relaxation *relaxation, const Box *box, const double *u, double *v, const int way)
{
  double sum[5] = {0};
  ptrdiff_t z = way * box->stride[2], y = way * box->stride[1], x = way * box->stride[0];
  couple(&relaxation->problem, u - z, v - z, sum, 2, way);
  couple(&relaxation->problem, u - y, v - y, sum, 1, way);
  couple(&relaxation->problem, u - x, v - x, sum, 0, way);
  double scale = relaxation->omega * relaxation->problem.dt;
#pragma GCC unroll 5
  for (int m = 0; m < 5; m++)
    sum[m] = way > 0 ? v[m] - scale * sum[m] : scale * sum[m];
  solve_diagonal(&relaxation->problem, u, sum);
#pragma GCC unroll 5
  for (int m = 0; m < 5; m++)
    v[m] = way > 0 ? sum[m] : v[m] - sum[m];
}

FLUX_INLINE void solve_plane(const Relaxation *relaxation, const Box *box, int k, double *u, double *v, const int way)
{
  int rows = box->end[1] - box->first[1], points = box->end[0] - box->first[0];
  for (int b = 0; b < rows; b++) {
    int j = way > 0 ? box->first[1] + b : box->end[1] - 1 - b;
    int i = way > 0 ? box->first[0] : box->end[0] - 1;
    const double *state = box_at(box, u, i, j, k);
    double *unknown = box_at(box, v, i, j, k);
    for (int a = 0; a < points; a++, state += way * box->stride[0], unknown += way * box->stride[0])
      solve_point(relaxation, box, state, unknown, way);
  }
}

void sweep_plane(const Relaxation *relaxation, const Box *box, int k, int way, double *u, double *v)
{
  if (way > 0)
    solve_plane(relaxation, box, k, u, v, 1);
  else
    solve_plane(relaxation, box, k, u, v, -1);
}
