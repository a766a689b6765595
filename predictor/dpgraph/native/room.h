/* Memory for flows, starting messages and copies of loops, which grows with the number that exist at the same time. */
#ifndef PREDICTOR_DPGRAPH_ROOM_H
#define PREDICTOR_DPGRAPH_ROOM_H

#include "state.h"

/* Each doubles its memory and returns DONE or NO_MEMORY. */
int room_for_flows(Graph *graph);
int room_for_starts(Graph *graph);
int room_for_copies(Graph *graph);

/* Resets the messages from one place up to another. */
void room_clear(Graph *graph, int64_t from, int64_t to);

/* Returns the first place of a row of messages. */
static inline int64_t room_row(const Graph *graph, int64_t copy)
{
  return graph->fixed + (copy & (graph->window - 1)) * (graph->input.messages - graph->fixed);
}

/* Returns whether an entry among the ends in order is no longer that of its flow. */
static inline bool ends_is_void(const Graph *graph, Event entry)
{
  const Flow *flow = &graph->flow[entry.what];
  return flow->place != IN_ORDER || flow->turn != entry.kind;
}

/* Removes the void entries from the ends in order, which makes room for as many as there are slots. */
void room_without_void(Graph *graph);

/* Returns a free slot for a flow; NOTHING if memory runs out. */
static inline int32_t room_take_slot(Graph *graph)
{
  if (graph->free_count > 0)
    return graph->free[--graph->free_count];
  if (graph->used_slots == graph->slots && room_for_flows(graph) != DONE)
    return NOTHING;
  return (int32_t)graph->used_slots++;
}

#endif
