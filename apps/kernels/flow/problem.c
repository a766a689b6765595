#include "problem.h"

#include <stdbool.h>

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
