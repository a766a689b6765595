#include "block.h"

#include <stdlib.h>

#include "../harness/split.h"

Block block_make(Run *run, int n)
{
  static const char *const names[2] = {"cuts_x", "cuts_y"};
  int rank = run->rank, nranks = run->nranks;
  Block block = {.dims = {nranks, 1}};
  for (int d = 2; d <= nranks / d; d++)
    if (nranks % d == 0) {
      block.dims[0] = nranks / d;
      block.dims[1] = d;
    }

  int place[2] = {rank % block.dims[0], rank / block.dims[0]};
  int start[3] = {0, 0, 0}, count[3] = {n, n, n};
  for (int axis = 0; axis < 2; axis++) {
    int owners = block.dims[axis], own = place[axis];
    int *cuts = run_cuts(run, names[axis], owners, n, BOX_HALO);
    start[axis] = cuts ? cuts[own] : split_start(n, owners, own);
    count[axis] = cuts ? cuts[own + 1] - cuts[own] : split_count(n, owners, own);
    free(cuts);
  }
  block.box = box_make(n, start, count);

  for (int axis = 0; axis < 2; axis++) {
    int step = axis == 0 ? 1 : block.dims[0];
    block.neighbour[axis][0] = place[axis] > 0 ? rank - step : -1;
    block.neighbour[axis][1] = place[axis] < block.dims[axis] - 1 ? rank + step : -1;
  }
  return block;
}
