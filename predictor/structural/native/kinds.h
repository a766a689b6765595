/* The users of a tight link, grouped into kinds: messages of equal amount and beginning. */
#ifndef PREDICTOR_STRUCTURAL_KINDS_H
#define PREDICTOR_STRUCTURAL_KINDS_H

#include "work.h"

#define SAME 3e-3 /* relative: times that differ by less are equal */

/* Sorts the users of a link into kinds. */
void kinds_sort(Work *work, Tight *tight);

/* Returns the shortest time of the users of a link. */
double kinds_shortest_s(const Work *work, const Tight *tight);

/* Lengthens the times of a link's users as its load requires; returns the largest relative change. */
double kinds_lengthen(Work *work, const Tight *tight, double capacity);

#endif
