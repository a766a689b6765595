#include "residual.h"

#include "flux.h"

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
