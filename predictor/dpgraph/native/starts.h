/* Messages waiting for their latency to pass, as a heap by the dates at which their flows begin. */
#ifndef PREDICTOR_DPGRAPH_STARTS_H
#define PREDICTOR_DPGRAPH_STARTS_H

#include "heap.h"

/* Adds a message of a kind; the heap must have room for it. */
static inline void starts_push(Heap *starts, double date_s, int32_t message, int32_t kind)
{
  Event *event = starts->event;
  int64_t i = starts->size++;
  while (i > 0) {
    int64_t up = (i - 1) >> 1;
    if (event[up].date_s <= date_s)
      break;
    event[i] = event[up];
    i = up;
  }
  event[i] = (Event){date_s, message, kind};
}

/* Removes the first message and returns it. */
static inline Event starts_pop(Heap *starts)
{
  Event *event = starts->event;
  int64_t i = 0;
  Event first = event[0];
  Event moved = event[--starts->size];
  for (int64_t below; (below = heap_below(starts, i)) < starts->size && event[below].date_s < moved.date_s; i = below)
    event[i] = event[below];
  event[i] = moved;
  return first;
}

#endif
