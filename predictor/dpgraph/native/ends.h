/* The slots of the flows by the dates at which the flows end if their rates do not change. */
#ifndef PREDICTOR_DPGRAPH_ENDS_H
#define PREDICTOR_DPGRAPH_ENDS_H

#include "heap.h"
#include "room.h"

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

/* Sets the date at which a flow ends, in a heap. */
static inline void ends_schedule(Heap *ends, Flow *flow, int32_t slot, double date_s)
{
  int64_t place = flow[slot].place;
  if (place < 0)
    place = ends->size++;
  ends_settle(ends, flow, place, (Event){date_s, slot, NOTHING});
}

/* Sets the date at which a flow ends.  Its earlier entry among those in order becomes void. */
static inline void ends_set(Graph *graph, int32_t slot, double date_s)
{
  Flow *flow = &graph->flow[slot];
  if (graph->ends.last == graph->ends.room)
    room_without_void(graph);
  if (flow->place < 0 && events_append(&graph->ends, (Event){date_s, slot, ++flow->turn}))
    flow->place = IN_ORDER;
  else
    ends_schedule(&graph->ends.heap, graph->flow, slot, date_s);
}

/* Removes the flow that ends first from a heap and returns its slot. */
static inline int32_t ends_pop(Heap *ends, Flow *flow)
{
  int32_t slot = ends->event[0].what;
  if (--ends->size > 0)
    ends_settle(ends, flow, 0, ends->event[ends->size]);
  flow[slot].place = NOTHING;
  return slot;
}

/* Returns the slot of the flow that ends first, and its date; NOTHING and infinity if there is none. */
static inline int32_t ends_first(Graph *graph, double *date_s)
{
  Events *ends = &graph->ends;
  while (ends->first < ends->last && ends_is_void(graph, ends->event[ends->first]))
    ends->first++;
  *date_s = events_date_s(ends);
  if (*date_s == INFINITY)
    return NOTHING;
  return events_in_order(ends) ? ends->event[ends->first].what : ends->heap.event[0].what;
}

#endif
