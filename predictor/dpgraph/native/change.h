/* The flows and links affected by the events of one date. */
#ifndef PREDICTOR_DPGRAPH_CHANGE_H
#define PREDICTOR_DPGRAPH_CHANGE_H

#include "state.h"

/* Adds a flow to the change. */
static inline void change_note(Graph *graph, int32_t slot)
{
  Flow *flow = &graph->flow[slot];
  flow->seen = graph->step;
  graph->changed[graph->changed_count++] = (Changed){slot, flow->rate};
}

/* Finds all flows whose rates change, computes their rates and schedules their ends.  Returns DONE or BAD_INPUT. */
int change_rates(Graph *graph, double now_s);

#endif
