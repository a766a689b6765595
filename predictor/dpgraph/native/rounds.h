/* The rounds in which ranks act at one date (by_date of state.h). */
#ifndef PREDICTOR_DPGRAPH_ROUNDS_H
#define PREDICTOR_DPGRAPH_ROUNDS_H

#include "state.h"

/* Runs all ranks that can act at this date.  Returns DONE, NO_MEMORY or BAD_INPUT. */
int rounds_run(Graph *graph);

#endif
