#include "events.h"

#include <stdlib.h>

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
