/* The slots of the flows as a heap, ordered by the dates at which the flows end if their rates do not change. */
#ifndef PREDICTOR_DPGRAPH_ENDS_H
#define PREDICTOR_DPGRAPH_ENDS_H

#include "heap.h"

static inline void ends_put(Heap *ends, Flow *flow, int64_t i, Event event)
{
  ends->event[i] = event;
  flow[event.what].place = (int32_t)i;
}

/* Inserts an event at index i and restores the heap order. */
static inline void ends_settle(Heap *ends, Flow *flow, int64_t i, Event settled)
{
  Event *event = ends->event;
  while (i > 0 && event[(i - 1) >> 1].date_s > settled.date_s) {
    ends_put(ends, flow, i, event[(i - 1) >> 1]);
    i = (i - 1) >> 1;
  }
  for (int64_t below; (below = heap_below(ends, i)) < ends->size && event[below].date_s < settled.date_s; i = below)
    ends_put(ends, flow, i, event[below]);
  ends_put(ends, flow, i, settled);
}

/* Sets the date at which a flow ends. */
static inline void ends_schedule(Heap *ends, Flow *flow, int32_t slot, double date_s)
{
  int64_t place = flow[slot].place;
  if (place == NOTHING)
    place = ends->size++;
  ends_settle(ends, flow, place, (Event){date_s, slot, NOTHING});
}

/* Removes the flow that ends first and returns its slot. */
static inline int32_t ends_pop(Heap *ends, Flow *flow)
{
  int32_t slot = ends->event[0].what;
  if (--ends->size > 0)
    ends_settle(ends, flow, 0, ends->event[ends->size]);
  flow[slot].place = NOTHING;
  return slot;
}

#endif
