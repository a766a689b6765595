#include "layout.h"

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
