/* Binary heaps of events by date. */
#ifndef PREDICTOR_DPGRAPH_HEAP_H
#define PREDICTOR_DPGRAPH_HEAP_H

#include "state.h"

/* Returns the index of the earlier event below index i, at least `size` if there is none. */
static inline int64_t heap_below(const Heap *heap, int64_t i)
{
  int64_t below = 2 * i + 1;
  if (below + 1 < heap->size) /* added, not chosen: the processor cannot guess which of the two is earlier */
    below += heap->event[below + 1].date_s < heap->event[below].date_s;
  return below;
}

#endif
