#include "operators.h"

#include <math.h>
#include <stddef.h>

/* Returns the index of the first point (a ghost) of a row along x. */
static size_t row_at(const Level *level, int y, int z)
{
  return ((size_t)z * (size_t)extent(level, 1) + (size_t)y) * (size_t)extent(level, 0);
}

/* Sums over the neighbours of the points of a row: `four` over the adjacent points in the same plane across x,
 * `diagonal` over the other four in that plane.  A stencil gets its sums from these at the point and its neighbours in
 * the row. */
typedef struct {
  const double *centre;
  double *four, *diagonal;
} Row;

static void sum_across(const Level *level, const double *x, int y, int z, Row *row)
{
  const double *here = x + row_at(level, y, z);
  const double *below = x + row_at(level, y, z - 1), *above = x + row_at(level, y, z + 1);
  ptrdiff_t n = extent(level, 0);
  for (ptrdiff_t i = 0; i < n; i++) {
    row->four[i] = here[i - n] + here[i + n] + below[i] + above[i];
    row->diagonal[i] = below[i - n] + below[i + n] + above[i - n] + above[i + n];
  }
  row->centre = here;
}

static double weigh(Stencil w, const Row *row, ptrdiff_t i)
{
  const double *four = row->four, *diagonal = row->diagonal;
  return w.point * row->centre[i] + w.face * (row->centre[i - 1] + row->centre[i + 1] + four[i]) +
         w.edge * (four[i - 1] + four[i + 1] + diagonal[i]) + w.corner * (diagonal[i - 1] + diagonal[i + 1]);
}

void apply(const Level *level, Stencil stencil, const double *x, const double *base, double *out)
{
  double four[extent(level, 0)], diagonal[extent(level, 0)];
  Row row = {NULL, four, diagonal};
  for (int z = 1; z <= level->axis[2].own; z++)
    for (int y = 1; y <= level->axis[1].own; y++) {
      sum_across(level, x, y, z, &row);
      size_t at = row_at(level, y, z);
      for (int i = 1; i <= level->axis[0].own; i++)
        out[at + (size_t)i] = base[at + (size_t)i] + weigh(stencil, &row, i);
    }
}

/* Returns the offset of the grids, which may start half a coarse step apart: this rank's coarse point j lies at its
 * fine point 2j - offset. */
static int offset(const Level *coarse, const Level *fine, int axis)
{
  return fine->axis[axis].start - 2 * coarse->axis[axis].start;
}

void restrict_to(const Level *coarse, Stencil stencil, const Level *fine, const double *x, double *out)
{
  double four[extent(fine, 0)], diagonal[extent(fine, 0)];
  Row row = {NULL, four, diagonal};
  int dx = offset(coarse, fine, 0), dy = offset(coarse, fine, 1), dz = offset(coarse, fine, 2);
  for (int z = 1; z <= coarse->axis[2].own; z++)
    for (int y = 1; y <= coarse->axis[1].own; y++) {
      sum_across(fine, x, 2 * y - dy, 2 * z - dz, &row);
      size_t at = row_at(coarse, y, z);
      for (int i = 1; i <= coarse->axis[0].own; i++)
        out[at + (size_t)i] = weigh(stencil, &row, 2 * i - dx);
    }
}

/* mean[i] := mean over the coarse rows around the fine row (y, z), given in half coarse steps. */
static void mean_across(const Level *coarse, const double *x, int y, int z, double *mean)
{
  const double *here = x + row_at(coarse, y / 2, z / 2);
  size_t to_y = (size_t)extent(coarse, 0), to_z = to_y * (size_t)extent(coarse, 1);
  for (size_t i = 0; i < to_y; i++)
    if (y % 2 && z % 2)
      mean[i] = 0.25 * (here[i] + here[i + to_y] + here[i + to_z] + here[i + to_y + to_z]);
    else if (y % 2 || z % 2)
      mean[i] = 0.5 * (here[i] + here[i + (y % 2 ? to_y : to_z)]);
    else
      mean[i] = here[i];
}

void interpolate(const Level *coarse, const double *x, const Level *fine, double *out)
{
  if (coarse->empty)
    return;
  double mean[extent(coarse, 0)];
  int dx = offset(coarse, fine, 0), dy = offset(coarse, fine, 1), dz = offset(coarse, fine, 2);
  for (int z = 0; z < extent(fine, 2); z++)
    for (int y = 0; y < extent(fine, 1); y++) {
      mean_across(coarse, x, y + dy, z + dz, mean);
      double *row = out + row_at(fine, y, z);
      for (int i = dx; i < extent(fine, 0); i += 2)
        row[i] += mean[(i + dx) / 2];
      for (int i = 1 - dx; i < extent(fine, 0); i += 2)
        row[i] += 0.5 * (mean[(i + dx) / 2] + mean[(i + dx) / 2 + 1]);
    }
}

Norms norms(const Level *level, const double *x)
{
  Norms sum = {0, 0};
  for (int z = 1; z <= level->axis[2].own; z++)
    for (int y = 1; y <= level->axis[1].own; y++) {
      const double *row = x + row_at(level, y, z);
      for (int i = 1; i <= level->axis[0].own; i++) {
        sum.squares += row[i] * row[i];
        sum.largest = fmax(sum.largest, fabs(row[i]));
      }
    }
  return sum;
}
