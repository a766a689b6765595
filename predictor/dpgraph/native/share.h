/* Max-min fair rates. */
#ifndef PREDICTOR_DPGRAPH_SHARE_H
#define PREDICTOR_DPGRAPH_SHARE_H

#include "state.h"

/* Computes the rates of the changed flows from index `flows` on, which the reached links from index `links` on limit.
   Returns DONE, or BAD_INPUT if no rates solve it. */
int share(Graph *graph, int64_t flows, int64_t links);

#endif
