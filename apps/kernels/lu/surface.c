#include "surface.h"

#include "../flow/flux.h"

double surface_integral(Run *run, const Problem *problem, const Box *box, double *u)
{
  int low[3] = {1, 1, 2}, high[3] = {problem->n - 2, problem->n - 3, problem->n - 2};
  double sum = 0;
  for (int k = low[2]; run->verify && k <= high[2]; k++)
    for (int j = 0; j < box->count[1]; j++)
      for (int i = 0; i < box->count[0]; i++) {
        int at[3] = {box->start[0] + i, box->start[1] + j, k};
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
          sum += faces * flux_pressure(box_at(box, u, i, j, k));
      }
  run_sum(run, &sum, 1);
  return sum * problem->spacing * problem->spacing;
}
