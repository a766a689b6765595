/* SP: the steady state of the compressible Navier-Stokes equations in a cube by approximate factorisation, with scalar
 * pentadiagonal systems of equations along each axis (RNR-94-007, chapter 3).  The frame is ../flow/adi.c. */
#include <math.h>
#include <string.h>

#include "../flow/adi.h"
#include "../flow/flux.h"
#include "../flow/problem.h"

/* Scalar pentadiagonal systems: the equations of each characteristic variable along an axis, with the eigenvalue of the
 * convective flux, the largest diffusion of any component, and the fourth-order dissipation.  They couple each point to
 * two on each side.  The variables are zero on the boundary of the cube. */

/* After elimination v_i + kept_i[0] v_(i+1) + kept_i[1] v_(i+2) = value_i, with a pair for each of three eigenvalues.
 * The equations of the last two points are handed up a line, the solution at the first two points down. */
enum { LINES_KEPT = 6, LINES_UP = 2 * (LINES_KEPT + 5), LINES_DOWN = 2 * 5 };

enum { EIGENVALUES = 3, NUMBERS = LINES_KEPT + 5 };

static const int EIGENVALUE_OF[5] = {0, 0, 0, 1, 2}; /* by variable */

/* What the equations need to know of a point. */
typedef struct {
  double eigenvalue[EIGENVALUES], diffusion;
} Point;

FLUX_INLINE Point point_of(const double *u, const int axis)
{
  double per_mass = 1 / u[0], along = u[1 + axis] * per_mass, sound = sqrt(FLUX_GAMMA * flux_pressure(u) * per_mass);
  /* Of the diffusion of density, momentum and energy, heat conduction is the largest. */
  return (Point){{along, along + sound, along - sound}, FLUX_DISSIPATION[axis] + FLUX_VISCOSITY * FLUX_HEAT * per_mass};
}

/* An equation after elimination. */
typedef struct {
  double kept[LINES_KEPT], value[5];
} Row;

/* Computes the next equation from those of the two points before it; v is its right-hand side. */
FLUX_INLINE Row next_row(const Problem *problem, const Point at[3], int place, const Row *two, const Row *one, const double *v)
{
  double first = problem->dt * problem->first, second = problem->dt * problem->second, weight[5];
  residual_fourth_difference(place, problem->n, weight);
  for (int i = 0; i < 5; i++)
    weight[i] *= problem->dt * PROBLEM_FOURTH;
  double far[EIGENVALUES], near[EIGENVALUES], scale[EIGENVALUES]; /* the couplings that are eliminated */
  Row row;
#pragma GCC unroll 3
  for (int e = 0; e < EIGENVALUES; e++) {
    const double *before = two->kept + 2 * e, *last = one->kept + 2 * e;
    far[e] = weight[0];
    near[e] = weight[1] - first * at[0].eigenvalue[e] - second * at[0].diffusion - far[e] * before[0];
    double diagonal = 1 + weight[2] + 2 * second * at[1].diffusion - far[e] * before[1] - near[e] * last[0];
    scale[e] = 1 / diagonal;
    row.kept[2 * e] =
        scale[e] * (weight[3] + first * at[2].eigenvalue[e] - second * at[2].diffusion - near[e] * last[1]);
    row.kept[2 * e + 1] = scale[e] * weight[4];
  }
#pragma GCC unroll 5
  for (int m = 0; m < 5; m++) {
    int e = EIGENVALUE_OF[m];
    row.value[m] = scale[e] * (v[m] - far[e] * two->value[m] - near[e] * one->value[m]);
  }
  return row;
}

static Row row_read(const double *numbers)
{
  Row row;
  memcpy(row.kept, numbers, sizeof row.kept);
  memcpy(row.value, numbers + LINES_KEPT, sizeof row.value);
  return row;
}

static void row_write(const Row *row, double *numbers)
{
  memcpy(numbers, row->kept, sizeof row->kept);
  memcpy(numbers + LINES_KEPT, row->value, sizeof row->value);
}

/* Eliminates along one line; `at` is the place of its first unknown in a field. */
FLUX_INLINE void eliminate_line(const Lines *lines, ptrdiff_t at, const double *from, double *to, const int axis)
{
  const Box *box = lines->box;
  ptrdiff_t s = box->stride[axis];
  const Row none = {{0}, {0}};
  Row two = from ? row_read(from) : none, one = from ? row_read(from + NUMBERS) : none;
  Point point[3] = {point_of(lines->u + at - s, axis), point_of(lines->u + at, axis)};
  for (int i = box->first[axis]; i < box->end[axis]; i++, at += s) {
    point[2] = point_of(lines->u + at + s, axis);
    Row row = next_row(lines->problem, point, box->start[axis] + i, &two, &one, lines->v + at);
    memcpy(lines->kept + LINES_KEPT * (at / 5), row.kept, sizeof row.kept);
    memcpy(lines->v + at, row.value, sizeof row.value);
    two = one;
    one = row;
    point[0] = point[1];
    point[1] = point[2];
  }
  row_write(&two, to);
  row_write(&one, to + NUMBERS);
}

