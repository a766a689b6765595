/* Who owns which nodes of the mesh, and how much work they are.
 *
 * The mesh has n x n x layers cubic elements of edge 1.  Its nodes are planes across x, of (n + 1) x (layers + 1) nodes
 * each, numbered along z first, then along y.  P ranks, P a divisor of n, have n / P layers of elements each and own
 * the planes at the upper ends of these; rank 0 owns the plane x = 0 too.
 *
 * A rank keeps its vectors with room for a plane on either side, the neighbour's: node (x, y, z) is then number
 * slab_node() of the vector, and the owned ones are in the middle. */
#ifndef FEM_SLAB_H
#define FEM_SLAB_H

#include <stdbool.h>

enum { NONE = -1 };

typedef struct {
  int n, layers;
  int first, planes; /* owned: x = first .. first + planes - 1 */
  int below, above;  /* ranks that own the next planes, or NONE */
  long per_plane;    /* nodes */
  long nodes;        /* owned */
} Slab;

/* For n a multiple of nranks, layers >= 1. */
Slab slab_make(int n, int layers, int rank, int nranks);

/* x from first - 1 to first + planes */
static inline long slab_node(const Slab *slab, int x, int y, int z)
{
  return (x - slab->first + 1) * slab->per_plane + (long)y * (slab->layers + 1) + z;
}

/* Pairs of nodes that have an element in common, a node with itself included, so many 3 x 3 blocks are in the matrix:
 * of an owned node with any, and with owned ones alone. */
double slab_blocks(const Slab *slab);
double slab_own_blocks(const Slab *slab);

#endif
