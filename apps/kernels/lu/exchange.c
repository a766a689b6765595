#include "exchange.h"

enum { TAG_HALO, TAG_SWEEP };

Exchange exchange_make(Run *run, const Block *block)
{
  const int *count = block->box.count;
  size_t room = 5 * (size_t)BOX_HALO * (size_t)(count[0] > count[1] ? count[0] : count[1]) * (size_t)count[2];
  return (Exchange){.run = run, .block = block, .out = run_buffer(run, room), .in = run_buffer(run, room)};
}

void exchange_free(Exchange *exchange)
{
  run_buffer_free(exchange->run, exchange->out);
  run_buffer_free(exchange->run, exchange->in);
}

static void send_part(Exchange *exchange, double *field, Part part, int destination, int tag)
{
  if (exchange->run->verify)
    part_copy(&exchange->block->box, &part, field, exchange->out, true);
  run_send(exchange->run, exchange->out, part_numbers(&part), destination, tag);
}

/* --- halos --- */

/* Returns two layers across x or y, of all own points along the other axes, from `layer` on. */
static Part layers_across(const Block *block, int axis, int layer)
{
  Part part = {{0}, {block->box.count[0], block->box.count[1], block->box.count[2]}};
  part.from[axis] = layer;
  part.count[axis] = BOX_HALO;
  return part;
}

/* Sends layers along the axis to the neighbour on side `to`, and receives the layers on the other side. */
static void shift(Exchange *exchange, double *field, int axis, int to)
{
  const Block *block = exchange->block;
  int source = block->neighbour[axis][1 - to], destination = block->neighbour[axis][to], count = block->box.count[axis];
  Part arriving = layers_across(block, axis, to == 1 ? -BOX_HALO : count);
  MPI_Request request = MPI_REQUEST_NULL;
  if (source >= 0)
    request = run_start_receive(exchange->run, exchange->in, part_numbers(&arriving), source, TAG_HALO);
  if (destination >= 0)
    send_part(exchange, field, layers_across(block, axis, to == 1 ? count - BOX_HALO : 0), destination, TAG_HALO);
  if (source >= 0) {
    run_wait(exchange->run, &request);
    if (exchange->run->verify)
      part_copy(&block->box, &arriving, field, exchange->in, false);
  }
}

void exchange_halo(Exchange *exchange, double *field, int axis)
{
  shift(exchange, field, axis, 1);
  shift(exchange, field, axis, 0);
}

/* --- sweeps --- */

/* Returns the unknowns of a row across x or y in plane k. */
static Part row_across(const Block *block, int axis, int layer, int k)
{
  const Box *box = &block->box;
  Part part = {{box->first[0], box->first[1], k}, {box->end[0] - box->first[0], box->end[1] - box->first[1], 1}};
  part.from[axis] = layer;
  part.count[axis] = 1;
  return part;
}

void exchange_wait_plane(Exchange *exchange, double *field, int k, int way)
{
  const Block *block = exchange->block;
  for (int axis = 0; axis < 2; axis++) {
    int source = block->neighbour[axis][way < 0];
    if (source < 0)
      continue;
    Part part = row_across(block, axis, way > 0 ? -1 : block->box.count[axis], k);
    run_receive(exchange->run, exchange->in, part_numbers(&part), source, TAG_SWEEP);
    if (exchange->run->verify)
      part_copy(&block->box, &part, field, exchange->in, false);
  }
}

void exchange_send_plane(Exchange *exchange, double *field, int k, int way)
{
  const Block *block = exchange->block;
  for (int axis = 0; axis < 2; axis++) {
    int destination = block->neighbour[axis][way > 0];
    if (destination >= 0)
      send_part(exchange, field, row_across(block, axis, way > 0 ? block->box.count[axis] - 1 : 0, k), destination,
                TAG_SWEEP);
  }
}
