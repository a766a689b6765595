/* New rates after the events of one date. */
#ifndef PREDICTOR_DPGRAPH_CHANGE_H
#define PREDICTOR_DPGRAPH_CHANGE_H

#include "state.h"

/* Finds all flows whose rates change, computes their rates and schedules their ends.  Returns DONE or BAD_INPUT. */
int change_rates(Graph *graph, double now_s);

#endif
