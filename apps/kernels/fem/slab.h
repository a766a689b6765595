/* Distribution of the mesh's nodes, and their amount of work.
 *
 * The mesh has n x n x layers cubic elements of edge 1.  Its nodes form planes across x, of (n + 1) x (layers + 1)
 * nodes each, numbered along z first, then along y.  Each of P ranks, P a divisor of n, has n / P layers of elements
 * and owns the planes at their upper ends; rank 0 also owns the plane x = 0.
 *
 * A rank's vectors have room for a neighbour's plane on either side: node (x, y, z) has the index slab_node() in the
 * vector, and the owned nodes are in the middle. */
#ifndef FEM_SLAB_H
#define FEM_SLAB_H

#include <stdbool.h>

enum { NONE = -1 };

typedef struct {
  int n, layers;
  int first, planes; /* owned planes: x = first .. first + planes - 1 */
  int below, above;  /* ranks that own the next planes, or NONE */
  long per_plane;    /* nodes in a plane */
  long nodes;        /* owned nodes */
} Slab;

/* n must be a multiple of nranks, and layers >= 1. */
Slab slab_make(int n, int layers, int rank, int nranks);

/* Returns the index of a node in a vector, for x from first - 1 to first + planes. */
static inline long slab_node(const Slab *slab, int x, int y, int z)
{
  return (x - slab->first + 1) * slab->per_plane + (long)y * (slab->layers + 1) + z;
}

/* Return the number of pairs of nodes with a common element, each node with itself included, which is the number of
 * 3 x 3 blocks in the matrix: pairs of an owned node with any node, and pairs of owned nodes. */
double slab_blocks(const Slab *slab);
double slab_own_blocks(const Slab *slab);

#endif
