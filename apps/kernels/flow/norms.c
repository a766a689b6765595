#include "norms.h"

#include <math.h>

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
