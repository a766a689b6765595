#include "plan.h"
#include "../../common/checked.h"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LATENCY_REPEATS = 6, MOST_SIZES = 64, MOST_FLOWS = 32, LEAST_LARGEST = 131072, TRIPS_OF_LARGEST = 150, SMALL = 16384, MIDDLE = 262144 };
static const double CLUSTER_GAP = 1.5;      /* latencies this many times larger than the next smaller ones part clusters */
static const double LEAST_PAUSE_S = 5e-3;   /* of a receiver that is late on purpose */
static const double FAR_S = 5e-3;           /* of latency: pairs that are farther get fewer repeats */
static const double WORK_S = 0.02;          /* of computing at once */

typedef struct {
  int first, second; /* ranks */
  int all_sizes;     /* whether all sizes are measured, and the calls alone */
} Pair;

static double elapsed(const Plan *plan) { return MPI_Wtime() - plan->start; }

static const char *name_of(const Plan *plan, int rank) { return plan->names + (size_t)rank * (size_t)plan->name_bytes; }

/* experiment: which one; group: rows of one group were measured at once; first, second: nodes of the sender and of the
 * receiver; amount: bytes of a message, or operations of computing; time_s: the time; at_s: when, since the start. */
static void print_row(const Plan *plan, const char *experiment, int first, int second, double amount, double time_s)
{
  printf("%s,%d,%s,%s,%.0f,%.9g,%.6f\n", experiment, plan->group, name_of(plan, first),
         second < 0 ? "" : name_of(plan, second), amount, time_s, elapsed(plan));
}

