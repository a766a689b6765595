/* Distribution of the points.  The ranks form a grid of dims[0] x dims[1] columns; a column has all points along z of a
 * rectangle in x and y.  Rank r is in place r mod dims[0] along x and r div dims[0] along y.  dims[0] >= dims[1], as
 * close as P allows, which is the benchmark's own grid if it has one for P.  Points are cut as evenly as possible, or as
 * the arguments cuts_x and cuts_y say (apps/traffic/shares.py). */
#ifndef LU_BLOCK_H
#define LU_BLOCK_H

#include "../flow/box.h"
#include "../harness/run.h"

typedef struct {
  int dims[2];         /* ranks along x and y */
  int neighbour[2][2]; /* rank before and after this one along x and y; -1: none */
  Box box;             /* the points of this rank */
} Block;

Block block_make(Run *run, int n);

#endif
