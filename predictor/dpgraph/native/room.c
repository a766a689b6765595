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
      !RESIZED(graph->ends.event, 2 * slots) || !RESIZED(graph->ends.heap.event, slots) ||
      !RESIZED(graph->free, slots) || !RESIZED(graph->changed, slots))
    return NO_MEMORY;
  for (int64_t slot = graph->slots; slot < slots; slot++) {
    graph->flow[slot].place = NOTHING;
    graph->flow[slot].seen = graph->flow[slot].turn = 0;
    graph->flow[slot].bundle = NOTHING;
  }
  graph->slots = slots;
  graph->ends.room = 2 * slots;
  return DONE;
}

void room_without_void(Graph *graph)
{
  Events *ends = &graph->ends;
  int64_t kept = 0;
  for (int64_t i = ends->first; i < ends->last; i++)
    if (!ends_is_void(graph, ends->event[i]))
      ends->event[kept++] = ends->event[i];
  ends->first = 0;
  ends->last = kept;
}

int room_for_starts(Graph *graph)
{
  void *grown;
  Events *starts = &graph->starts;
  if (starts->first > starts->room / 2 && starts->heap.size < starts->room) {
    memmove(starts->event, starts->event + starts->first,
            (size_t)(starts->last - starts->first) * sizeof *starts->event);
    starts->last -= starts->first;
    starts->first = 0;
    return DONE;
  }
  int64_t room = starts->room ? 2 * starts->room : FIRST_STARTS;
  if (!RESIZED(starts->event, room) || !RESIZED(starts->heap.event, room))
    return NO_MEMORY;
  starts->room = room;
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
  for (int64_t i = graph->starts.first; i < graph->starts.last; i++)
    graph->starts.event[i].what = moved(graph, graph->starts.event[i].what, before);
  for (int64_t i = 0; i < graph->starts.heap.size; i++)
    graph->starts.heap.event[i].what = moved(graph, graph->starts.heap.event[i].what, before);
  for (int64_t r = 0; r < graph->input.ranks; r++) {
    Rank *rank = &graph->rank[r];
    if (rank->copy >= 0 && rank->copy < graph->copies)
      rank->base = (int32_t)(room_row(graph, rank->copy) - graph->fixed);
  }
  return DONE;
}
