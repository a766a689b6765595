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
  double *now;     /* time the rank has reached */
  double *posted;  /* time at which its receives of an exchange are posted */
  double *arrived; /* arrival of the last message it waits for */
  double *first;   /* end of its first plane, and of its last one */
  double *last;
  double *start; /* start of the program */
  int32_t *waits; /* the latest message that must end before it sends the next one; -1: none */
  /* By link. */
  double *free;    /* time at which the load so far is served */
  double *comes;   /* arrival of the first message of an exchange */
  int32_t *others; /* number of messages since the link was idle */
  /* By link of the paths, if there are flows. */
  double *until; /* time at which the last flow of earlier steps leaves it */
  double *asked; /* largest demand of the flows of the last step on it, bytes/s */
  double met_s;  /* time for which messages of different steps together exceeded a link's capacity */
} Ranks;

#endif