static int compare(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(int count, double values[])
{
  qsort(values, (size_t)count, sizeof *values, compare);
  return values[count / 2];
}

static int random_below(Plan *plan, int limit)
{
  plan->seed = plan->seed * 6364136223846793005ULL + 1442695040888963407ULL;
  return (int)((plan->seed >> 33) % (unsigned long long)limit);
}

static void shuffle(Plan *plan, int count, int values[])
{
  for (int i = count - 1; i > 0; i--) {
    int j = random_below(plan, i + 1), kept = values[i];
    values[i] = values[j];
    values[j] = kept;
  }
}

static void find_nodes(Plan *plan)
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
  for (int i = 1; i < LATENCY_REPEATS; i++) /* the first one may have to connect */
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

/* Returns the latency that parts clusters: in the middle of the widest gap, or above all if there is none. */
static double parting_latency(const Plan *plan)
{
  int n = plan->nodes, count = 0;
  double *sorted = checked(malloc((size_t)n * (size_t)n * sizeof *sorted)), widest = CLUSTER_GAP, found = 1e300;
  for (int i = 0; i < n; i++)
    for (int j = i + 1; j < n; j++)
      sorted[count++] = plan->latency_s[i * n + j];
  qsort(sorted, (size_t)count, sizeof *sorted, compare);
  for (int i = 1; i < count; i++)
    if (sorted[i] > widest * sorted[i - 1]) {
      widest = sorted[i] / sorted[i - 1];
      found = (sorted[i] + sorted[i - 1]) / 2;
    }
  free(sorted);
  return found;
}

/* Joins nodes whose latency is small, directly or by others, and numbers the clusters in the order of their nodes. */
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

/* Returns the first rank of the place-th node of a cluster, from its end if place is negative; -1: there is none. */
static int member(const Plan *plan, int cluster, int place)
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

static int size_of(const Plan *plan, int cluster)
{
  int count = 0;
  while (member(plan, cluster, count) >= 0)
    count++;
  return count;
}

/* Adds a pair; all sizes are measured for the first of its kind. */
static int add_pair(Pair *pairs, int count, int first, int second, int *kind)
{
  if (first < 0 || second < 0 || first == second)
    return count;
  for (int i = 0; i < count; i++)
    if (pairs[i].first == first && pairs[i].second == second)
      return count;
  pairs[count] = (Pair){first, second, (*kind)++ == 0};
  return count + 1;
}

/* Returns the second rank on a rank's node, or -1. */
static int neighbour(const Plan *plan, int rank)
{
  for (int other = rank + 1; rank >= 0 && other < plan->me->nranks; other++)
    if (plan->node_of[other] == plan->node_of[rank])
      return other;
  return -1;
}

/* Two pairs within each cluster and two between each two clusters, and one on a node of each cluster. */
static Pair *choose_pairs(const Plan *plan, int *count)
{
  int c = plan->clusters, within = 0, between = 0, local = 0;
  Pair *pairs = checked(malloc((size_t)(3 * c + c * c) * sizeof *pairs));
  *count = 0;
  for (int i = 0; i < c; i++) {
    *count = add_pair(pairs, *count, member(plan, i, 0), member(plan, i, 1), &within);
    *count = add_pair(pairs, *count, member(plan, i, -2), member(plan, i, -1), &within);
    *count = add_pair(pairs, *count, member(plan, i, 0), neighbour(plan, member(plan, i, 0)), &local);
    for (int j = i + 1; j < c; j++) {
      *count = add_pair(pairs, *count, member(plan, i, 0), member(plan, j, 0), &between);
      *count = add_pair(pairs, *count, member(plan, i, -1), member(plan, j, -1), &between);
    }
  }
  return pairs;
}

static double late_time(const Plan *plan, const Pair *pair, What what, int bytes, double pause_s)
{
  double times[MOST_TIMES];
  Order order = {.what = what, .bytes = bytes, .repeats = 3, .pause_s = pause_s};
  order.first = pair->first;
  order.second = pair->second;
  carry_out(plan->me, order, times);
  return median(3, times);
}

static double trip_of(const Plan *plan, const Pair *pair, int bytes)
{
  double times[MOST_TIMES];
  Order order = {.what = PING_PONG, .first = pair->first, .second = pair->second, .bytes = bytes, .repeats = 2};
  carry_out(plan->me, order, times);
  return times[3];
}

/* Tells whether MPI_Send waits for a receiver who is late, or (LATE_RECV) MPI_Recv for a message sent long before.  The
 * other side always comes in the end, so that no call waits for ever. */
static bool waits(const Plan *plan, const Pair *pair, What what, int bytes)
{
  double trip_s = trip_of(plan, pair, bytes), pause_s = trip_s + LEAST_PAUSE_S;
  double time_s = late_time(plan, pair, what, bytes, pause_s);
  return what == LATE_SEND ? time_s > pause_s / 2 : time_s > trip_s / 4;
}

/* Returns the smallest size from which a call waits, by bisection; one more than the largest size if it never does.  The
 * guess is tried first. */
static int threshold(const Plan *plan, const Pair *pair, What what, int guess)
{
  int low = 0, high = plan->largest + 1; /* low does not wait; high does, or is above all */
  if (guess <= plan->largest && guess > 1) {
    if (waits(plan, pair, what, guess))
      high = guess;
    if (!waits(plan, pair, what, guess - 1))
      low = guess - 1;
  }
  for (int size = 2 * low + 2; high > plan->largest && low < plan->largest; size = 2 * low + 2) {
    int tried = size < plan->largest ? size : plan->largest;
    if (waits(plan, pair, what, tried))
      high = tried;
    else
      low = tried;
  }
  while (high - low > 1 && low < plan->largest) {
    int middle = low + (high - low) / 2;
    if (waits(plan, pair, what, middle))
      high = middle;
    else
      low = middle;
  }
  return high;
}

/* Halves the largest size until a round trip leaves the budget room for all the others. */
static void choose_largest(Plan *plan, int count, const Pair pairs[])
{
  plan->largest = plan->me->largest;
  for (int i = 0; i < count; i++)
    while (pairs[i].all_sizes && plan->largest > LEAST_LARGEST &&
           TRIPS_OF_LARGEST * trip_of(plan, pairs + i, plan->largest) > plan->budget_s)
      plan->largest /= 2;
}

/* A long way parts messages that have arrived from messages that have to travel: the last kind that has all sizes. */
static void measure_thresholds(Plan *plan, int count, const Pair pairs[])
{
  const Pair *pair = pairs;
  for (int i = 0; i < count; i++) {
    double latency_s = plan->latency_s[plan->node_of[pairs[i].first] * plan->nodes + plan->node_of[pairs[i].second]];
    if (latency_s > 2 * plan->latency_s[plan->node_of[pair->first] * plan->nodes + plan->node_of[pair->second]])
      pair = pairs + i;
  }
  plan->group++;
  plan->waits_bytes = threshold(plan, pair, LATE_SEND, 0);
  print_row(plan, "send-waits", pair->first, pair->second, plan->waits_bytes, 0);
  plan->eager_bytes = threshold(plan, pair, LATE_RECV, plan->waits_bytes);
  print_row(plan, "recv-waits", pair->first, pair->second, plan->eager_bytes, 0);
}

static int add_size(int count, int sizes[], int bytes, int largest)
{
  for (int i = 0; i < count; i++)
    if (sizes[i] == bytes)
      return count;
  if (bytes < 1 || bytes > largest)
    return count;
  sizes[count] = bytes;
  return count + 1;
}

/* Sizes: each about 1.4 times the one before, or a few; and those beside the thresholds. */
static int choose_sizes(const Plan *plan, int all, int sizes[MOST_SIZES])
{
  static const int few[] = {1, 1000, 8000, 20000, 200000, 1000000};
  int count = 0, largest = plan->largest, marks[] = {plan->eager_bytes, plan->waits_bytes};
  double step = all ? 1.41421356 : 0;
  for (double size = 1; all && size < largest; size *= step)
    count = add_size(count, sizes, (int)(size + 0.5), largest);
  for (int i = 0; !all && i < (int)(sizeof few / sizeof *few); i++)
    count = add_size(count, sizes, few[i], largest);
  for (int i = 0; i < 2; i++)
    if (marks[i] <= largest) {
      count = add_size(count, sizes, marks[i] - 1, largest);
      count = add_size(count, sizes, marks[i], largest);
    }
  return add_size(count, sizes, largest, largest);
}

static void print_times(Plan *plan, const Pair *pair, const char *call, int bytes, int count, const double times[])
{
  for (int i = 0; i < count; i++)
    print_row(plan, call, pair->first, pair->second, bytes, times[i]);
}

/* Measures one size of one pair: ping-pongs, and where all sizes are asked for the calls alone. */
static void visit(Plan *plan, const Pair *pair, int bytes)
{
  double times[MOST_TIMES], sends[MOST_TIMES], trips[MOST_TIMES], longest = 0;
  bool far = plan->latency_s[plan->node_of[pair->first] * plan->nodes + plan->node_of[pair->second]] > FAR_S;
  int repeats = plan->most_passes == 1 || bytes > MIDDLE ? 1 : bytes > SMALL || far ? 2 : 6;
  Order order = {.what = PING_PONG, .first = pair->first, .second = pair->second, .bytes = bytes, .repeats = repeats};
  int count = carry_out(plan->me, order, times) / 2;
  plan->group++;
  for (int i = 0; i < count; i++) {
    sends[i] = times[2 * i];
    trips[i] = times[2 * i + 1];
    longest = trips[i] > longest ? trips[i] : longest;
  }
  print_times(plan, pair, "pingpong", bytes, count, trips);
  print_times(plan, pair, "send", bytes, count, sends);
  if (!pair->all_sizes || bytes > 4 * MIDDLE)
    return;
  order.repeats = repeats > 2 ? 2 : 1;
  order.what = ISEND;
  print_times(plan, pair, "isend", bytes, carry_out(plan->me, order, times), times);
  order.what = LATE_RECV;
  order.pause_s = longest + LEAST_PAUSE_S;
  print_times(plan, pair, "recv", bytes, carry_out(plan->me, order, times), times);
}

static bool time_is_up(const Plan *plan) { return elapsed(plan) > plan->budget_s; }

/* Visits all sizes of all pairs in another order; stops when the time is up. */
static void pass_of_pairs(Plan *plan, int count, const Pair pairs[])
{
  int sizes[MOST_SIZES], *visits = checked(malloc((size_t)count * MOST_SIZES * sizeof *visits)), n = 0;
  for (int i = 0; i < count; i++)
    for (int j = choose_sizes(plan, pairs[i].all_sizes, sizes) - 1; j >= 0; j--)
      visits[n++] = i * MOST_SIZES + j;
  shuffle(plan, n, visits);
  for (int i = 0; i < n && !time_is_up(plan); i++) {
    const Pair *pair = pairs + visits[i] / MOST_SIZES;
    choose_sizes(plan, pair->all_sizes, sizes);
    visit(plan, pair, sizes[visits[i] % MOST_SIZES]);
  }
  free(visits);
}

/* Has flows begin at once, unless one of their ranks does not exist. */
static void measure_flows(Plan *plan, int count, const int from[], const int to[], int bytes)
{
  double times_s[MOST_FLOWS], go_s[MOST_FLOWS];
  Flows flows = {.from = from, .to = to, .go_s = go_s, .bytes = bytes};
  for (int i = 0; i < count; i++) {
    if (from[i] < 0 || to[i] < 0 || from[i] == to[i])
      return;
    go_s[i] = plan->latency_s[plan->node_of[from[i]]]; /* from node 0, which is rank 0's */
  }
  if (time_is_up(plan))
    return;
  carry_out_flows(plan->me, count, &flows, times_s);
  plan->group++;
  for (int i = 0; i < count; i++)
    print_row(plan, "flow", from[i], to[i], bytes, times_s[i]);
}

/* Flows within a cluster: alone, both ways between two nodes, both ways on the link of one node, and two that meet at the
 * switch only. */
static void flows_within(Plan *plan, int c, int bytes)
{
  int a = member(plan, c, 0), b = member(plan, c, 1), y = member(plan, c, 2), z = member(plan, c, 3);
  int beside = neighbour(plan, a);
  measure_flows(plan, 1, (int[]){a}, (int[]){b}, bytes);
  measure_flows(plan, 2, (int[]){a, b}, (int[]){b, a}, bytes);
  measure_flows(plan, 2, (int[]){a, y}, (int[]){b, a}, bytes);
  measure_flows(plan, 2, (int[]){a, y}, (int[]){b, z}, bytes);
  measure_flows(plan, 1, (int[]){a}, (int[]){beside}, bytes);
  measure_flows(plan, 2, (int[]){a, beside}, (int[]){beside, a}, bytes);
}

/* Flows between two clusters: alone, two and as many as there are nodes, and both ways between four nodes. */
static void flows_between(Plan *plan, int c, int d, int bytes)
{
  int a = member(plan, c, 0), a2 = member(plan, c, 1), b = member(plan, d, 0), b2 = member(plan, d, 1);
  int from[MOST_FLOWS], to[MOST_FLOWS], count = 0;
  measure_flows(plan, 1, (int[]){a}, (int[]){b}, bytes);
  measure_flows(plan, 2, (int[]){a, a2}, (int[]){b, b2}, bytes);
  measure_flows(plan, 2, (int[]){a, b2}, (int[]){b, a2}, bytes);
  for (; count < MOST_FLOWS && count < size_of(plan, c) && count < size_of(plan, d); count++) {
    from[count] = member(plan, c, count);
    to[count] = member(plan, d, count);
  }
  if (count > 2)
    measure_flows(plan, count, from, to, bytes);
}

/* Two flows that have one cluster in common, and two that have none: they tell which links clusters share. */
static void flows_among(Plan *plan, int bytes)
{
  int a = member(plan, 0, 0), a2 = member(plan, 0, 1), b = member(plan, 1, 0), c = member(plan, 2, 0), d = member(plan, 3, 0);
  measure_flows(plan, 2, (int[]){a, a2}, (int[]){b, c}, bytes);
  measure_flows(plan, 2, (int[]){b, c}, (int[]){a, a2}, bytes);
  measure_flows(plan, 2, (int[]){a, c}, (int[]){b, d}, bytes);
}

static void pass_of_flows(Plan *plan, int bytes)
{
  for (int c = 0; c < plan->clusters; c++) {
    flows_within(plan, c, bytes);
    for (int d = c + 1; d < plan->clusters; d++)
      flows_between(plan, c, d, bytes);
  }
  flows_among(plan, bytes);
}

/* All nodes exchange messages with all.  Nothing is fitted to these times: the platform is judged by them. */
static void pass_of_all_to_all(Plan *plan)
{
  static const int sizes[] = {64, 4096, 32768, 131072};
  if (plan->nodes < 3)
    return;
  for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes) && !time_is_up(plan); i++) {
    if ((double)sizes[i] * plan->nodes > plan->largest)
      return;
    double time_s = carry_out_all_to_all(plan->me, plan->nodes, plan->first_of, sizes[i], 3);
    plan->group++;
    print_row(plan, "alltoall", plan->first_of[0], -1, sizes[i], time_s);
  }
}

