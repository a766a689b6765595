/* Rates are max-min fair with weights: a flow of penalty p gets x / p, where x is the share of its tightest link for
 * each of the link's flows, but never more than its bound.  A flow uses `weight` times its rate of a link.
 *
 * The solution repeats one step: if the bounds of some flows are below their shares of the tightest link, these flows
 * get their bounds; otherwise the flows of that link get their shares of it. */
#include "rates.h"

#include <math.h>
#include <stddef.h>

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
static Left forget_rates(const Sharing *sharing)
{
  for (int64_t i = 0; i < sharing->reached_count; i++) {
    Link *link = sharing->reached[i];
    link->remaining = link->capacity;
    link->usage = 0.0;
  }
  Left left = {sharing->changed_count, INFINITY, -INFINITY};
  for (int64_t i = 0; i < sharing->changed_count; i++) {
    Flow *flow = &sharing->flow[sharing->changed[i].slot];
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
static Link *tightest(const Sharing *sharing, double *least)
{
  Link *found = NULL;
  *least = INFINITY;
  for (int64_t i = 0; i < sharing->reached_count; i++) {
    Link *link = sharing->reached[i];
    if (link->tight && link->usage > 0.0 && link->remaining / link->usage < *least) {
      *least = link->remaining / link->usage;
      found = link;
    }
  }
  return found;
}

/* Sets the flows whose wishes are within the limit to their bounds. */
static void grant_wishes(const Sharing *sharing, double limit, Left *left)
{
  bool last = left->most_wish <= limit; /* then no flow needs what remains on the links */
  left->least_wish = INFINITY;
  for (int64_t i = 0; i < sharing->changed_count; i++) {
    Flow *flow = &sharing->flow[sharing->changed[i].slot];
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
static void divide(const Sharing *sharing, Link *link, double fair, Left *left)
{
  for (int32_t i = link->head; i != NOTHING; i = sharing->entry[i].after) {
    Flow *flow = &sharing->flow[sharing->entry[i].slot];
    if (flow->rate < 0.0) {
      flow->rate = fair / flow->path->penalty;
      if (--left->count > 0)
        take_from_links(flow);
    }
  }
  link->usage = 0.0;
}

bool rates_share(const Sharing *sharing)
{
  double fair;
  Left left = forget_rates(sharing);
  while (left.count > 0) {
    Link *link = tightest(sharing, &fair);
    if (left.least_wish <= fair * SLACK)
      grant_wishes(sharing, fair * SLACK, &left);
    else if (link)
      divide(sharing, link, fair, &left);
    else
      return false; /* the bounds are not numbers */
  }
  return true;
}
