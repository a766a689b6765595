#include "room.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 64, FIRST_STARTS = 64, FIRST_COPIES = 2 };

/* Resizes `array` to `count` items.  False if memory runs out. */
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
    graph->flow[slot].bundle = NOTHING;
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

void room_clear(Graph *graph, int64_t from, int64_t to)
{
  for (int64_t place = from; place < to; place++)
    graph->posted[place] = (Posted){NEVER, NEVER, NEVER, NOBODY, NOBODY};
}

/* Returns the new place of a message after the window has grown from `window` rows. */
static int32_t moved(const Graph *graph, int32_t place, int64_t window)
{
  int64_t row_length = graph->input.messages - graph->fixed, within = place - graph->fixed;
  if (within < 0)
    return place;
  int64_t copy = graph->oldest + ((within / row_length - graph->oldest) & (window - 1));
  return (int32_t)(room_row(graph, copy) + within % row_length);
}

/* Moves the rows of all copies from their places in a window of `window` rows to those in the grown one. */
static int move_rows(Graph *graph, int64_t window)
{
  int64_t row_length = graph->input.messages - graph->fixed;
  size_t bytes = (size_t)(window * row_length) * sizeof *graph->posted;
  Posted *old = malloc(bytes + 1);
  int64_t *left = calloc((size_t)graph->window, sizeof *left);
  if (!old || !left) {
    free(old);
    free(left);
    return NO_MEMORY;
  }
  memcpy(old, graph->posted + graph->fixed, bytes);
  room_clear(graph, graph->fixed, graph->fixed + graph->window * row_length);
  for (int64_t copy = graph->oldest; copy < graph->oldest + window; copy++) {
    int64_t row = copy & (window - 1);
    memcpy(graph->posted + room_row(graph, copy), old + row * row_length, (size_t)row_length * sizeof *old);
    left[copy & (graph->window - 1)] = graph->left[row];
  }
  free(old);
  free(graph->left);
  graph->left = left;
  return DONE;
}

int room_for_copies(Graph *graph)
{
  void *grown;
  int64_t before = graph->window, row_length = graph->input.messages - graph->fixed;
  int64_t window = before ? 2 * before : FIRST_COPIES, places = graph->fixed + window * row_length;
  if (places > INT32_MAX || !RESIZED(graph->posted, places + 1))
    return NO_MEMORY;
  graph->window = window;
  if (!before) {
    room_clear(graph, 0, places);
    return (graph->left = calloc((size_t)window, sizeof *graph->left)) ? DONE : NO_MEMORY;
  }
  if (move_rows(graph, before) != DONE)
    return NO_MEMORY;
  for (int64_t slot = 0; slot < graph->used_slots; slot++)
    graph->flow[slot].message = moved(graph, graph->flow[slot].message, before);
  for (int64_t i = 0; i < graph->starts.size; i++)
    graph->starts.event[i].what = moved(graph, graph->starts.event[i].what, before);
  for (int64_t r = 0; r < graph->input.ranks; r++) {
    Rank *rank = &graph->rank[r];
    if (rank->copy >= 0 && rank->copy < graph->copies)
      rank->base = (int32_t)(room_row(graph, rank->copy) - graph->fixed);
  }
  return DONE;
}
