/* The messages of an exchange as flows, whose rates depend on the flows active at the same time. */
#ifndef PREDICTOR_STRUCTURAL_FLUID_H
#define PREDICTOR_STRUCTURAL_FLUID_H

#include "way.h"

typedef struct {
  double begin, end; /* s: when it begins to use the links, and when it arrives */
  int32_t after; /* the earlier flow that its sender waits for; -1: none, and the caller sets `begin` */
  int32_t follower, sibling; /* the first follower, and the next follower of the same flow; -1: none */
  bool ended;
  double left, rate; /* bytes, bytes/s; a negative rate is not known yet */
  double bound, penalty;
  int links; /* number of tight links on its path */
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
  int64_t open;                      /* active flows without a rate */
  int64_t first, users;              /* its flows are entries first to first + users - 1 of `user` */
} Pipe;

typedef struct {
  const Paths *paths;
  const int32_t *host; /* by rank */
  Flow *flow;          /* by message of the exchange */
  Begin *order;        /* the flows that use pipes, in order of time; those from `next` to `end` - 1 have not begun */
  int64_t next, end;
  int32_t *active;     /* the active flows */
  int64_t actives;
  Pipe *pipe;
  int64_t pipes;
  int32_t *user;
  double *demand; /* by link: largest demand of its flows, bytes/s */
  int32_t *number; /* by link: its pipe; -1: none */
  int32_t *users;
} Fluid;

/* Allocates memory for exchanges of up to `messages` messages.  Returns DONE or NO_MEMORY. */
int fluid_open(Fluid *fluid, const Paths *paths, int64_t messages);

void fluid_close(Fluid *fluid);

/* Returns when a message begins to use the links if its sender reaches it at the time `sent`. */
typedef double (*Beginning)(void *data, int64_t message, double sent);

/* Computes when the flows of an exchange end, and when those that follow others begin, in order. */
void fluid_run(Fluid *fluid, const Schedule *schedule, int64_t exchange, Beginning beginning, void *data);

#endif
