/* The messages of an exchange as flows: their rates follow from which of them are on their way at the time. */
#ifndef PREDICTOR_STRUCTURAL_FLUID_H
#define PREDICTOR_STRUCTURAL_FLUID_H

#include "way.h"

typedef struct {
  double begin, end; /* s: when it begins to use the links, and when it has arrived */
  int32_t after; /* an earlier flow for whose end its sender waits; -1: none, and the caller sets `begin` */
  int32_t follower, sibling; /* the first flow after this one, and the next after the same flow; -1: none */
  bool ended;
  double left, rate; /* bytes, bytes/s; a rate below 0 is not known yet */
  double bound, penalty;
  int links; /* tight links on its way */
  int32_t link[MOST_LINKS];
  double weight[MOST_LINKS];
} Flow;

typedef struct {
  double time;
  int32_t flow;
} Begin;

/* A link that all its flows together could fill. */
typedef struct {
  double capacity, remaining, usage; /* bytes/s; usage: the sum of weight / penalty of its flows without a rate */
  int64_t open;                      /* flows on their way without a rate */
  int64_t first, users;              /* its flows are at the places first to before first + users of `user` */
} Pipe;

typedef struct {
  const Paths *paths;
  const int32_t *host; /* by rank */
  Flow *flow;          /* by message of the exchange */
  Begin *order;        /* of the flows that use pipes, in the order of time; `next` to before `end` have not begun */
  int64_t next, end;
  int32_t *active;     /* those on their way */
  int64_t actives;
  Pipe *pipe;
  int64_t pipes;
  int32_t *user;
  double *demand; /* by link: what its flows could ask for, bytes/s */
  int32_t *number; /* by link: its pipe; -1: none */
  int32_t *users;
} Fluid;

/* Makes room for exchanges of up to so many messages.  Returns DONE or NO_MEMORY. */
int fluid_open(Fluid *fluid, const Paths *paths, int64_t messages);

void fluid_close(Fluid *fluid);

/* Returns when a message begins to use the links, whose sender comes to it at the time `sent`. */
typedef double (*Beginning)(void *data, int64_t message, double sent);

/* Finds the ends of an exchange's flows, and the beginnings of those that come after others, in their order. */
void fluid_run(Fluid *fluid, const Schedule *schedule, int64_t exchange, Beginning beginning, void *data);

#endif
