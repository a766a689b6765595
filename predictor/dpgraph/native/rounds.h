/* The rounds in which ranks act at one date.  Programs that poll (polls.h) or receive from any source (choices.h) need
   them: no rank may run ahead of the network's date. */
#ifndef PREDICTOR_DPGRAPH_ROUNDS_H
#define PREDICTOR_DPGRAPH_ROUNDS_H

#include "state.h"

static inline bool by_date(const Input *input)
{
  return input->polls > 0 || input->open > 0;
}

/* Runs all ranks that can act at this date.  Returns DONE, NO_MEMORY or BAD_INPUT. */
int rounds_run(Graph *graph);

#endif
