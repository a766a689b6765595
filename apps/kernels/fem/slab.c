#include "slab.h"

Slab slab_make(int n, int layers, int rank, int nranks)
{
  int width = n / nranks;
  Slab slab = {.n = n,
               .layers = layers,
               .first = rank == 0 ? 0 : rank * width + 1,
               .planes = rank == 0 ? width + 1 : width,
               .below = rank == 0 ? NONE : rank - 1,
               .above = rank == nranks - 1 ? NONE : rank + 1,
               .per_plane = (n + 1L) * (layers + 1L)};
  slab.nodes = slab.planes * slab.per_plane;
  return slab;
}

/* Returns the number of pairs of neighbours along an axis of `nodes` nodes, including each node with itself. */
static double pairs(double nodes) { return 3 * nodes - 2; }

double slab_own_blocks(const Slab *slab)
{
  return pairs(slab->planes) * pairs(slab->n + 1.0) * pairs(slab->layers + 1.0);
}

double slab_blocks(const Slab *slab)
{
  double along_x = pairs(slab->planes) + (slab->below != NONE) + (slab->above != NONE);
  return along_x * pairs(slab->n + 1.0) * pairs(slab->layers + 1.0);
}
