/* The state of the ranks of a placement, and of the links that clusters share. */
#ifndef PREDICTOR_STRUCTURAL_RANKS_H
#define PREDICTOR_STRUCTURAL_RANKS_H

#include "fluid.h"

typedef struct {
  const Schedule *schedule;
  const uint8_t *protocol; /* by size */
  Shares shares;           /* of the placement */
  const double *s_per_flop;
  Fluid *fluid; /* NULL: no exchange is evaluated as flows */
  /* By rank. */
  double *now;     /* time that the rank has reached */
  double *posted;  /* time at which its receives of an exchange are posted */
  double *arrived; /* time at which the last message for which it waits has arrived */
  double *first;   /* time at which it ends its first plane, and its last one */
  double *last;
  double *start; /* time at which the program begins */
  int32_t *waits; /* the latest message of an exchange for which it waits before it sends the next one; -1: none */
  /* By link. */
  double *free;    /* time at which the load so far is through */
  double *comes;   /* time at which the first message of an exchange comes */
  int32_t *others; /* number of messages since the link was idle */
  /* By link of the paths, if there are flows. */
  double *until; /* time at which the flows of earlier steps have left it */
  double *asked; /* what those of the last step on it could ask for, bytes/s */
  double met_s;  /* for how long messages of different steps have asked together for more than a link has */
} Ranks;

#endif
