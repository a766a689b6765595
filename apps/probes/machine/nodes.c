#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../common/checked.h"
#include "nodes.h"

static double elapsed(const Plan *plan) { return MPI_Wtime() - plan->start; }

const char *name_of(const Plan *plan, int rank) { return plan->names + (size_t)rank * (size_t)plan->name_bytes; }

void print_row(const Plan *plan, const char *experiment, int first, int second, double amount, double time_s)
{
  FILE *files[] = {stdout, plan->kept};
  for (int i = 0; i < 2 && files[i]; i++)
    fprintf(files[i], "%s,%d,%s,%s,%.0f,%.9g,%.6f\n", experiment, plan->group, name_of(plan, first),
            second < 0 ? "" : name_of(plan, second), amount, time_s, elapsed(plan));
}

void print_header(const Plan *plan)
{
  static const char header[] = "experiment,group,first,second,amount,time_s,at_s\n";
  fputs(header, stdout);
  if (plan->kept)
    fputs(header, plan->kept);
}

void flush_rows(const Plan *plan)
{
  fflush(stdout);
  if (plan->kept)
    fflush(plan->kept);
}

int compare_times(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double median(int count, double values[])
{
  qsort(values, (size_t)count, sizeof *values, compare_times);
  return values[count / 2];
}

bool time_is_up(const Plan *plan) { return elapsed(plan) > plan->budget_s; }

enum { LATENCY_REPEATS = 6 };
static const double CLUSTER_GAP = 1.5; /* latencies larger than the next smaller one by this factor separate clusters */

static void tell_nodes(Plan *plan)
{
  int nranks = plan->me->nranks;
  plan->node_of = checked(calloc((size_t)nranks, sizeof(int)));
  plan->first_of = checked(calloc((size_t)nranks, sizeof(int)));
  plan->ranks_on = checked(calloc((size_t)nranks, sizeof(int)));
  plan->cluster_of = checked(calloc((size_t)nranks, sizeof(int)));
  for (int rank = 0; rank < nranks; rank++) {
    int node = 0;
    while (node < plan->nodes && strcmp(name_of(plan, rank), name_of(plan, plan->first_of[node])))
      node++;
    if (node == plan->nodes)
      plan->first_of[plan->nodes++] = rank;
    plan->node_of[rank] = node;
    plan->ranks_on[node]++;
  }
}

static double round_trip(const Plan *plan, int first, int second)
{
  double times[MOST_TIMES], trips[MOST_REPEATS];
  Order order = {.what = PING_PONG, .first = first, .second = second, .bytes = 1, .repeats = LATENCY_REPEATS};
  carry_out(plan->me, order, times);
  for (int i = 1; i < LATENCY_REPEATS; i++) /* the first one may include connecting */
    trips[i - 1] = times[2 * i + 1];
  return median(LATENCY_REPEATS - 1, trips);
}

static void measure_latencies(Plan *plan)
{
  int n = plan->nodes;
  plan->latency_s = checked(calloc((size_t)n * (size_t)n, sizeof(double)));
  for (int i = 0; i < n; i++)
    for (int j = i + 1; j < n; j++) {
      int first = plan->first_of[i], second = plan->first_of[j];
      double trip_s = round_trip(plan, first, second);
      plan->latency_s[i * n + j] = plan->latency_s[j * n + i] = trip_s / 2;
      plan->group++;
      print_row(plan, "latency", first, second, 1, trip_s);
    }
}

/* Returns the latency that separates clusters: the middle of the widest gap; without a gap, more than all. */
static double parting_latency(const Plan *plan)
{
  int n = plan->nodes, count = 0;
  double *sorted = checked(malloc((size_t)n * (size_t)n * sizeof *sorted)), widest = CLUSTER_GAP, found = 1e300;
  for (int i = 0; i < n; i++)
    for (int j = i + 1; j < n; j++)
      sorted[count++] = plan->latency_s[i * n + j];
  qsort(sorted, (size_t)count, sizeof *sorted, compare_times);
  for (int i = 1; i < count; i++)
    if (sorted[i] > widest * sorted[i - 1]) {
      widest = sorted[i] / sorted[i - 1];
      found = (sorted[i] + sorted[i - 1]) / 2;
    }
  free(sorted);
  return found;
}

/* Groups nodes connected by small latencies, directly or via others, and numbers the clusters in node order. */
static void find_clusters(Plan *plan)
{
  int n = plan->nodes;
  double parting = parting_latency(plan);
  for (int i = 0; i < n; i++)
    plan->cluster_of[i] = plan->given ? plan->given[plan->first_of[i]] : i;
  for (int again = !plan->given; again;) {
    again = 0;
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++)
        if (i != j && plan->latency_s[i * n + j] < parting && plan->cluster_of[j] > plan->cluster_of[i]) {
          plan->cluster_of[j] = plan->cluster_of[i];
          again = 1;
        }
  }
  int *numbers = checked(malloc((size_t)n * sizeof *numbers));
  memcpy(numbers, plan->cluster_of, (size_t)n * sizeof *numbers);
  for (int i = 0; i < n; i++) {
    int before = 0;
    while (numbers[before] != numbers[i])
      before++;
    plan->cluster_of[i] = before == i ? plan->clusters++ : plan->cluster_of[before];
  }
  free(numbers);
  for (int i = 0; i < n; i++) {
    plan->group = plan->cluster_of[i];
    print_row(plan, "node", plan->first_of[i], -1, plan->ranks_on[i], 0);
  }
}

int member(const Plan *plan, int cluster, int place)
{
  int count = 0;
  for (int i = 0; i < plan->nodes; i++)
    count += plan->cluster_of[i] == cluster;
  int asked = place < 0 ? count + place : place;
  for (int i = 0; i < plan->nodes && asked >= 0; i++)
    if (plan->cluster_of[i] == cluster && asked-- == 0)
      return plan->first_of[i];
  return -1;
}

int size_of(const Plan *plan, int cluster)
{
  int count = 0;
  while (member(plan, cluster, count) >= 0)
    count++;
  return count;
}

int neighbour(const Plan *plan, int rank)
{
  for (int other = rank + 1; rank >= 0 && other < plan->me->nranks; other++)
    if (plan->node_of[other] == plan->node_of[rank])
      return other;
  return -1;
}

void find_nodes(Plan *plan)
{
  tell_nodes(plan);
  measure_latencies(plan);
  find_clusters(plan);
}
