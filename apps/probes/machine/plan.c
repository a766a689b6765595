#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../common/checked.h"
#include "nodes.h"
#include "plan.h"

/* Experiments with many ranks at once: flows, an all-to-all, computing. */

enum { MOST_FLOWS = 128 };
static const double WORK_S = 0.02;  /* of computing at once */
static const double GROWTH = 1.05;  /* growth of the total rate below which no more flows are tried */

/* Runs flows at once, unless one of their ranks does not exist; returns their total bytes per second, or 0. */
static double measure_flows(Plan *plan, int count, const int from[], const int to[], int bytes)
{
  double times_s[MOST_FLOWS], go_s[MOST_FLOWS], longest_s = 0;
  Flows flows = {.from = from, .to = to, .go_s = go_s, .bytes = bytes};
  for (int i = 0; i < count; i++) {
    if (from[i] < 0 || to[i] < 0 || from[i] == to[i])
      return 0;
    go_s[i] = plan->latency_s[plan->node_of[from[i]]]; /* from node 0, the node of rank 0 */
  }
  if (time_is_up(plan))
    return 0;
  carry_out_flows(plan->me, count, &flows, times_s);
  plan->group++;
  for (int i = 0; i < count; i++) {
    print_row(plan, "flow", from[i], to[i], bytes, times_s[i]);
    longest_s = times_s[i] > longest_s ? times_s[i] : longest_s;
  }
  return longest_s > 0 ? count * (double)bytes / longest_s : 0;
}

/* The number of nodes to try after k of n. */
static int more_nodes(int k, int n) { return k < n && k + k / 2 > n ? n : k + (k > 2 ? k / 2 : 1); }

static int at_most(int a, int b) { return a < b ? a : b; }

/* Rings of the first k nodes of a cluster, each of which sends to the next, with growing k until the total rate stops
 * growing.  The last ring is repeated while one node sends to another cluster, and one receives from there. */
static void rings_within(Plan *plan, int c, int bytes)
{
  int from[MOST_FLOWS], to[MOST_FLOWS], n = at_most(size_of(plan, c), MOST_FLOWS - 1), last = 0;
  double rate = 0, before = 0;
  for (int k = 3; k <= n && rate >= GROWTH * before; k = more_nodes(k, n)) {
    for (int i = 0; i < k; i++) {
      from[i] = member(plan, c, i);
      to[i] = member(plan, c, (i + 1) % k);
    }
    before = rate;
    rate = measure_flows(plan, k, from, to, bytes);
    last = k;
  }
  int d = c ? 0 : 1;
  if (last && d < plan->clusters && size_of(plan, d) > 1) {
    to[last - 1] = member(plan, d, 0);
    from[last] = member(plan, d, 1);
    to[last] = from[0];
    measure_flows(plan, last + 1, from, to, bytes);
  }
}

/* Flows within a cluster: a single one, both ways between two nodes, both ways on the link of one node, two that share
 * only the switch, and rings. */
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
  rings_within(plan, c, bytes);
}

/* Flows between two clusters: one, two, both ways between four nodes, and more until the total rate stops growing; the
 * last ones also both ways. */
static void flows_between(Plan *plan, int c, int d, int bytes)
{
  int a = member(plan, c, 0), a2 = member(plan, c, 1), b = member(plan, d, 0), b2 = member(plan, d, 1);
  int from[MOST_FLOWS], to[MOST_FLOWS], last = 2;
  int n = at_most(at_most(size_of(plan, c), size_of(plan, d)), MOST_FLOWS / 2);
  measure_flows(plan, 1, (int[]){a}, (int[]){b}, bytes);
  double before = 0, rate = measure_flows(plan, 2, (int[]){a, a2}, (int[]){b, b2}, bytes);
  measure_flows(plan, 2, (int[]){a, b2}, (int[]){b, a2}, bytes);
  for (int k = 3; k <= n && rate >= GROWTH * before; k = more_nodes(k, n)) {
    for (int i = 0; i < k; i++) {
      from[i] = member(plan, c, i);
      to[i] = member(plan, d, i);
    }
    before = rate;
    rate = measure_flows(plan, k, from, to, bytes);
    last = k;
  }
  if (last == 2)
    return;
  for (int i = 0; i < last; i++) { /* the reverse flow uses the next node, so that no connection carries both */
    from[last + i] = member(plan, d, (i + 1) % last);
    to[last + i] = member(plan, c, i);
  }
  measure_flows(plan, 2 * last, from, to, bytes);
}

/* Two flows with one cluster in common, and two with none: they show which links clusters share. */
static void flows_among(Plan *plan, int bytes)
{
  int a = member(plan, 0, 0), a2 = member(plan, 0, 1), b = member(plan, 1, 0), c = member(plan, 2, 0), d = member(plan, 3, 0);
  measure_flows(plan, 2, (int[]){a, a2}, (int[]){b, c}, bytes);
  measure_flows(plan, 2, (int[]){b, c}, (int[]){a, a2}, bytes);
  measure_flows(plan, 2, (int[]){a, c}, (int[]){b, d}, bytes);
}

