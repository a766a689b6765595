#include "box.h"

#include <string.h>

Box box_make(int n, const int start[3], const int count[3])
{
  Box box = {.n = n};
  ptrdiff_t stride = 5;
  for (int axis = 0; axis < 3; axis++) {
    box.start[axis] = start[axis];
    box.count[axis] = count[axis];
    box.first[axis] = start[axis] == 0 ? 1 : 0;
    box.end[axis] = count[axis] - (start[axis] + count[axis] == n ? 1 : 0);
    box.stride[axis] = stride;
    stride *= count[axis] + 2 * BOX_HALO;
  }
  box.size = (size_t)stride;
  return box;
}

void part_copy(const Box *box, const Part *part, double *field, double *message, int to_message)
{
  int row = 5 * part->count[0]; /* points along x are neighbours in a field */
  for (int k = 0; k < part->count[2]; k++)
    for (int j = 0; j < part->count[1]; j++, message += row) {
      double *point = box_at(box, field, part->from[0], part->from[1] + j, part->from[2] + k);
      if (to_message)
        memcpy(message, point, (size_t)row * sizeof *point);
      else
        memcpy(point, message, (size_t)row * sizeof *point);
    }
}
