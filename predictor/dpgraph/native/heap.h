/* Binary heaps of events by date. */
#ifndef PREDICTOR_DPGRAPH_HEAP_H
#define PREDICTOR_DPGRAPH_HEAP_H

#include "state.h"

/* Returns the index of the earlier child of index i; at least `size` if it has none. */
static inline int64_t heap_below(const Heap *heap, int64_t i)
{
  int64_t below = 2 * i + 1;
  if (below + 1 < heap->size) /* added instead of branched: the branch would be unpredictable */
    below += heap->event[below + 1].date_s < heap->event[below].date_s;
  return below;
}

#endif
