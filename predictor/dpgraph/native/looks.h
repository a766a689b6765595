/* Ranks that look for messages (MPI_Test, MPI_Iprobe and their kind), as SimGrid 3.32 simulates them.
 *
 * Each look takes a time, at whose end the rank learns whether an operation is complete.  The time is a multiple of that
 * of the first look: a look in vain increases the multiple, one that finds sets it back to 1.  All ranks share the three
 * multiples (`count`), so that the order in which they act matters.  As in SimGrid, ranks that can go on at a date act in
 * rounds: in each, every one goes on up to its next call of the simulator. */
#ifndef PREDICTOR_DPGRAPH_LOOKS_H
#define PREDICTOR_DPGRAPH_LOOKS_H

#include <math.h>

#include "state.h"

/* Allocates the state, and lets all ranks act first.  Returns DONE or NO_MEMORY. */
int looks_allocate(Graph *graph);

/* Lets a rank begin a look; returns false if it has nothing to look at. */
bool looks_begin(Graph *graph, int32_t rank, int64_t look);

/* Lets a rank pause from now on. */
void looks_pause(Graph *graph, int32_t rank, double takes_s, bool asleep);

/* Lets a rank act in the next round. */
static inline void looks_queue(Graph *graph, int32_t rank)
{
  graph->next[graph->queued++] = rank;
}

/* Lets a rank that looks learn what its look has found; returns whether it goes on behind the look in this round.  A
 * rank that does not look goes on. */
bool looks_step(Graph *graph, int32_t rank);

/* Notes the pauses that have begun in the rounds of this date. */
void looks_note_pauses(Graph *graph);

/* Goes to a date, at which the ranks whose pauses end can act. */
void looks_due(Graph *graph, double now_s);

/* Returns the date at which the next pause ends; infinity if there is none. */
static inline double looks_date_s(const Graph *graph)
{
  return graph->pauses > 0 ? graph->pause[0].date_s : INFINITY;
}

enum { MOST_IN_VAIN = 10000000 };

/* Returns whether ranks look for what nobody sends. */
static inline bool looks_forever(const Graph *graph)
{
  return graph->vain > MOST_IN_VAIN && graph->starts.size == 0 && graph->ends.size == 0;
}

#endif
