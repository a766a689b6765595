/* Rates are max-min fair with weights: a flow of penalty p gets x / p, where x is the share of its tightest link for
 * each of the link's flows, but never more than its bound.  A flow uses `weight` times its rate of a link.
 *
 * The solution repeats one step: if the bounds of some flows are below their shares of the tightest link, these flows
 * get their bounds; otherwise the flows of that link get their shares of it. */
#include "share.h"

#include <math.h>

/* The flows and links of a solution, from these indices on. */
typedef struct {
  int64_t flows, links;
  int64_t count; /* of flows without a rate yet */
  double least_wish, most_wish; /* may be outdated: the flow with this wish may have its rate already */
} Left;

/* Subtracts the rate of a flow from the remaining capacity of the links that may limit others. */
static void take_from_links(const Graph *graph, const Flow *flow)
{
  for (const Crossing *const *of = graph->binding + flow->binding; *of; of++) {
    const Crossing *crossing = *of;
    Link *link = crossing->link;
    double remaining = link->remaining - crossing->weight * flow->rate, usage = link->usage - crossing->share;
    link->remaining = remaining > 0.0 ? remaining : 0.0;
    link->usage = usage < SAME * crossing->share ? 0.0 : usage;
  }
}

/* Marks the flows as without a rate. */
static Left forget_rates(Graph *graph, int64_t flows, int64_t links)
{
  for (int64_t i = links; i < graph->reached_count; i++) {
    Link *link = graph->reached[i];
    link->remaining = link->capacity;
    link->usage = 0.0;
  }
  Left left = {flows, links, graph->changed_count - flows, INFINITY, -INFINITY};
  for (int64_t i = flows; i < graph->changed_count; i++) {
    Flow *flow = &graph->flow[graph->changed[i].slot];
    double wish = flow->path->wish;
    flow->rate = -1.0;
    left.least_wish = wish < left.least_wish ? wish : left.least_wish;
    left.most_wish = wish > left.most_wish ? wish : left.most_wish;
    for (const Crossing *const *of = graph->binding + flow->binding; *of; of++)
      (*of)->link->usage += (*of)->share;
  }
  return left;
}

/* Returns the link with the smallest share for a flow of penalty 1, NULL if no link has flows without a rate. */
static Link *tightest(const Graph *graph, const Left *left, double *least)
{
  Link *found = NULL;
  *least = INFINITY;
  for (int64_t i = left->links; i < graph->reached_count; i++) {
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
  for (int64_t i = left->flows; i < graph->changed_count; i++) {
    Flow *flow = &graph->flow[graph->changed[i].slot];
    if (flow->rate >= 0.0)
      continue;
    double wish = flow->path->wish;
    if (wish <= limit) {
      flow->rate = flow->path->bound_Bps;
      left->count--;
      if (!last)
        take_from_links(graph, flow);
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
        take_from_links(graph, flow);
    }
  }
  link->usage = 0.0;
}

int share(Graph *graph, int64_t flows, int64_t links)
{
  double fair;
  Left left = forget_rates(graph, flows, links);
  while (left.count > 0) {
    Link *link = tightest(graph, &left, &fair);
    if (left.least_wish <= fair * SLACK)
      grant_wishes(graph, fair * SLACK, &left);
    else if (link)
      divide(graph, link, fair, &left);
    else
      return BAD_INPUT; /* the bounds are not numbers */
  }
  return DONE;
}
