#include "residual.h"

#include "flux.h"

/* Computes the weights of the fourth difference at point `at` of n, for the points at - 2 .. at + 2.  The difference
 * does not use values on the boundary and is one-sided next to it. */
static void fourth_difference(int at, int n, double weight[5])
{
  weight[0] = at > 2 ? 1 : 0;
  weight[1] = at > 1 ? -4 : 0;
  weight[2] = at == 1 || at == n - 2 ? 5 : 6;
  weight[3] = at < n - 2 ? -4 : 0;
  weight[4] = at < n - 3 ? 1 : 0;
}

/* Adds one row of unknowns along the axis.  Each flux is computed once and used by three points. */
FLUX_INLINE void add_row(const Problem *problem, const Block *block, const double *u, double *result, const int axis)
{
  ptrdiff_t s = block->stride[axis];
  Flux before = flux_of(u - s, axis), here = flux_of(u, axis);
  for (int i = block->first[axis]; i < block->end[axis]; i++, u += s, result += s) {
    Flux after = flux_of(u + s, axis);
    double weight[5];
    fourth_difference(block->start[axis] + i, problem->n, weight);
    for (int m = 0; m < 5; m++)
      result[m] += problem->first * (before.convective[m] - after.convective[m]) +
                   problem->second * (before.potential[m] - 2 * here.potential[m] + after.potential[m]) -
                   PROBLEM_FOURTH * (weight[0] * u[m - 2 * s] + weight[1] * u[m - s] + weight[2] * u[m] +
                                     weight[3] * u[m + s] + weight[4] * u[m + 2 * s]);
    before = here;
    here = after;
  }
}

FLUX_INLINE void add_rows(const Problem *problem, const Block *block, double *u, double *result, const int axis)
{
  const int inner = axis == 0 ? 1 : 0, outer = axis == 2 ? 1 : 2;
  ptrdiff_t corner = block_at(block, u, block->first[0], block->first[1], block->first[2]) - u;
  for (int b = 0; b < block->end[outer] - block->first[outer]; b++)
    for (int a = 0; a < block->end[inner] - block->first[inner]; a++) {
      ptrdiff_t row = corner + a * block->stride[inner] + b * block->stride[outer];
      add_row(problem, block, u + row, result + row, axis);
    }
}

void residual_add(const Problem *problem, const Block *block, int axis, double *u, double *result)
{
  if (axis == 0)
    add_rows(problem, block, u, result, 0);
  else if (axis == 1)
    add_rows(problem, block, u, result, 1);
  else
    add_rows(problem, block, u, result, 2);
}
