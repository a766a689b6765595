#include "room.h"

#include <stdlib.h>

enum { FIRST_SLOTS = 64, FIRST_STARTS = 64 };

/* Makes `array` as long as `count` items.  True unless there is no memory. */
#define RESIZED(array, count) ((grown = realloc(array, (size_t)(count) * sizeof *(array))) && ((array) = grown))

int room_for_flows(Graph *graph)
{
  void *grown;
  int64_t slots = graph->slots ? 2 * graph->slots : FIRST_SLOTS;
  if (slots * graph->width > INT32_MAX)
    return NO_MEMORY;
  if (!RESIZED(graph->flow, slots) || !RESIZED(graph->entry, slots * graph->width) ||
      !RESIZED(graph->ends.event, slots) || !RESIZED(graph->free, slots) || !RESIZED(graph->changed, slots))
    return NO_MEMORY;
  for (int64_t slot = graph->slots; slot < slots; slot++) {
    graph->flow[slot].place = NOTHING;
    graph->flow[slot].seen = 0;
  }
  graph->slots = slots;
  return DONE;
}

int room_for_starts(Graph *graph)
{
  void *grown;
  int64_t room = graph->starts_room ? 2 * graph->starts_room : FIRST_STARTS;
  if (!RESIZED(graph->starts.event, room))
    return NO_MEMORY;
  graph->starts_room = room;
  return DONE;
}
