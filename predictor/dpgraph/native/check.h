/* The check of the input, which has to hold for all else to stay within its memory. */
#ifndef PREDICTOR_DPGRAPH_CHECK_H
#define PREDICTOR_DPGRAPH_CHECK_H

#include "graph.h"

/* Returns DONE, NO_MEMORY or BAD_INPUT. */
int check(const Input *input, int64_t copies, int64_t fixed);

#endif
