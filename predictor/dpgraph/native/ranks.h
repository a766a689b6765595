/* The ranks, which execute their instructions. */
#ifndef PREDICTOR_DPGRAPH_RANKS_H
#define PREDICTOR_DPGRAPH_RANKS_H

#include "state.h"

/* Lets all ranks that were woken go on until they wait or end.  Returns DONE, NO_MEMORY or BAD_INPUT. */
int ranks_run(Graph *graph);

/* Lets a rank act once at this date, where ranks look for messages: until its next call of the simulator. */
int ranks_act(Graph *graph, int32_t rank, double now_s);

/* Lets the message at a place arrive, and wakes the ranks that wait for it. */
void ranks_arrive(Graph *graph, int32_t place, double now_s);

/* Lets a rank that waits go on behind the instruction at which it waits, at this date at the earliest. */
static inline void ranks_wake(Graph *graph, int32_t rank, double date_s)
{
  if (graph->rank[rank].clock_s < date_s)
    graph->rank[rank].clock_s = date_s;
  graph->rank[rank].at++;
  graph->woken[graph->woken_count++] = rank;
}

#endif
