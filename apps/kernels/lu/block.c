#include "block.h"

#include "../harness/split.h"

Block block_make(int n, int rank, int nranks)
{
  Block block = {.dims = {nranks, 1}};
  for (int d = 2; d <= nranks / d; d++)
    if (nranks % d == 0) {
      block.dims[0] = nranks / d;
      block.dims[1] = d;
    }

  int place[3] = {rank % block.dims[0], rank / block.dims[0], 0};
  int start[3], count[3];
  for (int axis = 0; axis < 3; axis++) {
    int owners = axis < 2 ? block.dims[axis] : 1;
    start[axis] = split_start(n, owners, place[axis]);
    count[axis] = split_count(n, owners, place[axis]);
  }
  block.box = box_make(n, start, count);

  for (int axis = 0; axis < 2; axis++) {
    int step = axis == 0 ? 1 : block.dims[0];
    block.neighbour[axis][0] = place[axis] > 0 ? rank - step : -1;
    block.neighbour[axis][1] = place[axis] < block.dims[axis] - 1 ? rank + step : -1;
  }
  return block;
}
