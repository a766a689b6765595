/* The factorisation of a panel by the ranks of a process column. */
#ifndef PREDICTOR_FACTORISATION_PANEL_H
#define PREDICTOR_FACTORISATION_PANEL_H

#include "network.h"

/* Returns how many of the rows or columns 0 .. i - 1 a place owns. */
int64_t owned_before(int64_t i, int64_t nb, int64_t place, int64_t places);

/* Waits until all ranks of the column have arrived, and then until this rank has finished. */
void panel_factorise(World *world, int64_t me, int64_t block);

#endif
