/* What ranks tell each other about one level of a grid.
 *
 * A grid holds the owned points of a level and one layer of ghost points on each side, own + 2 along every axis, x
 * fastest; in a skeleton it is NULL, and only the messages are sent.  A rank alone in a direction sends to itself, as
 * in the benchmark, except when it is the only rank: then nothing is sent. */
#ifndef MG_EXCHANGE_H
#define MG_EXCHANGE_H

#include "../common/run.h"
#include "decompose.h"

typedef struct {
  Run *run;
  double *out, *from_lower, *from_upper;
} Exchange;

Exchange exchange_make(Run *run, const Decomposition *at);
void exchange_free(Exchange *exchange);

/* On exit all ghost points, corners included, are those of their owners.  Nothing happens on ranks that own nothing. */
void exchange_ghosts(Exchange *exchange, const Level *level, double *grid);

/* After an interpolation, which only ranks with points of the coarser level can do: newcomers get their points and
 * ghosts from their neighbours, axis by axis.  As in the benchmark, ranks without points along another axis join in. */
void exchange_newcomers(Exchange *exchange, const Level *level, double *grid);

#endif
