/* Events by date: binary heaps, and the order of most of them. */
#ifndef PREDICTOR_DPGRAPH_HEAP_H
#define PREDICTOR_DPGRAPH_HEAP_H

#include <math.h>

#include "state.h"

enum { MOST_LATER = 32 }; /* events that a new one may precede in the order */

/* Returns the index of the earlier child of index i; at least `size` if it has none. */
static inline int64_t heap_below(const Heap *heap, int64_t i)
{
  int64_t below = 2 * i + 1;
  if (below + 1 < heap->size) /* added instead of branched: the branch would be unpredictable */
    below += heap->event[below + 1].date_s < heap->event[below].date_s;
  return below;
}

/* Adds an event; the heap must have room for it. */
static inline void heap_push(Heap *heap, Event added)
{
  Event *event = heap->event;
  int64_t i = heap->size++;
  for (; i > 0 && event[(i - 1) >> 1].date_s > added.date_s; i = (i - 1) >> 1)
    event[i] = event[(i - 1) >> 1];
  event[i] = added;
}

/* Removes the first event and returns it. */
static inline Event heap_pop(Heap *heap)
{
  Event *event = heap->event, first = event[0], moved = event[--heap->size];
  int64_t i = 0;
  for (int64_t below; (below = heap_below(heap, i)) < heap->size && event[below].date_s < moved.date_s; i = below)
    event[i] = event[below];
  event[i] = moved;
  return first;
}

/* Adds an event to those in order, which must have room for it; returns false if it is earlier than many of them.  New
   events are later than nearly all others, so this is faster than a heap. */
static inline bool events_append(Events *events, Event added)
{
  Event *event = events->event;
  int64_t i = events->last;
  if (i - events->first > MOST_LATER && event[i - 1 - MOST_LATER].date_s > added.date_s)
    return false;
  for (; i > events->first && event[i - 1].date_s > added.date_s; i--)
    event[i] = event[i - 1];
  event[i] = added;
  events->last++;
  return true;
}

/* Returns whether the first event is one of those in order. */
static inline bool events_in_order(const Events *events)
{
  return events->first < events->last &&
         (events->heap.size == 0 || events->event[events->first].date_s <= events->heap.event[0].date_s);
}

/* Returns the date of the first event; infinity if there is none. */
static inline double events_date_s(const Events *events)
{
  double date_s = events->first < events->last ? events->event[events->first].date_s : INFINITY;
  return events->heap.size > 0 && events->heap.event[0].date_s < date_s ? events->heap.event[0].date_s : date_s;
}

/* Removes the first event and returns it. */
static inline Event events_pop(Events *events)
{
  return events_in_order(events) ? events->event[events->first++] : heap_pop(&events->heap);
}

#endif
