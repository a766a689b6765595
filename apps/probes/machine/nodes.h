/* The nodes and clusters of the ranks, found by names and latencies. */
#ifndef APPS_PROBES_MACHINE_NODES_H
#define APPS_PROBES_MACHINE_NODES_H

#include <stdbool.h>

#include "plan.h"

/* The output of a plan, and its remaining time. */
const char *name_of(const Plan *plan, int rank);

/* experiment: which one; group: rows of one group were measured at once; first, second: nodes of the sender and of the
 * receiver; amount: bytes of a message, or operations of computing; time_s: the time; at_s: when, since the start. */
void print_row(const Plan *plan, const char *experiment, int first, int second, double amount, double time_s);

void print_header(const Plan *plan);

/* Flushes the output so far. */
void flush_rows(const Plan *plan);

bool time_is_up(const Plan *plan);

int compare_times(const void *a, const void *b);

/* Sorts the values. */
double median(int count, double values[]);

/* Finds nodes and clusters, measures the latencies, and prints both. */
void find_nodes(Plan *plan);

/* Returns the first rank of the place-th node of a cluster, counted from the end if place is negative; -1: none. */
int member(const Plan *plan, int cluster, int place);

int size_of(const Plan *plan, int cluster);

/* Returns the second rank on a rank's node, or -1. */
int neighbour(const Plan *plan, int rank);

#endif
