#include "grid.h"

#include <stdlib.h>

#include "../harness/split.h"

/* Sets `ranks` to the number of ranks along each axis. */
static void shape(int nranks, Cut cut, int *ranks)
{
  ranks[1] = ranks[2] = 1;
  ranks[0] = nranks;
  if (cut == SLABS)
    return;
  int x = 1;
  for (;; x++) { /* the smallest x for which neither other side is longer */
    if (nranks % x || (cut == BOXES ? (long)x * x * x : (long)x * x) < nranks)
      continue;
    int face = nranks / x, y = 1;
    while (face % y || (cut == BOXES ? (long)y * y : (long)y) < face)
      y++;
    if (y > x)
      continue;
    ranks[0] = x;
    ranks[1] = y;
    ranks[2] = face / y;
    return;
  }
}

bool grid_fits(int n, int nranks, Cut cut)
{
  int ranks[AXES];
  shape(nranks, cut, ranks);
  return ranks[0] <= n - 2;
}

Grid grid_make(Run *run, int n, Cut cut)
{
  static const char *const names[AXES] = {"cuts_x", "cuts_y", "cuts_z"};
  int rank = run->rank;
  Grid grid = {.n = n};
  shape(run->nranks, cut, grid.ranks);
  for (int a = AXES - 1, stride = 1; a >= 0; stride *= grid.ranks[a--]) {
    int p = grid.ranks[a], place = rank / stride % p;
    int *cuts = run_cuts(run, names[a], p, n - 2, 1);
    grid.start[a] = 1 + (cuts ? cuts[place] : split_start(n - 2, p, place));
    grid.own[a] = cuts ? cuts[place + 1] - cuts[place] : split_count(n - 2, p, place);
    free(cuts);
    grid.lower[a] = place > 0 ? rank - stride : MPI_PROC_NULL;
    grid.upper[a] = place < p - 1 ? rank + stride : MPI_PROC_NULL;
  }
  return grid;
}
