#include "exchange.h"

enum { TAG_HALO, TAG_SWEEP };

/* Points of a field across one axis (x or y): by layer, by plane, and along the other axis of x and y. */
typedef struct {
  int axis;
  int layer, layers, plane, planes, across, acrosses; /* the first of each, and their number */
} Face;

static int face_count(const Face *face) { return 5 * face->layers * face->planes * face->acrosses; }

/* Copies between a face and a message, which hold the points in the same order. */
static void face_copy(const Block *block, const Face *face, double *field, double *message, bool to_message)
{
  ptrdiff_t step = block->stride[1 - face->axis];
  for (int layer = face->layer; layer < face->layer + face->layers; layer++)
    for (int k = face->plane; k < face->plane + face->planes; k++) {
      double *point = block_at(block, field, 0, 0, k) + layer * block->stride[face->axis] + face->across * step;
      for (int a = 0; a < face->acrosses; a++, point += step, message += 5)
        for (int m = 0; m < 5; m++)
          if (to_message)
            message[m] = point[m];
          else
            point[m] = message[m];
    }
}

Exchange exchange_make(Run *run, const Block *block)
{
  int longest = block->count[0] > block->count[1] ? block->count[0] : block->count[1];
  size_t room = 5 * (size_t)BLOCK_HALO * (size_t)longest * (size_t)block->n;
  return (Exchange){.run = run, .block = block, .out = run_buffer(run, room), .in = run_buffer(run, room)};
}

void exchange_free(Exchange *exchange)
{
  run_buffer_free(exchange->run, exchange->out);
  run_buffer_free(exchange->run, exchange->in);
}

static void send_face(Exchange *exchange, double *field, Face face, int destination, int tag)
{
  if (exchange->run->verify)
    face_copy(exchange->block, &face, field, exchange->out, true);
  run_send(exchange->run, exchange->out, face_count(&face), destination, tag);
}

/* --- halos --- */

static Face halo_face(const Block *block, int axis, int layer)
{
  return (Face){.axis = axis, .layer = layer, .layers = BLOCK_HALO, .planes = block->n,
                .acrosses = block->count[1 - axis]};
}

/* Sends layers along the axis to the neighbour on side `to`, and receives the layers on the other side. */
static void shift(Exchange *exchange, double *field, int axis, int to)
{
  const Block *block = exchange->block;
  int source = block->neighbour[axis][1 - to], destination = block->neighbour[axis][to], count = block->count[axis];
  Face arriving = halo_face(block, axis, to == 1 ? -BLOCK_HALO : count);
  MPI_Request request = MPI_REQUEST_NULL;
  if (source >= 0)
    request = run_start_receive(exchange->run, exchange->in, face_count(&arriving), source, TAG_HALO);
  if (destination >= 0)
    send_face(exchange, field, halo_face(block, axis, to == 1 ? count - BLOCK_HALO : 0), destination, TAG_HALO);
  if (source >= 0) {
    run_wait(exchange->run, &request);
    if (exchange->run->verify)
      face_copy(block, &arriving, field, exchange->in, false);
  }
}

void exchange_halo(Exchange *exchange, double *field, int axis)
{
  shift(exchange, field, axis, 1);
  shift(exchange, field, axis, 0);
}

/* --- sweeps --- */

static Face plane_face(const Block *block, int axis, int layer, int k)
{
  int other = 1 - axis;
  return (Face){.axis = axis, .layer = layer, .layers = 1, .plane = k, .planes = 1, .across = block->first[other],
                .acrosses = block->end[other] - block->first[other]};
}

void exchange_wait_plane(Exchange *exchange, double *field, int k, int way)
{
  const Block *block = exchange->block;
  for (int axis = 0; axis < 2; axis++) {
    int source = block->neighbour[axis][way < 0];
    if (source < 0)
      continue;
    Face face = plane_face(block, axis, way > 0 ? -1 : block->count[axis], k);
    run_receive(exchange->run, exchange->in, face_count(&face), source, TAG_SWEEP);
    if (exchange->run->verify)
      face_copy(block, &face, field, exchange->in, false);
  }
}

void exchange_send_plane(Exchange *exchange, double *field, int k, int way)
{
  const Block *block = exchange->block;
  for (int axis = 0; axis < 2; axis++) {
    int destination = block->neighbour[axis][way > 0];
    if (destination >= 0)
      send_face(exchange, field, plane_face(block, axis, way > 0 ? block->count[axis] - 1 : 0, k), destination,
                TAG_SWEEP);
  }
}
