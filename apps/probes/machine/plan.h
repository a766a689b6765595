/* The plan of a measurement: which ranks exchange which messages, and how often. */
#ifndef APPS_PROBES_MACHINE_PLAN_H
#define APPS_PROBES_MACHINE_PLAN_H

#include "orders.h"
#include <stdio.h>

typedef struct {
  const Process *me;
  const char *names; /* of the ranks' nodes, name_bytes each */
  int name_bytes, most_passes;
  double budget_s;
  unsigned long long seed;
  int *given; /* the cluster of every rank, or NULL */
  FILE *kept; /* also gets the rows, in case standard output is lost; or NULL */
  /* Made by carry_out_plan: */
  double start, *latency_s; /* latency_s[i * nodes + j]: half the median round trip of a byte */
  int nodes, clusters, group, largest; /* largest: message size that fits the budget, bytes */
  int *node_of, *first_of, *ranks_on, *cluster_of; /* by rank: node; by node: its first rank, its ranks, its cluster */
  int eager_bytes, waits_bytes;                    /* thresholds; above largest: none */
} Plan;

/* Rank 0: measures all, prints the rows, and stops the other ranks. */
void carry_out_plan(Plan *plan);

#endif
