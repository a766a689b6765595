#include "plan.h"
#include "../../common/checked.h"
#include "flows.h"
#include "nodes.h"
#include "rows.h"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

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
