#include "layout.h"

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

int layout_before(int n, int nb, int place, int places)
{
  int full = n / nb; /* full blocks */
  int owned = full / places * nb;
  int extra = full % places;
  if (place < extra)
    return owned + nb;
  return place == extra ? owned + n % nb : owned;
}

Layout layout_make(int n, int nb, int grid_rows, int rank, int nranks)
{
  int columns = nranks / grid_rows, row = rank / columns, column = rank % columns;
  Layout at = {.n = n,
               .nb = nb,
               .blocks = (n + nb - 1) / nb,
               .across = {row * columns, 1, columns, column},
               .down = {column, columns, grid_rows, row}};
  at.height = rows_before(&at, n);
  at.width = columns_before(&at, n + 1);
  return at;
}

Step layout_step(const Layout *at, int block)
{
  int start = block * at->nb, left = at->n - start, width = left < at->nb ? left : at->nb;
  Step step = {.start = start,
               .width = width,
               .row = block % at->down.places,
               .column = block % at->across.places,
               .below = rows_before(at, start + width),
               .right = columns_before(at, start + width)};
  step.rows = at->height - step.below;
  step.columns = at->width - step.right;
  return step;
}
