#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "flux.h"
#include "problem.h"

void residual_fourth_difference(int at, int n, double weight[5])
{
  weight[0] = at > 2 ? 1 : 0;
  weight[1] = at > 1 ? -4 : 0;
  weight[2] = at == 1 || at == n - 2 ? 5 : 6;
  weight[3] = at < n - 2 ? -4 : 0;
  weight[4] = at < n - 3 ? 1 : 0;
}

/* Adds one row of unknowns along the axis.  Each flux is computed once and used by three points. */
FLUX_INLINE void add_row(const Problem *problem, const Box *box, const double *u, double *result, const int axis)
{
  ptrdiff_t s = box->stride[axis];
  Flux before = flux_of(u - s, axis), here = flux_of(u, axis);
  for (int i = box->first[axis]; i < box->end[axis]; i++, u += s, result += s) {
    Flux after = flux_of(u + s, axis);
    double weight[5];
    residual_fourth_difference(box->start[axis] + i, problem->n, weight);
    for (int m = 0; m < 5; m++)
      result[m] += problem->first * (before.convective[m] - after.convective[m]) +
                   problem->second * (before.potential[m] - 2 * here.potential[m] + after.potential[m]) -
                   PROBLEM_FOURTH * (weight[0] * u[m - 2 * s] + weight[1] * u[m - s] + weight[2] * u[m] +
                                     weight[3] * u[m + s] + weight[4] * u[m + 2 * s]);
    before = here;
    here = after;
  }
}

FLUX_INLINE void add_rows(const Problem *problem, const Box *box, double *u, double *result, const int axis)
{
  const int inner = axis == 0 ? 1 : 0, outer = axis == 2 ? 1 : 2;
  ptrdiff_t corner = box_at(box, u, box->first[0], box->first[1], box->first[2]) - u;
  for (int b = 0; b < box->end[outer] - box->first[outer]; b++)
    for (int a = 0; a < box->end[inner] - box->first[inner]; a++) {
      ptrdiff_t row = corner + a * box->stride[inner] + b * box->stride[outer];
      add_row(problem, box, u + row, result + row, axis);
    }
}

void residual_add(const Problem *problem, const Box *box, int axis, double *u, double *result)
{
  if (axis == 0)
    add_rows(problem, box, u, result, 0);
  else if (axis == 1)
    add_rows(problem, box, u, result, 1);
  else
    add_rows(problem, box, u, result, 2);
}

static void add(const Problem *problem, const Box *box, double *field, double sum[5], bool error)
{
  for (int k = box->first[2]; k < box->end[2]; k++)
    for (int j = box->first[1]; j < box->end[1]; j++)
      for (int i = box->first[0]; i < box->end[0]; i++) {
        const double *value = box_at(box, field, i, j, k);
        double exact[5] = {0};
        if (error)
          problem_exact(problem, box->start[0] + i, box->start[1] + j, box->start[2] + k, exact);
        for (int m = 0; m < 5; m++)
          sum[m] += (value[m] - exact[m]) * (value[m] - exact[m]);
      }
}

void norms_add(const Problem *problem, const Box *box, double *field, double sum[5])
{
  add(problem, box, field, sum, false);
}

void norms_add_error(const Problem *problem, const Box *box, double *u, double sum[5])
{
  add(problem, box, u, sum, true);
}

void norms_finish(Run *run, int n, double norm[5])
{
  run_sum(run, norm, 5);
  for (int m = 0; m < 5; m++)
    norm[m] = sqrt(norm[m] / pow(n - 2, 3));
}

Box box_make(int n, const int start[3], const int count[3])
{
  Box box = {.n = n};
  ptrdiff_t stride = 5;
  for (int axis = 0; axis < 3; axis++) {
    box.start[axis] = start[axis];
    box.count[axis] = count[axis];
    box.first[axis] = start[axis] == 0 ? 1 : 0;
    box.end[axis] = count[axis] - (start[axis] + count[axis] == n ? 1 : 0);
    box.stride[axis] = stride;
    stride *= count[axis] + 2 * BOX_HALO;
  }
  box.size = (size_t)stride;
  return box;
}

