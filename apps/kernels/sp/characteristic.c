#include "characteristic.h"

#include <math.h>

#include "../flow/flux.h"

/* A change of the state: of density less what the pressure's change explains, of the velocity, and of the pressure over
 * density and speed of sound. */
typedef struct {
  double entropy, velocity[3], pressure;
} Change;

/* The Jacobian along an axis has the eigenvalue w[axis] three times, then w[axis] + c and w[axis] - c.  The first three
 * variables are the entropy along the axis, and across it the velocity's product with the axis. */
FLUX_INLINE void to_characteristic(const Change *change, double *v, const int axis)
{
  const int next = (axis + 1) % 3, last = (axis + 2) % 3;
  v[axis] = change->entropy;
  v[next] = change->velocity[last];
  v[last] = -change->velocity[next];
  v[3] = M_SQRT1_2 * (change->pressure + change->velocity[axis]);
  v[4] = M_SQRT1_2 * (change->pressure - change->velocity[axis]);
}

FLUX_INLINE Change of_characteristic(const double *v, const int axis)
{
  const int next = (axis + 1) % 3, last = (axis + 2) % 3;
  Change change = {.entropy = v[axis], .pressure = M_SQRT1_2 * (v[3] + v[4])};
  change.velocity[axis] = M_SQRT1_2 * (v[3] - v[4]);
  change.velocity[last] = v[next];
  change.velocity[next] = -v[last];
  return change;
}

static inline void begin_at(const double *u, double *v)
{
  double per_mass = 1 / u[0], w[3] = {u[1] * per_mass, u[2] * per_mass, u[3] * per_mass};
  double square = w[0] * w[0] + w[1] * w[1] + w[2] * w[2];
  double sound = FLUX_GAMMA * flux_pressure(u) * per_mass; /* the square of the speed of sound */
  double pressure = FLUX_GAS * (0.5 * square * v[0] - w[0] * v[1] - w[1] * v[2] - w[2] * v[3] + v[4]);
  Change change = {.entropy = v[0] - pressure / sound, .pressure = pressure * per_mass / sqrt(sound)};
  for (int m = 0; m < 3; m++)
    change.velocity[m] = (v[1 + m] - w[m] * v[0]) * per_mass;
  to_characteristic(&change, v, 0);
}

static inline void end_at(const double *u, double *v)
{
  double per_mass = 1 / u[0], sound = sqrt(FLUX_GAMMA * flux_pressure(u) * per_mass);
  Change change = of_characteristic(v, 2);
  double pressure = change.pressure * u[0] * sound, energy = 0;
  v[0] = change.entropy + pressure / (sound * sound);
  for (int m = 0; m < 3; m++) {
    double w = u[1 + m] * per_mass;
    v[1 + m] = w * v[0] + u[0] * change.velocity[m];
    energy += w * (v[1 + m] - 0.5 * w * v[0]);
  }
  v[4] = pressure / FLUX_GAS + energy;
}

/* Calls a function at every unknown. */
FLUX_INLINE void at_unknowns(const Lines *lines, void (*function)(const double *u, double *v))
{
  const Box *box = lines->box;
  for (int k = box->first[2]; k < box->end[2]; k++)
    for (int j = box->first[1]; j < box->end[1]; j++) {
      ptrdiff_t at = box_at(box, lines->u, box->first[0], j, k) - lines->u;
      for (int i = box->first[0]; i < box->end[0]; i++, at += box->stride[0])
        function(lines->u + at, lines->v + at);
    }
}

static inline void x_to_y(const double *u, double *v)
{
  (void)u;
  Change change = of_characteristic(v, 0);
  to_characteristic(&change, v, 1);
}

static inline void y_to_z(const double *u, double *v)
{
  (void)u;
  Change change = of_characteristic(v, 1);
  to_characteristic(&change, v, 2);
}

void characteristic_begin(const Lines *lines) { at_unknowns(lines, begin_at); }

void characteristic_turn(const Lines *lines)
{
  if (lines->axis == 0)
    at_unknowns(lines, x_to_y);
  else if (lines->axis == 1)
    at_unknowns(lines, y_to_z);
  else
    at_unknowns(lines, end_at);
}
