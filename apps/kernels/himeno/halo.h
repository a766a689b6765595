/* Exchange of the outermost planes of points between neighbours. */
#ifndef HIMENO_HALO_H
#define HIMENO_HALO_H

#include "../harness/run.h"
#include "pressure.h"

enum { SIDES = 2 };

typedef struct {
  Run *run;
  float *out[SIDES], *in[SIDES]; /* messages to and from the lower and the upper neighbour */
} Halo;

Halo halo_make(Run *run, const Grid *grid);
void halo_free(Halo *halo);

/* Sets the ghosts of p, including those on edges and corners, to their owners' values. */
void exchange_pressure(Halo *halo, const Fields *fields);

#endif
