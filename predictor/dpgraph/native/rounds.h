/* The rounds in which ranks act at one date, where any of them look for messages (looks.h) or receive from any rank
 * (choices.h): nothing is done before its date. */
#ifndef PREDICTOR_DPGRAPH_ROUNDS_H
#define PREDICTOR_DPGRAPH_ROUNDS_H

#include "state.h"

static inline bool by_date(const Input *input)
{
  return input->looks > 0 || input->open > 0;
}

/* Lets all ranks act that can do so at this date.  Returns DONE, NO_MEMORY or BAD_INPUT. */
int rounds_run(Graph *graph);

#endif
