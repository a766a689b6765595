/* The instructions as steps, which are shorter and need less memory bandwidth. */
#ifndef PREDICTOR_DPGRAPH_STEPS_H
#define PREDICTOR_DPGRAPH_STEPS_H

#include "state.h"

/* A step has its code (an instruction or RECEIVE) in the low bits, and a message or the index of a value above. */
enum { CODE_BITS = 4, RECEIVE = BACK + 1 }; /* RECEIVE: a receive and the wait for it */
#define MOST_OPERANDS (1LL << (32 - CODE_BITS))

static inline int step_code(uint32_t step)
{
  return step & ((1 << CODE_BITS) - 1);
}

static inline uint32_t step_operand(uint32_t step)
{
  return step >> CODE_BITS;
}

/* Makes the steps of all ranks.  Waits that never block are left out.  Returns DONE, NO_MEMORY or BAD_INPUT. */
int steps_make(Graph *graph);

#endif
