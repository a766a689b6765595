/* The nodes and clusters of the ranks, found by names and latencies. */
#ifndef APPS_PROBES_MACHINE_NODES_H
#define APPS_PROBES_MACHINE_NODES_H

#include "plan.h"

/* Finds nodes and clusters, measures the latencies, and prints both. */
void find_nodes(Plan *plan);

/* Returns the first rank of the place-th node of a cluster, counted from the end if place is negative; -1: none. */
int member(const Plan *plan, int cluster, int place);

int size_of(const Plan *plan, int cluster);

/* Returns the second rank on a rank's node, or -1. */
int neighbour(const Plan *plan, int rank);

#endif
