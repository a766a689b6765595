/* Receives from any rank, and the replies to those that they have received from.
 *
 * A message is *open* if its receiver is not known beforehand, or its receiver does not know it.  Open receives have
 * numbers of their own.  A receive takes a message as soon as both are posted: of those that it may take, the one that was
 * sent first.  Messages of one pair of ranks are received in the order of their sends. */
#ifndef PREDICTOR_DPGRAPH_CHOICES_H
#define PREDICTOR_DPGRAPH_CHOICES_H

#include "state.h"

/* Allocates the state.  Returns DONE or NO_MEMORY. */
int choices_allocate(Graph *graph);

void choices_free(Graph *graph);

static inline int choices_role(const Graph *graph, int32_t number)
{
  return number < graph->input.open ? graph->input.role[number] : ROLE_NONE;
}

/* Gives a reply its receiver and its kind; returns false if the rank has not received from any that it can reply to. */
bool choices_address(Graph *graph, int32_t rank, int32_t number);

/* Notes that an open message has been sent; returns the receive that takes it, NOTHING if none does yet. */
int32_t choices_sent(Graph *graph, int32_t number);

/* Notes that a rank has posted an open receive; returns the message that it takes, NOTHING if there is none yet. */
int32_t choices_received(Graph *graph, int32_t rank, int32_t number);

#endif