/* Computing on every node: one rank alone, and all its ranks at once. */
static void pass_of_work(Plan *plan, double operations)
{
  int *ranks = checked(malloc((size_t)plan->me->nranks * sizeof *ranks));
  double *times_s = checked(malloc((size_t)plan->me->nranks * sizeof *times_s));
  for (int node = 0; node < plan->nodes && !time_is_up(plan); node++) {
    int count = 0;
    for (int rank = 0; rank < plan->me->nranks; rank++)
      if (plan->node_of[rank] == node)
        ranks[count++] = rank;
    carry_out_work(plan->me, 1, ranks, operations, times_s);
    plan->group++;
    print_row(plan, "alone", ranks[0], -1, operations, times_s[0]);
    if (count > 1) {
      carry_out_work(plan->me, count, ranks, operations, times_s);
      plan->group++;
      for (int i = 0; i < count; i++)
        print_row(plan, "busy", ranks[i], -1, operations, times_s[i]);
    }
  }
  free(ranks);
  free(times_s);
}

/* Returns how much work rank 0 does in about WORK_S. */
static double choose_operations(const Plan *plan)
{
  int rank = 0;
  double operations = 1e4, time_s = 0;
  while (time_s < WORK_S && operations < 1e15) {
    operations *= 2;
    carry_out_work(plan->me, 1, &rank, operations, &time_s);
  }
  return operations;
}

void carry_out_plan(Plan *plan)
{
  int count;
  plan->start = MPI_Wtime();
  printf("experiment,group,first,second,amount,time_s,at_s\n");
  find_nodes(plan);
  measure_latencies(plan);
  find_clusters(plan);
  Pair *pairs = choose_pairs(plan, &count);
  choose_largest(plan, count, pairs);
  measure_thresholds(plan, count, pairs);
  double operations = choose_operations(plan);
  int passes = 0;
  while (passes < plan->most_passes && !time_is_up(plan)) {
    pass_of_work(plan, operations);
    pass_of_flows(plan, plan->largest);
    pass_of_flows(plan, plan->largest / 2);
    pass_of_flows(plan, plan->largest / 4);
    pass_of_all_to_all(plan);
    pass_of_pairs(plan, count, pairs);
    passes += !time_is_up(plan); /* a pass counts if it is complete */
    fflush(stdout);
  }
  print_row(plan, "end", 0, -1, passes, 0);
  fflush(stdout);
  free(pairs);
  free(plan->latency_s);
  free(plan->node_of);
  free(plan->first_of);
  free(plan->ranks_on);
  free(plan->cluster_of);
  stop_all(plan->me);
}