/* Substitutes along one line; `at` is the place of its last unknown in a field. */
static void substitute_line(const Lines *lines, ptrdiff_t at, const double *from, double *to)
{
  const Box *box = lines->box;
  int axis = lines->axis;
  double one[5] = {0}, two[5] = {0}; /* the solution at the next point, and at the one after it */
  if (from) {
    memcpy(one, from, sizeof one);
    memcpy(two, from + 5, sizeof two);
  }
  for (int i = box->end[axis] - 1; i >= box->first[axis]; i--, at -= box->stride[axis]) {
    const double *kept = lines->kept + LINES_KEPT * (at / 5);
    double *v = lines->v + at;
#pragma GCC unroll 5
    for (int m = 0; m < 5; m++) {
      v[m] -= kept[2 * EIGENVALUE_OF[m]] * one[m] + kept[2 * EIGENVALUE_OF[m] + 1] * two[m];
      two[m] = one[m];
      one[m] = v[m];
    }
  }
  memcpy(to, one, sizeof one);
  memcpy(to + 5, two, sizeof two);
}

FLUX_INLINE void eliminate(const Lines *lines, const double *from, double *to, const int axis)
{
  const Box *box = lines->box;
  const int inner = axis == 0 ? 1 : 0, outer = axis == 2 ? 1 : 2;
  ptrdiff_t corner = box_at(box, lines->u, box->first[0], box->first[1], box->first[2]) - lines->u;
  for (int b = 0; b < box->end[outer] - box->first[outer]; b++)
    for (int a = 0; a < box->end[inner] - box->first[inner]; a++, to += LINES_UP) {
      eliminate_line(lines, corner + a * box->stride[inner] + b * box->stride[outer], from, to, axis);
      from = from ? from + LINES_UP : NULL;
    }
}

static void lines_eliminate(const Lines *lines, const double *from, double *to)
{
  if (lines->axis == 0)
    eliminate(lines, from, to, 0);
  else if (lines->axis == 1)
    eliminate(lines, from, to, 1);
  else
    eliminate(lines, from, to, 2);
}

static void lines_substitute(const Lines *lines, const double *from, double *to)
{
  const Box *box = lines->box;
  int axis = lines->axis, inner = axis == 0 ? 1 : 0, outer = axis == 2 ? 1 : 2;
  ptrdiff_t corner = box_at(box, lines->u, box->first[0], box->first[1], box->first[2]) - lines->u;
  corner += (box->end[axis] - 1 - box->first[axis]) * box->stride[axis];
  for (int b = 0; b < box->end[outer] - box->first[outer]; b++)
    for (int a = 0; a < box->end[inner] - box->first[inner]; a++, to += LINES_DOWN) {
      substitute_line(lines, corner + a * box->stride[inner] + b * box->stride[outer], from, to);
      from = from ? from + LINES_DOWN : NULL;
    }
}

/* Changes of variables at a point, after T. H. Pulliam and D. S. Chaussee, "A diagonal form of an implicit
 * approximate-factorization algorithm", 1981.  A change of the state is described by how it changes the entropy, the
 * velocity and the pressure; the Jacobian of the convective flux along an axis is diagonal in combinations of these. */

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

/* Turns v from changes of the state into characteristic variables along x, at all unknowns. */
static void characteristic_begin(const Lines *lines) { at_unknowns(lines, begin_at); }

/* Turns v from characteristic variables along this axis into those along the next one, or after z into changes of the
 * state. */
static void characteristic_turn(const Lines *lines)
{
  if (lines->axis == 0)
    at_unknowns(lines, x_to_y);
  else if (lines->axis == 1)
    at_unknowns(lines, y_to_z);
  else
    at_unknowns(lines, end_at);
}

static double official_flops(double n) { return ((881.174 * n - 4683.91) * n + 11484.5) * n - 19272.4; }

int main(int argc, char **argv)
{
  /* Operations counted above: 11 to eliminate for each of three eigenvalues and 5 for each of
   * five variables, 4 for each variable to substitute; 4 additions and 4 multiplications to turn. */
  static const Method method = {
      .all = 881.174, .eliminate = 58, .substitute = 20, .begin = 41, .turn = {8, 8, 40},
      .official_flops = official_flops,
      .kept = LINES_KEPT, .up = LINES_UP, .down = LINES_DOWN,
      .begin_lines = characteristic_begin, .turn_lines = characteristic_turn,
      .eliminate_lines = lines_eliminate, .substitute_lines = lines_substitute,
  };
  return adi_main(argc, argv, &method);
}
