/* Who owns which points.  The ranks form a grid of dims[0] x dims[1] columns, each all points along z of a rectangle in
 * x and y; rank r is at place r mod dims[0] along x and r div dims[0] along y.  dims[0] >= dims[1], as near as P
 * allows: the benchmark's own grid where it has one.
 *
 * A field holds five numbers for each own point and for two layers of others around it, in all three directions; points
 * are numbered from the first own one.  Axes 0, 1, 2 are x, y, z. */
#ifndef LU_BLOCK_H
#define LU_BLOCK_H

#include <stddef.h>

typedef struct {
  int n;                /* points of the whole cube along each axis, its boundary included */
  int dims[2];          /* ranks along x and y */
  int neighbour[2][2];  /* rank before and after this one along x and y; -1: none */
  int start[3], count[3];
  int first[3], end[3]; /* the unknowns, which are the own points off the boundary of the cube: first <= i < end */
  ptrdiff_t stride[3];  /* from a point of a field to the next along each axis */
  size_t size;          /* numbers in a field */
} Block;

enum { BLOCK_HALO = 2 };

Block block_make(int n, int rank, int nranks);

static inline double *block_at(const Block *block, double *field, int i, int j, int k)
{
  return field + (i + BLOCK_HALO) * block->stride[0] + (j + BLOCK_HALO) * block->stride[1] +
         (k + BLOCK_HALO) * block->stride[2];
}

/* Unknowns in one plane across z. */
static inline double block_plane(const Block *block)
{
  return (double)(block->end[0] - block->first[0]) * (block->end[1] - block->first[1]);
}

#endif
