/* Rates are max-min fair with weights: a flow of penalty p gets x / p, where x is the share of its tightest link for
 * each of the link's flows, but never more than its bound.  A flow uses `weight` times its rate of a link.
 *
 * The rates depend on the paths of the flows alone.  Programs repeat themselves, so that most solutions are known.
 *
 * A solution repeats one step: if the bounds of some flows are below their shares of the tightest link, these flows
 * get their bounds; otherwise the flows of that link get their shares of it. */
#include "share.h"

#include <math.h>

/* Subtracts the rate of a flow from the remaining capacity of its links. */
static void take_from_links(const Flow *flow)
{
  const Path *path = flow->path;
  for (int32_t k = 0; k < path->crossings; k++) {
    const Crossing *crossing = &path->crossing[k];
    Link *link = crossing->link;
    double remaining = link->remaining - crossing->weight * flow->rate, usage = link->usage - crossing->share;
    link->remaining = remaining > 0.0 ? remaining : 0.0;
    link->usage = usage < SAME * crossing->share ? 0.0 : usage;
  }
}

/* The flows that have no rate yet. */
typedef struct {
  int64_t count;
  double least_wish, most_wish; /* may be outdated: the flow with this wish may have its rate already */
} Left;

/* Marks the flows as without a rate. */
static Left forget_rates(Graph *graph)
{
  for (int64_t i = 0; i < graph->reached_count; i++) {
    Link *link = graph->reached[i];
    link->remaining = link->capacity;
    link->usage = 0.0;
  }
  Left left = {graph->changed_count, INFINITY, -INFINITY};
  for (int64_t i = 0; i < graph->changed_count; i++) {
    Flow *flow = &graph->flow[graph->changed[i].slot];
    const Path *path = flow->path;
    flow->rate = -1.0;
    if (path->wish < left.least_wish)
      left.least_wish = path->wish;
    if (path->wish > left.most_wish)
      left.most_wish = path->wish;
    for (int32_t k = 0; k < path->crossings; k++)
      path->crossing[k].link->usage += path->crossing[k].share;
  }
  return left;
}

/* Returns the link with the smallest share for a flow of penalty 1, NULL if no link has flows without a rate. */
static Link *tightest(const Graph *graph, double *least)
{
  Link *found = NULL;
  *least = INFINITY;
  for (int64_t i = 0; i < graph->reached_count; i++) {
    Link *link = graph->reached[i];
    if (link->tight && link->usage > 0.0 && link->remaining / link->usage < *least) {
      *least = link->remaining / link->usage;
      found = link;
    }
  }
  return found;
}

/* Sets the flows whose wishes are within the limit to their bounds. */
static void grant_wishes(Graph *graph, double limit, Left *left)
{
  bool last = left->most_wish <= limit; /* then no flow needs what remains on the links */
  left->least_wish = INFINITY;
  for (int64_t i = 0; i < graph->changed_count; i++) {
    Flow *flow = &graph->flow[graph->changed[i].slot];
    if (flow->rate >= 0.0)
      continue;
    double wish = flow->path->wish;
    if (wish <= limit) {
      flow->rate = flow->path->bound_Bps;
      left->count--;
      if (!last)
        take_from_links(flow);
    } else if (wish < left->least_wish) {
      left->least_wish = wish;
    }
  }
}

/* Sets the flows of a link that have no rate yet to their shares of it. */
static void divide(Graph *graph, Link *link, double fair, Left *left)
{
  for (int32_t i = link->head; i != NOTHING; i = graph->entry[i].after) {
    Flow *flow = &graph->flow[graph->entry[i].slot];
    if (flow->rate < 0.0) {
      flow->rate = fair / flow->path->penalty;
      if (--left->count > 0)
        take_from_links(flow);
    }
  }
  link->usage = 0.0;
}

static int solve(Graph *graph)
{
  double fair;
  Left left = forget_rates(graph);
  while (left.count > 0) {
    Link *link = tightest(graph, &fair);
    if (left.least_wish <= fair * SLACK)
      grant_wishes(graph, fair * SLACK, &left);
    else if (link)
      divide(graph, link, fair, &left);
    else
      return BAD_INPUT; /* the bounds are not numbers */
  }
  return DONE;
}

/* Returns the entry of the latest solution for the paths of the changed flows, or for others with the same hash. */
static Solution *remembered(const Graph *graph, bool *same)
{
  uint64_t hash = 0;
  for (int64_t i = 0; i < graph->changed_count; i++)
    hash = (hash ^ (uint64_t)(graph->flow[graph->changed[i].slot].path - graph->path)) * 0x9E3779B97F4A7C15u;
  Solution *solution = &graph->solution[hash >> (64 - SOLUTION_BITS)];
  *same = solution->count == graph->changed_count;
  for (int64_t i = 0; *same && i < graph->changed_count; i++)
    *same = solution->path[i] == graph->flow[graph->changed[i].slot].path;
  return solution;
}

int share(Graph *graph)
{
  if (graph->changed_count > SOLUTION_FLOWS || graph->bundles > 0)
    return solve(graph);
  bool same;
  Solution *solution = remembered(graph, &same);
  if (same) {
    for (int64_t i = 0; i < solution->count; i++)
      graph->flow[graph->changed[i].slot].rate = solution->rate[i];
    return DONE;
  }
  int result = solve(graph);
  solution->count = graph->changed_count;
  for (int64_t i = 0; i < solution->count; i++) {
    const Flow *flow = &graph->flow[graph->changed[i].slot];
    solution->path[i] = flow->path;
    solution->rate[i] = flow->rate;
  }
  return result;
}
