/* Ranks that poll for messages (MPI_Test, MPI_Iprobe and their kind), as SimGrid 3.32 simulates them.
 *
 * Each poll takes some time and then reports whether an operation is complete.  Its duration is a multiple of the first
 * poll's: a failed poll increases the multiple, a successful one resets it to 1.  All ranks share the three multiples
 * (`count`), so the order in which ranks act matters.  As in SimGrid, the ranks that can continue at a date act in
 * rounds: in each round, every rank continues up to its next call of the simulator. */
#ifndef PREDICTOR_DPGRAPH_POLLS_H
#define PREDICTOR_DPGRAPH_POLLS_H

#include <math.h>

#include "state.h"

/* Allocates the state.  Returns DONE or NO_MEMORY. */
int polls_allocate(Graph *graph);

/* Begins a poll of a rank; returns false if nothing is left to test. */
bool polls_begin(Graph *graph, int32_t rank, int64_t poll);

/* Pauses a rank for `takes_s` seconds from now. */
void polls_pause(Graph *graph, int32_t rank, double takes_s, bool asleep);

/* Queues a rank for the next round. */
static inline void polls_queue(Graph *graph, int32_t rank)
{
  graph->next[graph->queued++] = rank;
}

/* Advances a rank's poll.  Returns true if the rank continues after the poll in this round, or does not poll at all. */
bool polls_step(Graph *graph, int32_t rank);

/* Adds the pauses begun in this date's rounds to the heap. */
void polls_note_pauses(Graph *graph);

/* Advances to a date and queues the ranks whose pauses end at it. */
void polls_due(Graph *graph, double now_s);

/* Returns the end date of the next pause; infinity if no rank pauses. */
static inline double polls_date_s(const Graph *graph)
{
  return graph->pauses > 0 ? graph->pause[0].date_s : INFINITY;
}

enum { MOST_FAILED_POLLS = 10000000 };

/* Returns whether ranks poll for messages that will never be sent; `network_s`: date of the network's next event. */
static inline bool polls_are_stuck(const Graph *graph, double network_s)
{
  return graph->failed_polls > MOST_FAILED_POLLS && network_s == INFINITY;
}

#endif
