#include "flows.h"
#include "../../common/checked.h"
#include "nodes.h"
#include "rows.h"
#include <stdlib.h>

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

void pass_of_flows(Plan *plan, int bytes)
{
  for (int c = 0; c < plan->clusters; c++) {
    flows_within(plan, c, bytes);
    for (int d = c + 1; d < plan->clusters; d++)
      flows_between(plan, c, d, bytes);
  }
  flows_among(plan, bytes);
}

void pass_of_all_to_all(Plan *plan)
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

void pass_of_work(Plan *plan, double operations, bool needed)
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

double choose_operations(const Plan *plan)
{
  int rank = 0;
  double operations = 1e4, time_s = 0;
  while (time_s < WORK_S && operations < 1e15) {
    operations *= 2;
    carry_out_work(plan->me, 1, &rank, operations, &time_s);
  }
  return operations;
}
