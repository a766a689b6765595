#include "flops.h"

double flops_per_operation(int n)
{
  double size = n, done = size * ((4 * size + 9) * size - 7) / 6;
  return size * size * (2 * size / 3 + 2) / done;
}

double column_operations(const Step *step, int i, int rows)
{
  return (double)rows * (1 + 2 * (step->width - 1 - i));
}

double update_operations(const Layout *at, const Step *step)
{
  double width = step->width;
  return step->columns * (width * (width - 1) / at->down.places + 2 * width * step->rows);
}

double solve_operations(const Step *step) { return (double)step->width * step->width; }

double substitute_operations(const Step *step, int rows) { return 2.0 * step->width * rows; }
