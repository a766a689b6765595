/* The right-hand side: +1 at the ten points with the largest random numbers, -1 at the ten with the smallest. */
#ifndef MG_FIELD_H
#define MG_FIELD_H

#include "decompose.h"

/* Sets the charges in `grid`, which must be zero on entry; its ghosts stay zero.  Every rank must call it. */
void charges(const Level *level, double *grid);

#endif
