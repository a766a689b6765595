/* Loops end as soon as their copies are known to repeat.
 *
 * When the first rank begins a copy, the state of the evaluation is compared with that when the copy before was begun:
 * positions and clocks of ranks, messages that some rank has still to wait for, messages in flight and their rates.  If
 * all are the same but for a shift of dates and copies, all further copies take as long. */
#ifndef PREDICTOR_BUNDLES_REPEATS_H
#define PREDICTOR_BUNDLES_REPEATS_H

#include "../../dpgraph/native/state.h"

/* The state at the begin of a copy, dates relative to it. */
typedef struct {
  double *value;
  int64_t count, room;
  bool known;
} State;

struct Repeats {
  State state[2]; /* of the latest two copies, by copy modulo 2 */
  double begin_s; /* of the latest copy */
  int64_t copy;   /* the latest copy that was begun */
};

/* Notes that a rank begins a copy; ends the loop before it if the copies repeat.  Returns DONE or NO_MEMORY. */
int repeats_note(Graph *graph, int32_t rank);

/* Puts the woken ranks in order: that of simultaneous events depends on rounding, which would make copies look unlike. */
void repeats_order(Graph *graph);

void repeats_free(Graph *graph);

#endif
