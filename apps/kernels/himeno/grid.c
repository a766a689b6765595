#include "grid.h"

#include "../harness/split.h"

/* Sets `ranks` to the number of ranks along each axis. */
static void shape(int nranks, int *ranks)
{
  int x = 1;
  for (;; x++) { /* the smallest x for which neither other side is longer */
    if (nranks % x || (long)x * x * x < nranks)
      continue;
    int face = nranks / x, y = 1;
    while (face % y || (long)y * y < face)
      y++;
    if (y > x)
      continue;
    ranks[0] = x;
    ranks[1] = y;
    ranks[2] = face / y;
    return;
  }
}

bool grid_fits(int n, int nranks)
{
  int ranks[AXES];
  shape(nranks, ranks);
  return ranks[0] <= n - 2;
}

Grid grid_make(int n, int rank, int nranks)
{
  Grid grid = {.n = n};
  shape(nranks, grid.ranks);
  for (int a = AXES - 1, stride = 1; a >= 0; stride *= grid.ranks[a--]) {
    int p = grid.ranks[a], place = rank / stride % p;
    grid.start[a] = 1 + split_start(n - 2, p, place);
    grid.own[a] = split_count(n - 2, p, place);
    grid.lower[a] = place > 0 ? rank - stride : MPI_PROC_NULL;
    grid.upper[a] = place < p - 1 ? rank + stride : MPI_PROC_NULL;
  }
  return grid;
}
