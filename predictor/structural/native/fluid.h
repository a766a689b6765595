/* The messages of an exchange as flows, whose rates depend on the flows active at the same time. */
#ifndef PREDICTOR_STRUCTURAL_FLUID_H
#define PREDICTOR_STRUCTURAL_FLUID_H

#include "../../network/native/rates.h"
#include "way.h"

/* The dates of a flow. */
typedef struct {
  double begin, end; /* s: when it begins to use the links, and when it arrives */
  int32_t after; /* the earlier flow that its sender waits for; -1: none, and the caller sets `begin` */
  int32_t follower, sibling; /* the first follower, and the next follower of the same flow; -1: none */
  bool ended;
} Transfer;

typedef struct {
  double time;
  int32_t flow;
} Begin;

typedef struct {
  const Paths *paths;
  const int32_t *host; /* by rank */
  Transfer *transfer;  /* by message of the exchange, as `flow` and `path` */
  Flow *flow;
  Path *path;
  Crossing *crossing; /* of tight links */
  Entry *entry;       /* by crossing */
  Begin *order;       /* the flows that use tight links, by time; those from `next` to `end` - 1 have not begun */
  int64_t next, end;
  Changed *active;    /* the active flows */
  int64_t actives;
  Link *link;         /* by link of `paths` */
  Link **tight;       /* links that all their flows together could fill */
  int64_t tights;
} Fluid;

/* Allocates memory for exchanges of up to `messages` messages.  Returns DONE or NO_MEMORY. */
int fluid_open(Fluid *fluid, const Paths *paths, int64_t messages);

void fluid_close(Fluid *fluid);

/* Returns when a message begins to use the links if its sender reaches it at the time `sent`. */
typedef double (*Beginning)(void *data, int64_t message, double sent);

/* Computes when the flows of an exchange end, and when those that follow others begin, in order. */
void fluid_run(Fluid *fluid, const Schedule *schedule, int64_t exchange, Beginning beginning, void *data);

#endif
