/* A pipeline of planes. */
#ifndef PREDICTOR_STRUCTURAL_SWEEP_H
#define PREDICTOR_STRUCTURAL_SWEEP_H

#include "ranks.h"

/* Evaluates a pipeline of planes through the grid of ranks, in closed form. */
void sweep_run(Ranks *ranks, int64_t sweep);

#endif
