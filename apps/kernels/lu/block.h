/* Distribution of the points.  The ranks form a grid of dims[0] x dims[1] columns; a column has all points along z of a
 * rectangle in x and y.  Rank r is in place r mod dims[0] along x and r div dims[0] along y.  dims[0] >= dims[1], as
 * close as P allows, which is the benchmark's own grid if it has one for P.
 *
 * A field holds five numbers for each own point and for two layers of other points around them, in all three
 * directions; points are numbered from the first own one.  Axes 0, 1, 2 are x, y, z. */
#ifndef LU_BLOCK_H
#define LU_BLOCK_H

#include <stddef.h>

typedef struct {
  int n;                /* points of the whole cube along each axis, including its boundary */
  int dims[2];          /* ranks along x and y */
  int neighbour[2][2];  /* rank before and after this one along x and y; -1: none */
  int start[3], count[3];
  int first[3], end[3]; /* the unknowns, own points not on the boundary of the cube: first <= i < end */
  ptrdiff_t stride[3];  /* distance in a field between neighbouring points along each axis */
  size_t size;          /* numbers in a field */
} Block;

enum { BLOCK_HALO = 2 };

Block block_make(int n, int rank, int nranks);

static inline double *block_at(const Block *block, double *field, int i, int j, int k)
{
  return field + (i + BLOCK_HALO) * block->stride[0] + (j + BLOCK_HALO) * block->stride[1] +
         (k + BLOCK_HALO) * block->stride[2];
}

/* Returns the number of unknowns in one plane across z. */
static inline double block_plane(const Block *block)
{
  return (double)(block->end[0] - block->first[0]) * (block->end[1] - block->first[1]);
}

#endif
