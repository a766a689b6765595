#include <stddef.h>
#include <stdlib.h>

#include "turns.h"

static bool before(const Event *a, const Event *b)
{
  return a->time < b->time || (a->time == b->time && a->order < b->order);
}

bool events_add(Events *events, double time, void *what)
{
  if (events->size == events->room) {
    long room = events->room ? 2 * events->room : 4096;
    Event *heap = realloc(events->heap, (size_t)room * sizeof *heap);
    if (!heap)
      return false;
    events->heap = heap;
    events->room = room;
  }
  Event event = {time, events->order++, what};
  long at = events->size++;
  while (at && before(&event, &events->heap[(at - 1) / 2])) {
    events->heap[at] = events->heap[(at - 1) / 2];
    at = (at - 1) / 2;
  }
  events->heap[at] = event;
  return true;
}

Event events_take(Events *events)
{
  Event first = events->heap[0], last = events->heap[--events->size];
  long at = 0;
  for (long down = 1; down < events->size; down = 2 * at + 1) {
    if (down + 1 < events->size && before(&events->heap[down + 1], &events->heap[down]))
      down++;
    if (!before(&events->heap[down], &last))
      break;
    events->heap[at] = events->heap[down];
    at = down;
  }
  events->heap[at] = last;
  return first;
}

bool fifo_carry(Link *link, Span *span, int bytes, double queue)
{
  double starts = link->free_at > span->first ? link->free_at : span->first;
  double waiting = (starts - span->first) * link->rate / 8;
  if (waiting > link->most_waiting)
    link->most_waiting = waiting;
  if (waiting > queue) {
    link->dropped++;
    return false;
  }
  fifo_pass(link, span, bytes);
  return true;
}

void fifo_pass(Link *link, Span *span, int bytes)
{
  double starts = link->free_at > span->first ? link->free_at : span->first;
  link->packets++;
  link->free_at = starts + 8.0 * bytes / link->rate;
  span->first = starts + link->delay;
  span->last = (span->last > link->free_at ? span->last : link->free_at) + link->delay;
}

bool turns_join(Link *link, int flow, int bytes, double queue, void *packet)
{
  Turns *turns = link->turns;
  double due = turns->ends[flow] > turns->begun ? turns->ends[flow] : turns->begun;
  if (turns->waiting_bytes + bytes > queue || !events_add(&turns->waiting, due, packet)) {
    link->dropped++;
    return false;
  }
  turns->ends[flow] = due + bytes;
  turns->waiting_bytes += bytes;
  if (turns->waiting_bytes > link->most_waiting)
    link->most_waiting = turns->waiting_bytes;
  return true;
}

void *turns_next(Link *link)
{
  Turns *turns = link->turns;
  if (!turns->waiting.size)
    return NULL;
  Event next = events_take(&turns->waiting);
  turns->begun = next.time;
  return next.what;
}
