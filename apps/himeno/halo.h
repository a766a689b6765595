/* What ranks tell their neighbours: the outermost planes of their points. */
#ifndef HIMENO_HALO_H
#define HIMENO_HALO_H

#include "../common/run.h"
#include "pressure.h"

enum { SIDES = 2 };

typedef struct {
  Run *run;
  float *out[SIDES], *in[SIDES]; /* to and from the lower and the upper neighbour */
} Halo;

Halo halo_make(Run *run, const Grid *grid);
void halo_free(Halo *halo);

/* On exit the ghosts of p, those on edges and corners included, are as their owners have them. */
void exchange_pressure(Halo *halo, const Fields *fields);

#endif
