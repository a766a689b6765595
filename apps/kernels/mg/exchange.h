/* Exchange of one level of a grid between ranks.
 *
 * A grid holds the owned points of a level and one layer of ghost points on each side, own + 2 along every axis, x
 * fastest.  In a skeleton it is NULL, and only the messages are sent.  A rank that is alone in a direction sends to
 * itself, as in the benchmark, unless it is the only rank: then nothing is sent. */
#ifndef MG_EXCHANGE_H
#define MG_EXCHANGE_H

#include "../harness/run.h"
#include "decompose.h"

typedef struct {
  Run *run;
  double *out, *from_lower, *from_upper;
} Exchange;

Exchange exchange_make(Run *run, const Decomposition *at);
void exchange_free(Exchange *exchange);

/* Sets all ghost points, including corners, to their owners' values.  Does nothing on ranks without points. */
void exchange_ghosts(Exchange *exchange, const Level *level, double *grid);

/* Gives newcomers their points and ghosts from their neighbours, axis by axis, after an interpolation, which only ranks
 * with points of the coarser level can do.  As in the benchmark, ranks without points along another axis take part. */
void exchange_newcomers(Exchange *exchange, const Level *level, double *grid);

#endif
