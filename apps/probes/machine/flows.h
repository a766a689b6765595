/* Experiments with many ranks at once: flows, an all-to-all, computing. */
#ifndef APPS_PROBES_MACHINE_FLOWS_H
#define APPS_PROBES_MACHINE_FLOWS_H

#include "plan.h"

/* Flows within clusters, between two, and among several, of `bytes` bytes each. */
void pass_of_flows(Plan *plan, int bytes);

/* An all-to-all of all nodes.  These times are not fitted, but used to validate the platform. */
void pass_of_all_to_all(Plan *plan);

/* Computing on every node: one rank alone, and all its ranks at once; if `needed`, even if the time is up. */
void pass_of_work(Plan *plan, double operations, bool needed);

/* Returns how many operations rank 0 does in about 20 ms. */
double choose_operations(const Plan *plan);

#endif