/* Flows within clusters, between two, and among several, of `bytes` bytes each. */
static void pass_of_flows(Plan *plan, int bytes)
{
  for (int c = 0; c < plan->clusters; c++) {
    flows_within(plan, c, bytes);
    for (int d = c + 1; d < plan->clusters; d++)
      flows_between(plan, c, d, bytes);
  }
  flows_among(plan, bytes);
}

/* An all-to-all of all nodes.  These times are not fitted, but used to validate the platform. */
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

/* Computing on every node: one rank alone, and all its ranks at once; if `needed`, even if the time is up. */
static void pass_of_work(Plan *plan, double operations, bool needed)
{
  int *ranks = checked(malloc((size_t)plan->me->nranks * sizeof *ranks));
  double *times_s = checked(malloc((size_t)plan->me->nranks * sizeof *times_s));
  for (int node = 0; node < plan->nodes && (needed || !time_is_up(plan)); node++) {
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

/* Returns how many operations rank 0 does in about 20 ms. */
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

enum { MOST_SIZES = 64, LEAST_LARGEST = 131072, TRIPS_OF_LARGEST = 150, SMALL = 16384, MIDDLE = 262144 };
static const double LEAST_PAUSE_S = 5e-3;   /* of a deliberately late receiver */
static const double FAR_S = 5e-3;           /* latency above which pairs get fewer repeats */

typedef struct {
  int first, second; /* ranks */
  int all_sizes;     /* whether all sizes, and single calls, are measured */
} Pair;

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

/* Chooses two pairs within each cluster, two between each two clusters, and one on a node of each cluster. */
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

/* Returns whether MPI_Send waits for a late receiver, or (LATE_RECV) MPI_Recv for a message sent long before.  The
 * other side always arrives eventually, so no call deadlocks. */
static bool waits(const Plan *plan, const Pair *pair, What what, int bytes)
{
  double trip_s = trip_of(plan, pair, bytes), pause_s = trip_s + LEAST_PAUSE_S;
  double time_s = late_time(plan, pair, what, bytes, pause_s);
  return what == LATE_SEND ? time_s > pause_s / 2 : time_s > trip_s / 4;
}

/* Returns the smallest size at which a call waits, by bisection from a guess; one more than the largest size if it
 * never waits. */
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

/* Uses the last kind of pairs with all sizes: a long path separates arrived messages from those still travelling. */
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

/* Chooses sizes: each about 1.4 times the previous one, or only a few; and those next to the thresholds. */
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

/* Measures one size of one pair: ping-pongs, and single calls if all sizes are measured. */
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

/* Measures all sizes of all pairs in a new order; stops when the time is up, unless all are needed. */
static void pass_of_pairs(Plan *plan, int count, const Pair pairs[], bool needed)
{
  int sizes[MOST_SIZES], *visits = checked(malloc((size_t)count * MOST_SIZES * sizeof *visits)), n = 0;
  for (int i = 0; i < count; i++)
    for (int j = choose_sizes(plan, pairs[i].all_sizes, sizes) - 1; j >= 0; j--)
      visits[n++] = i * MOST_SIZES + j;
  shuffle(plan, n, visits);
  for (int i = 0; i < n && (needed || !time_is_up(plan)); i++) {
    const Pair *pair = pairs + visits[i] / MOST_SIZES;
    choose_sizes(plan, pair->all_sizes, sizes);
    visit(plan, pair, sizes[visits[i] % MOST_SIZES]);
  }
  free(visits);
}

void carry_out_plan(Plan *plan)
{
  int count;
  plan->start = MPI_Wtime();
  print_header(plan);
  find_nodes(plan);
  Pair *pairs = choose_pairs(plan, &count);
  choose_largest(plan, count, pairs);
  measure_thresholds(plan, count, pairs);
  double operations = choose_operations(plan);
  int passes = 0, begun = 0; /* essential rows are measured once, regardless of the time */
  while (passes < plan->most_passes && (!begun || !time_is_up(plan))) {
    pass_of_work(plan, operations, begun == 0);
    pass_of_pairs(plan, count, pairs, begun == 0);
    pass_of_flows(plan, plan->largest);
    pass_of_flows(plan, plan->largest / 4); /* validation data come last */
    pass_of_flows(plan, plan->largest / 2);
    pass_of_all_to_all(plan);
    passes += !time_is_up(plan); /* a pass counts if it is complete */
    begun++;
    flush_rows(plan);
  }
  print_row(plan, "end", 0, -1, passes, 0);
  flush_rows(plan);
  free(pairs);
  free(plan->latency_s);
  free(plan->node_of);
  free(plan->first_of);
  free(plan->ranks_on);
  free(plan->cluster_of);
  stop_all(plan->me);
}
