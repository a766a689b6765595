/* The rounds in which ranks act at one date, where any of them look for messages (looks.h). */
#ifndef PREDICTOR_DPGRAPH_ROUNDS_H
#define PREDICTOR_DPGRAPH_ROUNDS_H

#include "state.h"

/* Lets all ranks act that can do so at this date.  Returns DONE, NO_MEMORY or BAD_INPUT. */
int rounds_run(Graph *graph);

#endif
