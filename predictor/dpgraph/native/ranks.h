/* The ranks, which execute their instructions. */
#ifndef PREDICTOR_DPGRAPH_RANKS_H
#define PREDICTOR_DPGRAPH_RANKS_H

#include "state.h"

/* Runs all woken ranks until they block or end.  Returns DONE, NO_MEMORY or BAD_INPUT. */
int ranks_run(Graph *graph);

/* Runs a rank at this date until its next call of the simulator; for programs that poll. */
int ranks_act(Graph *graph, int32_t rank, double now_s);

/* Marks the message at a place as arrived, and wakes the ranks that wait for it. */
void ranks_arrive(Graph *graph, int32_t place, double now_s);

/* Wakes a rank that is blocked at an instruction: it continues after it, at this date at the earliest. */
static inline void ranks_wake(Graph *graph, int32_t rank, double date_s)
{
  if (graph->rank[rank].clock_s < date_s)
    graph->rank[rank].clock_s = date_s;
  graph->rank[rank].at++;
  graph->woken[graph->woken_count++] = rank;
}

#endif