void part_copy(const Box *box, const Part *part, double *field, double *message, int to_message)
{
  int row = 5 * part->count[0]; /* points along x are neighbours in a field */
  for (int k = 0; k < part->count[2]; k++)
    for (int j = 0; j < part->count[1]; j++, message += row) {
      double *point = box_at(box, field, part->from[0], part->from[1] + j, part->from[2] + k);
      if (to_message)
        memcpy(message, point, (size_t)row * sizeof *point);
      else
        memcpy(point, message, (size_t)row * sizeof *point);
    }
}

/* The constant, then the coefficients of x, y, z and of their squares, cubes and fourth powers. */
static const double EXACT[5][13] = {
    {2, 0, 0, 4, 5, 3, 0.5, 0.02, 0.01, 0.03, 0.5, 0.4, 0.3}, /* density */
    {1, 0, 0, 0, 1, 2, 3, 0.01, 0.03, 0.02, 0.4, 0.3, 0.5},   /* momentum along x, y, z */
    {2, 2, 0, 0, 0, 2, 3, 0.04, 0.03, 0.05, 0.3, 0.5, 0.4},
    {2, 2, 0, 0, 0, 2, 3, 0.03, 0.05, 0.04, 0.2, 0.1, 0.3},
    {5, 4, 3, 2, 0.1, 0.4, 0.3, 0.05, 0.04, 0.03, 0.1, 0.3, 0.2}, /* energy */
};

Problem problem_make(int n, double dt)
{
  double intervals = n - 1;
  return (Problem){.n = n, .dt = dt, .spacing = 1 / intervals, .first = intervals / 2,
                   .second = intervals * intervals};
}

void problem_exact(const Problem *problem, int i, int j, int k, double value[5])
{
  double at[3] = {i * problem->spacing, j * problem->spacing, k * problem->spacing};
  for (int m = 0; m < 5; m++) {
    const double *c = EXACT[m];
    value[m] = c[0];
    for (int axis = 0; axis < 3; axis++) {
      double x = at[axis];
      value[m] += x * (c[1 + axis] + x * (c[4 + axis] + x * (c[7 + axis] + x * c[10 + axis])));
    }
  }
}

static bool outside(const Problem *problem, int i) { return i < 0 || i >= problem->n; }
static bool inside(const Problem *problem, int i) { return i > 0 && i < problem->n - 1; }

void problem_fill_exact(const Problem *problem, const Box *box, double *field)
{
  for (int k = -BOX_HALO; k < box->count[2] + BOX_HALO; k++)
    for (int j = -BOX_HALO; j < box->count[1] + BOX_HALO; j++)
      for (int i = -BOX_HALO; i < box->count[0] + BOX_HALO; i++) {
        int x = box->start[0] + i, y = box->start[1] + j, z = box->start[2] + k;
        if (!outside(problem, x) && !outside(problem, y) && !outside(problem, z))
          problem_exact(problem, x, y, z, box_at(box, field, i, j, k));
      }
}

/* Transfinite interpolation: each axis has a linear interpolation p, q or r between the two faces that it crosses, and
 * 1 - value = (1 - p) (1 - q) (1 - r). */
static void blend(const Problem *problem, const int at[3], double value[5])
{
  double rest[5] = {1, 1, 1, 1, 1};
  for (int axis = 0; axis < 3; axis++) {
    int low[3] = {at[0], at[1], at[2]}, high[3] = {at[0], at[1], at[2]};
    low[axis] = 0;
    high[axis] = problem->n - 1;
    double below[5], above[5], share = at[axis] * problem->spacing;
    problem_exact(problem, low[0], low[1], low[2], below);
    problem_exact(problem, high[0], high[1], high[2], above);
    for (int m = 0; m < 5; m++)
      rest[m] *= 1 - ((1 - share) * below[m] + share * above[m]);
  }
  for (int m = 0; m < 5; m++)
    value[m] = 1 - rest[m];
}

void problem_fill_start(const Problem *problem, const Box *box, double *field)
{
  for (int k = 0; k < box->count[2]; k++)
    for (int j = 0; j < box->count[1]; j++)
      for (int i = 0; i < box->count[0]; i++) {
        int at[3] = {box->start[0] + i, box->start[1] + j, box->start[2] + k};
        double *value = box_at(box, field, i, j, k);
        if (inside(problem, at[0]) && inside(problem, at[1]) && inside(problem, at[2]))
          blend(problem, at, value);
        else
          problem_exact(problem, at[0], at[1], at[2], value);
      }
}
