/* The check of the input: without it, the evaluation could leave its memory. */
#ifndef PREDICTOR_DPGRAPH_CHECK_H
#define PREDICTOR_DPGRAPH_CHECK_H

#include "graph.h"

/* Returns DONE, NO_MEMORY or BAD_INPUT. */
int check(const Input *input, int64_t copies, int64_t fixed);

#endif
