/* Distribution of the points.
 *
 * The domain is a cube of n points along each axis x, y, z, with z fastest in memory.  The outermost points are its
 * boundary, where the pressure is given.  The ranks form a grid px >= py >= pz with the smallest px, and among such
 * grids with the smallest py; slabs have py = pz = 1, pencils pz = 1.  Rank (ix py + iy) pz + iz is in place (ix, iy,
 * iz).  Along an axis, the n - 2 inner points are split as evenly as possible, with one more for the first places. */
#ifndef HIMENO_GRID_H
#define HIMENO_GRID_H

#include <stdbool.h>

#include "../harness/run.h"

enum { AXES = 3, LEAST_N = 3, MOST_N = 46340 }; /* MOST_N: the number of points of a face must fit an int */

typedef enum { SLABS, PENCILS, BOXES, CUTS } Cut; /* divided along one axis, along two, along all three */

typedef struct {
  int n;
  int start[AXES], own[AXES];   /* the owned points are start .. start + own - 1; no rank owns the boundary */
  int ranks[AXES];              /* number of ranks along each axis */
  int lower[AXES], upper[AXES]; /* neighbours, MPI_PROC_NULL beside the boundary */
} Grid;

/* Returns whether every rank owns a point. */
bool grid_fits(int n, int nranks, Cut cut);

/* The run's arguments cuts_x, cuts_y, cuts_z may cut the inner points in another way.  n must be in LEAST_N .. MOST_N,
 * and grid_fits() must hold. */
Grid grid_make(Run *run, int n, Cut cut);

/* Returns the number of points along an axis of a rank's block: its own, and on each side a ghost or the boundary. */
static inline int extent(const Grid *grid, int axis) { return grid->own[axis] + 2; }

static inline double owned_points(const Grid *grid)
{
  return (double)grid->own[0] * grid->own[1] * grid->own[2];
}

#endif
