/* Moves points between the distributions below.
 *
 * Order in memory, the last index fastest: along x [z][y][x], along z [z][column].  Along y the order is [y][z][x],
 * with which one side of each move needs no copies; if px is 1, nothing moves between x and y, and the order is
 * [z][y][x]. */
#ifndef FT_TRANSPOSE_H
#define FT_TRANSPOSE_H

#include <stdbool.h>
#include <stddef.h>

#include "../harness/run.h"
#include "fft.h"

/* Distribution of the points of the nx x ny x nz grid.
 *
 * The ranks form a grid of px x pz; rank r is in place (r / pz, r % pz).  A transform along an axis needs whole lines
 * along this axis, so the points move between three distributions:
 *
 *   lines along x   y is divided among px, z among pz
 *   lines along y   x is divided among px, z among pz
 *   lines along z   x is divided among px, and the columns (this share of x, all y) among pz
 *
 * Up to nz ranks px is 1: slabs of whole planes, and one transposition per transform instead of two.  More ranks use
 * the grid whose largest share of points is smallest, and among such grids the one with px nearest to nz.  For powers
 * of two this is the benchmark's grid.  All shares are as even as possible, and the first ones are larger. */
typedef struct {
  int nx, ny, nz;
} Grid;

typedef struct {
  int start, count;
} Part;

typedef struct {
  Grid grid;
  int px, pz;     /* 0: no grid is possible for this number of ranks */
  int ix, iz;     /* this rank's place */
  Part y, x, z;   /* its share of each axis, in distributions that divide the axis */
  Part columns;   /* its share of the x.count * ny columns, numbered x fastest */
} Layout;

Layout layout_make(Grid grid, int rank, int nranks);

/* Returns the share of `place` among `places` of an axis or of columns. */
Part layout_part(int n, int places, int place);

/* Return the number of points that this rank owns in each distribution. */
static inline size_t points_along_x(const Layout *at)
{
  return (size_t)at->grid.nx * (size_t)at->y.count * (size_t)at->z.count;
}
static inline size_t points_along_y(const Layout *at)
{
  return (size_t)at->grid.ny * (size_t)at->x.count * (size_t)at->z.count;
}
static inline size_t points_along_z(const Layout *at) { return (size_t)at->grid.nz * (size_t)at->columns.count; }

/* Returns the largest of these numbers. */
size_t layout_most_points(const Layout *at);

/* The ranks among which one transposition exchanges blocks. */
typedef struct {
  MPI_Comm group;
  int members;
  bool even;                                    /* all blocks are equal */
  int *there, *there_start, *back, *back_start; /* points to, and from, each member on the way there; their starts */
} Swap;

typedef struct {
  Run *run;
  const Layout *at;
  Swap xy, yz;
  size_t y_stride, z_stride; /* in memory, for lines along y */
  Complex *points;           /* this rank's points, in the current distribution */
  Complex *blocks;           /* points to send, or received points */
} Transpose;

Transpose transpose_make(Run *run, const Layout *at);
void transpose_free(Transpose *t);

void transpose_x_to_y(Transpose *t);
void transpose_y_to_z(Transpose *t);
void transpose_z_to_y(Transpose *t);
void transpose_y_to_x(Transpose *t);

#endif
