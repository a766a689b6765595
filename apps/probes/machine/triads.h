/* The triad of STREAM on one to all ranks of a node. */
#ifndef APPS_PROBES_MACHINE_TRIADS_H
#define APPS_PROBES_MACHINE_TRIADS_H

#include "orders.h"

/* A rank's part in a TRIAD of `second` ranks, of which `first` gives the others the start of each repeat: `repeats`
 * repeats of `operations` elements after one that does not count; times: begin and end of each.  Returns their number. */
int take_part_in_triad(const Order *order, const Process *me, double times[MOST_TIMES]);

/* Rank 0, on whose node all ranks are: measures the triad on 1, 2, 4 ... all of them and prints a line of JSON.
 * node: its name.  elements: of an array of all ranks together; 0: as STREAM's rule and the free memory have it. */
void measure_triads(const Process *me, const char *node, double elements, int repeats);

#endif
