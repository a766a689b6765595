#include "lines.h"

#include <math.h>
#include <string.h>

#include "../flow/flux.h"
#include "../flow/residual.h"

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

void lines_eliminate(const Lines *lines, const double *from, double *to)
{
  if (lines->axis == 0)
    eliminate(lines, from, to, 0);
  else if (lines->axis == 1)
    eliminate(lines, from, to, 1);
  else
    eliminate(lines, from, to, 2);
}

void lines_substitute(const Lines *lines, const double *from, double *to)
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
