#include "check.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "../../common/checked.h"
#include "matrix.h"

/* Returns the largest absolute value, or NaN if there is one. */
static double norm(const double *values, int n)
{
  double largest = 0;
  for (int i = 0; i < n; i++)
    if (!(fabs(values[i]) <= largest))
      largest = fabs(values[i]);
  return largest;
}

Quality check_solution(System *s)
{
  const Layout *at = &s->at;
  int n = at->n, nb = at->nb;
  size_t size = (size_t)n;
  double *all = checked(calloc(4 * size, sizeof *all)); /* one sum over all ranks completes them */
  double *rest = all, *row_sums = all + size, *right_hand_side = all + 2 * size, *x = all + 3 * size;
  double *column = checked(malloc(((size_t)at->height + 1) * sizeof *column));
  for (int c = 0; c < at->width; c++) {
    int j = matrix_index(c, nb, at->across.place, at->across.places);
    matrix_column(at, c, column);
    for (int r = 0; r < at->height; r++) {
      int i = matrix_index(r, nb, at->down.place, at->down.places);
      if (j == n)
        right_hand_side[i] = column[r];
      else {
        rest[i] += column[r] * s->solution[c];
        row_sums[i] += fabs(column[r]);
      }
    }
    if (j < n && at->down.place == 0)
      x[j] = s->solution[c];
  }
  run_sum(s->run, all, 4 * n);
  Quality quality = {.largest = norm(x, n)};
  for (int i = 0; i < n; i++) {
    rest[i] -= right_hand_side[i];
    quality.sum += x[i];
  }
  double scale = DBL_EPSILON / 2 * (norm(row_sums, n) * quality.largest + norm(right_hand_side, n)) * n;
  quality.residual = norm(rest, n) / scale;
  free(column);
  free(all);
  return quality;
}
