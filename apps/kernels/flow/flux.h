/* The fluxes of the compressible Navier-Stokes equations along one axis, and their derivatives.
 *
 * A state is density, three momenta, energy: u[0], u[1..3], u[4].  Names in the comments are those of Bailey et al.,
 * RNR-94-007, chapter 3: with velocity w = momentum / density and pressure p, the convective flux along the axis is
 *     momentum[axis],  w[axis] momentum + p (for the axis itself),  w[axis] (energy + p)
 * and the diffusive flux is the gradient of the potential computed here: viscous and heat terms of velocity and
 * temperature, plus the benchmark's artificial second-order dissipation d u. */
#ifndef FLOW_FLUX_H
#define FLOW_FLUX_H

#define FLUX_GAMMA 1.4         /* k1, ratio of specific heats */
#define FLUX_GAS 0.4           /* k2 = k1 - 1 */
#define FLUX_VISCOSITY 0.1     /* k3 k4 */
#define FLUX_HEAT (1.4 * 1.4)  /* k1 k5: heat conduction relative to viscosity */
#define FLUX_STRETCH (4.0 / 3) /* viscosity along the flow relative to across it */

static const double FLUX_DISSIPATION[3] = {0.75, 0.75, 1.0}; /* d along x, y, z */

typedef struct {
  double convective[5], potential[5]; /* F(u), and G(u), whose gradient is the diffusive flux */
} Flux;

/* All callers pass a constant axis, so the compiler resolves the selections by axis.  Loops over components are
 * unrolled for the same reason, and to keep these small arrays in registers. */
#define FLUX_INLINE static inline __attribute__((always_inline))

FLUX_INLINE double flux_pressure(const double *u)
{
  return FLUX_GAS * (u[4] - 0.5 * (u[1] * u[1] + u[2] * u[2] + u[3] * u[3]) / u[0]);
}

FLUX_INLINE Flux flux_of(const double *u, int axis)
{
  double per_mass = 1 / u[0], w[3] = {u[1] * per_mass, u[2] * per_mass, u[3] * per_mass};
  double along = w[axis], square = w[0] * w[0] + w[1] * w[1] + w[2] * w[2];
  double pressure = FLUX_GAS * (u[4] - 0.5 * u[0] * square), d = FLUX_DISSIPATION[axis];
  Flux f;
  f.convective[0] = u[1 + axis];
  f.potential[0] = d * u[0];
#pragma GCC unroll 3
  for (int m = 0; m < 3; m++) {
    f.convective[1 + m] = u[1 + m] * along + (m == axis ? pressure : 0);
    f.potential[1 + m] = d * u[1 + m] + FLUX_VISCOSITY * (m == axis ? FLUX_STRETCH : 1) * w[m];
  }
  f.convective[4] = (u[4] + pressure) * along;
  f.potential[4] = d * u[4] + FLUX_VISCOSITY * (0.5 * (1 - FLUX_HEAT) * square +
                                                0.5 * (FLUX_STRETCH - 1) * along * along + FLUX_HEAT * u[4] * per_mass);
  return f;
}

/* Returns the Jacobians of both at u, times v. */
FLUX_INLINE Flux flux_derivative(const double *u, const double *v, int axis)
{
  double per_mass = 1 / u[0], w[3] = {u[1] * per_mass, u[2] * per_mass, u[3] * per_mass};
  double along = w[axis], energy = u[4] * per_mass, d = FLUX_DISSIPATION[axis];
  double square = w[0] * w[0] + w[1] * w[1] + w[2] * w[2];
  double dw[3] = {(v[1] - w[0] * v[0]) * per_mass, (v[2] - w[1] * v[0]) * per_mass, (v[3] - w[2] * v[0]) * per_mass};
  double pressure = FLUX_GAS * (v[4] + 0.5 * square * v[0] - w[0] * v[1] - w[1] * v[2] - w[2] * v[3]);
  double enthalpy = FLUX_GAMMA * energy - 0.5 * FLUX_GAS * square; /* (energy + p) / density */
  Flux f;
  f.convective[0] = v[1 + axis];
  f.potential[0] = d * v[0];
#pragma GCC unroll 3
  for (int m = 0; m < 3; m++) {
    f.convective[1 + m] = along * v[1 + m] + u[1 + m] * dw[axis] + (m == axis ? pressure : 0);
    f.potential[1 + m] = d * v[1 + m] + FLUX_VISCOSITY * (m == axis ? FLUX_STRETCH : 1) * dw[m];
  }
  f.convective[4] = along * (v[4] + pressure) + u[0] * enthalpy * dw[axis];
  f.potential[4] = d * v[4] + FLUX_VISCOSITY * ((1 - FLUX_HEAT) * (w[0] * dw[0] + w[1] * dw[1] + w[2] * dw[2]) +
                                                (FLUX_STRETCH - 1) * along * dw[axis] +
                                                FLUX_HEAT * (v[4] - energy * v[0]) * per_mass);
  return f;
}

#endif
