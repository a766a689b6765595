/* Room for flows and for messages that start, which grows with the number of them at the same time. */
#ifndef PREDICTOR_DPGRAPH_ROOM_H
#define PREDICTOR_DPGRAPH_ROOM_H

#include "state.h"

/* Double the room.  They return DONE or NO_MEMORY. */
int room_for_flows(Graph *graph);
int room_for_starts(Graph *graph);

/* Returns a slot for a flow; NOTHING if there is no memory. */
static inline int32_t room_take_slot(Graph *graph)
{
  if (graph->free_count > 0)
    return graph->free[--graph->free_count];
  if (graph->used_slots == graph->slots && room_for_flows(graph) != DONE)
    return NOTHING;
  return (int32_t)graph->used_slots++;
}

#endif
