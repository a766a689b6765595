/* Receives from any source, and replies to the senders that they received from.
 *
 * A message is *open* if the recording does not fix which receive takes it, or to whom it goes.  Open receives have
 * numbers of their own.  A receive takes a message as soon as both are posted; among several candidates, the one sent
 * first.  Messages between the same two ranks are received in the order of their sends. */
#ifndef PREDICTOR_BUNDLES_CHOICES_H
#define PREDICTOR_BUNDLES_CHOICES_H

#include "../../dpgraph/native/state.h"

/* Allocates the state.  Returns DONE or NO_MEMORY. */
int choices_allocate(Graph *graph);

void choices_free(Graph *graph);

static inline int choices_role(const Graph *graph, int32_t number)
{
  return number < graph->input.open ? graph->input.role[number] : ROLE_NONE;
}

/* Sets the receiver and the kind of a reply; returns false if the rank has received no message it can reply to. */
bool choices_address(Graph *graph, int32_t rank, int32_t number);

/* Registers the send of an open message; returns the receive that takes it, or NOTHING if none is posted yet. */
int32_t choices_sent(Graph *graph, int32_t number);

/* Registers an open receive of a rank; returns the message it takes, or NOTHING if none has been sent yet. */
int32_t choices_received(Graph *graph, int32_t rank, int32_t number);

#endif
