/* What many ranks do at once: flows, an all-to-all, computing. */
#ifndef APPS_PROBES_MACHINE_FLOWS_H
#define APPS_PROBES_MACHINE_FLOWS_H

#include "plan.h"

/* Flows within clusters, between two, and among several, each of so many bytes. */
void pass_of_flows(Plan *plan, int bytes);

/* All nodes exchange messages with all.  Nothing is fitted to these times: the platform is judged by them. */
void pass_of_all_to_all(Plan *plan);

/* Computing on every node: one rank alone, and all its ranks at once; where needed, even if the time is up. */
void pass_of_work(Plan *plan, double operations, bool needed);

/* Returns how much work rank 0 does in some 20 ms. */
double choose_operations(const Plan *plan);

#endif
