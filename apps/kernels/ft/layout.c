#include "layout.h"

#include <stdlib.h>

#include "../harness/split.h"

Part layout_part(int n, int places, int place)
{
  return (Part){split_start(n, places, place), split_count(n, places, place)};
}

/* Returns the shares of the rank in a place. */
static Layout place_in(Grid grid, int px, int pz, int ix, int iz)
{
  Layout at = {.grid = grid, .px = px, .pz = pz, .ix = ix, .iz = iz};
  at.y = layout_part(grid.ny, px, ix);
  at.x = layout_part(grid.nx, px, ix);
  at.z = layout_part(grid.nz, pz, iz);
  at.columns = layout_part(at.x.count * grid.ny, pz, iz);
  return at;
}

size_t layout_most_points(const Layout *at)
{
  size_t x = points_along_x(at), y = points_along_y(at), z = points_along_z(at);
  size_t most = x > y ? x : y;
  return most > z ? most : z;
}

/* Returns px, or 0 if no grid gives every rank points in every distribution. */
static int ranks_along_x(Grid grid, int nranks)
{
  if (nranks <= grid.nz)
    return 1;
  int best = 0, narrow = grid.nx < grid.ny ? grid.nx : grid.ny;
  size_t best_most = 0;
  for (int px = 1; px <= narrow && px <= nranks; px++) {
    int pz = nranks / px;
    if (px * pz != nranks || pz > grid.nz)
      continue;
    Layout first = place_in(grid, px, pz, 0, 0); /* no rank owns more */
    size_t most = layout_most_points(&first);
    if (!best || most < best_most || (most == best_most && abs(px - grid.nz) < abs(best - grid.nz))) {
      best = px;
      best_most = most;
    }
  }
  return best;
}

Layout layout_make(Grid grid, int rank, int nranks)
{
  int px = ranks_along_x(grid, nranks);
  if (px == 0)
    return (Layout){.grid = grid};
  int pz = nranks / px;
  return place_in(grid, px, pz, rank / pz, rank % pz);
}
