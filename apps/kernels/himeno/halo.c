#include "halo.h"

#include <string.h>

enum { LOWER, UPPER };
enum { TAG_DOWN = 1, TAG_UP }; /* direction of a message */

/* --- planes --- */

/* Returns the number of points of a plane across an axis, with the extents of the other two axes, ghosts and boundary
 * included: points exchanged along one axis are passed on along the next, to edges and corners. */
static int plane_points(const Grid *grid, int axis)
{
  int points = 1;
  for (int a = 0; a < AXES; a++)
    points *= a == axis ? 1 : extent(grid, a);
  return points;
}

typedef enum { PACK, UNPACK } Direction;

/* Copies the plane at `place` of an axis to a message, or from it. */
static void copy_plane(const Fields *f, int axis, int place, float *message, Direction direction)
{
  int from[AXES] = {0}, to[AXES];
  for (int a = 0; a < AXES; a++)
    to[a] = extent(&f->grid, a);
  from[axis] = place;
  to[axis] = place + 1;
  size_t count = (size_t)(to[2] - from[2]);
  for (int i = from[0]; i < to[0]; i++)
    for (int j = from[1]; j < to[1]; j++, message += count) {
      float *row = f->p + (size_t)i * f->plane + (size_t)j * f->row + from[2];
      if (direction == PACK)
        memcpy(message, row, count * sizeof *row);
      else
        memcpy(row, message, count * sizeof *row);
    }
}

/* --- messages --- */

/* Exchanges planes in both directions at once, as in the original: receives from above and below, sends down and up,
 * and waits for all together. */
static void exchange_along(Halo *halo, const Fields *f, int axis)
{
  const Grid *grid = &f->grid;
  int count = plane_points(grid, axis), last = grid->own[axis], requests = 0;
  int lower = grid->lower[axis], upper = grid->upper[axis];
  bool from_lower = lower != MPI_PROC_NULL, from_upper = upper != MPI_PROC_NULL, verify = halo->run->verify;
  MPI_Request request[2 * SIDES];
  if (verify && from_lower)
    copy_plane(f, axis, 1, halo->out[LOWER], PACK);
  if (verify && from_upper)
    copy_plane(f, axis, last, halo->out[UPPER], PACK);

  if (from_upper)
    request[requests++] = run_start_receive_any(halo->run, halo->in[UPPER], count, MPI_FLOAT, upper, TAG_DOWN);
  if (from_lower)
    request[requests++] = run_start_receive_any(halo->run, halo->in[LOWER], count, MPI_FLOAT, lower, TAG_UP);
  if (from_lower)
    request[requests++] = run_start_send_any(halo->run, halo->out[LOWER], count, MPI_FLOAT, lower, TAG_DOWN);
  if (from_upper)
    request[requests++] = run_start_send_any(halo->run, halo->out[UPPER], count, MPI_FLOAT, upper, TAG_UP);
  run_wait_all(halo->run, requests, request);

  if (verify && from_upper)
    copy_plane(f, axis, last + 1, halo->in[UPPER], UNPACK);
  if (verify && from_lower)
    copy_plane(f, axis, 0, halo->in[LOWER], UNPACK);
}

void exchange_pressure(Halo *halo, const Fields *fields)
{
  for (int axis = AXES - 1; axis >= 0; axis--)
    if (fields->grid.ranks[axis] > 1)
      exchange_along(halo, fields, axis);
}

/* --- buffers --- */

Halo halo_make(Run *run, const Grid *grid)
{
  Halo halo = {.run = run};
  int most = 0;
  for (int a = 0; a < AXES; a++)
    if (grid->ranks[a] > 1 && plane_points(grid, a) > most)
      most = plane_points(grid, a);
  for (int side = 0; side < SIDES; side++) {
    halo.out[side] = run_bytes(run, (size_t)most * sizeof(float));
    halo.in[side] = run_bytes(run, (size_t)most * sizeof(float));
  }
  return halo;
}

void halo_free(Halo *halo)
{
  for (int side = 0; side < SIDES; side++) {
    run_buffer_free(halo->run, halo->out[side]);
    run_buffer_free(halo->run, halo->in[side]);
  }
}
