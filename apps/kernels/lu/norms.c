#include "norms.h"

#include <math.h>

#include "flux.h"

/* norm := the root mean square of `field`, or of its difference from the exact solution if `problem` is given. */
static void root_mean_square(Run *run, const Problem *problem, const Block *block, double *field, double norm[5])
{
  for (int m = 0; m < 5; m++)
    norm[m] = 0;
  for (int k = block->first[2]; run->verify && k < block->end[2]; k++)
    for (int j = block->first[1]; j < block->end[1]; j++)
      for (int i = block->first[0]; i < block->end[0]; i++) {
        const double *value = block_at(block, field, i, j, k);
        double exact[5] = {0};
        if (problem)
          problem_exact(problem, block->start[0] + i, block->start[1] + j, k, exact);
        for (int m = 0; m < 5; m++)
          norm[m] += (value[m] - exact[m]) * (value[m] - exact[m]);
      }
  run_sum(run, norm, 5);
  for (int m = 0; m < 5; m++)
    norm[m] = sqrt(norm[m] / pow(block->n - 2, 3));
}

void norms_of(Run *run, const Block *block, double *field, double norm[5])
{
  root_mean_square(run, NULL, block, field, norm);
}

void norms_of_error(Run *run, const Problem *problem, const Block *block, double *u, double norm[5])
{
  root_mean_square(run, problem, block, u, norm);
}

double norms_surface_integral(Run *run, const Problem *problem, const Block *block, double *u)
{
  int low[3] = {1, 1, 2}, high[3] = {problem->n - 2, problem->n - 3, problem->n - 2};
  double sum = 0;
  for (int k = low[2]; run->verify && k <= high[2]; k++)
    for (int j = 0; j < block->count[1]; j++)
      for (int i = 0; i < block->count[0]; i++) {
        int at[3] = {block->start[0] + i, block->start[1] + j, k};
        double weight[3], faces = 0; /* trapezoidal rule: points at the edge of a face have half weight */
        bool inside = true;
        for (int axis = 0; axis < 3; axis++) {
          inside = inside && at[axis] >= low[axis] && at[axis] <= high[axis];
          weight[axis] = at[axis] == low[axis] || at[axis] == high[axis] ? 0.5 : 1;
        }
        for (int axis = 0; axis < 3; axis++)
          if (weight[axis] == 0.5) /* on a face across this axis */
            faces += weight[(axis + 1) % 3] * weight[(axis + 2) % 3];
        if (inside && faces > 0)
          sum += faces * flux_pressure(block_at(block, u, i, j, k));
      }
  run_sum(run, &sum, 1);
  return sum * problem->spacing * problem->spacing;
}
