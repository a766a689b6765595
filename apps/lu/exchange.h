/* The messages of one iteration.  Order, sizes and kinds of receive are those of NPB 3.3 and 3.4 MPI. */
#ifndef LU_EXCHANGE_H
#define LU_EXCHANGE_H

#include "../common/run.h"
#include "block.h"

typedef struct {
  Run *run;
  const Block *block;
  double *out, *in; /* room for the largest message */
} Exchange;

Exchange exchange_make(Run *run, const Block *block);
void exchange_free(Exchange *exchange);

/* Before: the own points of `field` are right.  After: so are the two layers around them along `axis` (x or y), where a
 * neighbour has them; without their corners. */
void exchange_halo(Exchange *exchange, double *field, int axis);

/* A triangular sweep runs from low to high numbers (way = 1) or back (way = -1), plane by plane.  Wait for what plane k
 * needs from the ranks before this one, in the direction of the sweep: one layer along x, one along y. */
void exchange_wait_plane(Exchange *exchange, double *field, int k, int way);

/* Send this rank's last layers in plane k to the ranks after it. */
void exchange_send_plane(Exchange *exchange, double *field, int k, int way);

#endif
