/* Max-min fair rates. */
#ifndef PREDICTOR_DPGRAPH_SHARE_H
#define PREDICTOR_DPGRAPH_SHARE_H

#include "state.h"

/* Finds the rates of the flows of a change.  Returns DONE, or BAD_INPUT if there are none. */
int share(Graph *graph);

#endif
