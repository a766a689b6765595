#include "lines.h"

enum { TAG = 1 };

void line_broadcast(Run *run, const Line *line, Topology topology, int root, double *data, int count)
{
  int places = line->places, from_root = (line->place - root + places) % places;
  if (topology == RING) {
    if (from_root > 0)
      run_receive(run, data, count, rank_at(line, (line->place + places - 1) % places), TAG);
    if (from_root < places - 1)
      run_send(run, data, count, rank_at(line, (line->place + 1) % places), TAG);
    return;
  }
  int distance = 1; /* distance to the place that sends to this one: its lowest bit */
  while (distance < places && !(from_root & distance))
    distance <<= 1;
  if (from_root > 0)
    run_receive(run, data, count, rank_at(line, (from_root - distance + root) % places), TAG);
  while (distance >>= 1)
    if (from_root + distance < places)
      run_send(run, data, count, rank_at(line, (from_root + distance + root) % places), TAG);
}

static void receive_and_merge(Run *run, double *mine, double *theirs, int count, int source, Merge *merge)
{
  run_receive(run, theirs, count, source, TAG);
  if (run->verify)
    merge(mine, theirs, count);
}

void line_merge(Run *run, const Line *line, double *mine, double *theirs, int count, Merge *merge)
{
  int place = line->place, power = 1;
  while (2 * power <= line->places)
    power *= 2;
  if (place >= power) {
    int helper = rank_at(line, place - power);
    run_send(run, mine, count, helper, TAG);
    run_receive(run, mine, count, helper, TAG);
    return;
  }
  bool helps = place + power < line->places;
  if (helps)
    receive_and_merge(run, mine, theirs, count, rank_at(line, place + power), merge);
  for (int distance = 1; distance < power; distance *= 2) {
    int partner = rank_at(line, place ^ distance);
    MPI_Request request = run_start_receive(run, theirs, count, partner, TAG);
    run_send(run, mine, count, partner, TAG);
    run_wait(run, &request);
    if (run->verify)
      merge(mine, theirs, count);
  }
  if (helps)
    run_send(run, mine, count, rank_at(line, place + power), TAG);
}
