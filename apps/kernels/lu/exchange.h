/* The messages of one iteration.  Their order, sizes and kinds of receive are those of NPB 3.3 and 3.4 MPI. */
#ifndef LU_EXCHANGE_H
#define LU_EXCHANGE_H

#include "../harness/run.h"
#include "block.h"

typedef struct {
  Run *run;
  const Block *block;
  double *out, *in; /* room for the largest message */
} Exchange;

Exchange exchange_make(Run *run, const Block *block);
void exchange_free(Exchange *exchange);

/* Updates the two layers around the own points of `field` along `axis` (x or y), without their corners, from the
 * neighbours that own them. */
void exchange_halo(Exchange *exchange, double *field, int axis);

/* A triangular sweep runs plane by plane, from low to high numbers (way = 1) or back (way = -1).  Receives the layers
 * that plane k needs from the previous ranks in the direction of the sweep: one along x, one along y. */
void exchange_wait_plane(Exchange *exchange, double *field, int k, int way);

/* Sends this rank's last layers in plane k to the next ranks. */
void exchange_send_plane(Exchange *exchange, double *field, int k, int way);

#endif
