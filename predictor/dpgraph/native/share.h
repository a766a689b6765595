/* Max-min fair rates. */
#ifndef PREDICTOR_DPGRAPH_SHARE_H
#define PREDICTOR_DPGRAPH_SHARE_H

#include "state.h"

/* Computes the rates of the flows of a change.  Returns DONE, or BAD_INPUT if no rates solve it. */
int share(Graph *graph);

#endif
