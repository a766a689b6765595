/* A queue of packets, ordered by the times of their next events. */
#pragma once
#include <stdbool.h>

typedef struct {
  double time;
  unsigned long order; /* of two simultaneous events, the older comes first */
  void *what;
} Event;

typedef struct {
  Event *heap;
  long size, room;
  unsigned long order;
} Events;

bool events_add(Events *events, double time, void *what); /* false: no memory */
Event events_take(Events *events);                         /* the first one; there must be one */
