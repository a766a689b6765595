/* Only links whose flows together could exceed the capacity matter.  Leaving all others out of every solution is exact,
   and most flows keep their rates. */
#include "change.h"

#include <math.h>

#include "bundled.h"
#include "ends.h"
#include "links.h"
#include "share.h"

/* Adds the flows of a link to the change. */
static void note_sharers(Graph *graph, const Link *link)
{
  for (int32_t i = link->head; i != NOTHING; i = graph->entry[i].after) {
    int32_t slot = graph->entry[i].slot;
    if (graph->flow[slot].seen != graph->step)
      change_note(graph, slot);
  }
}

/* Adds all flows whose rates may change: those connected by tight links to the flows and links from these indices on.
   Returns whether any link limits them. */
static bool spread(Graph *graph, int64_t flows, int64_t links)
{
  bool limited = false;
  while (flows < graph->changed_count || links < graph->reached_count)
    if (links < graph->reached_count) {
      limited |= graph->reached[links]->tight;
      note_sharers(graph, graph->reached[links++]);
    } else {
      links_of_flow(graph, &graph->flow[graph->changed[flows++].slot]);
    }
  return limited;
}

/* Advances a flow to this date and schedules its end, unless its rate is unchanged. */
static void reschedule(Graph *graph, Changed changed, double now_s)
{
  Flow *flow = &graph->flow[changed.slot];
  double before = changed.before_Bps;
  bool same = fabs(flow->rate - before) <= SAME * flow->rate;
  if (same)
    flow->rate = before;
  if (changed.slot < graph->bundles) {
    bundles_reschedule(graph, changed, now_s);
    return;
  }
  if (same && flow->place != NOTHING)
    return;
  flow->remaining -= before * flow->factor * (now_s - flow->since_s);
  flow->since_s = now_s;
  double left = flow->remaining > 0.0 ? flow->remaining : 0.0;
  ends_set(graph, changed.slot, now_s + left / (flow->rate * flow->factor));
}

static void give_bounds(Graph *graph, int64_t flows)
{
  for (int64_t i = flows; i < graph->changed_count; i++) {
    Flow *flow = &graph->flow[graph->changed[i].slot];
    flow->rate = flow->path->bound_Bps;
  }
}

/* Computes the rates of the flows connected to the changed flows and reached links from these indices on. */
static int solve(Graph *graph, int64_t flows, int64_t links, double now_s)
{
  graph->binding_count = 0;
  int result = DONE;
  if (spread(graph, flows, links))
    result = share(graph, flows, links);
  else
    give_bounds(graph, flows);
  if (graph->bundles == 0)
    for (int64_t i = flows; i < graph->changed_count; i++)
      reschedule(graph, graph->changed[i], now_s);
  return result;
}

static int solve_bundles(Graph *graph, double now_s)
{
  int result;
  for (int64_t i = 0; i < graph->freed_count; i++)
    links_reach(graph, graph->freed[i]);
  do {
    bundles_forget_empty(graph);
    result = solve(graph, 0, 0, now_s);
  } while (result == DONE && bundles_overrun(graph, now_s));
  for (int64_t i = 0; i < graph->changed_count; i++)
    reschedule(graph, graph->changed[i], now_s);
  return result;
}

/* Gives new flows that no link limits their bounds. */
static void begin_unlimited(Graph *graph, double now_s)
{
  for (int64_t i = 0; i < graph->begun_flows; i++) {
    int32_t slot = graph->begun_flow[i];
    Flow *flow = &graph->flow[slot];
    flow->rate = flow->path->bound_Bps;
    ends_set(graph, slot, now_s + flow->remaining / (flow->rate * flow->factor));
  }
}

int change_rates(Graph *graph, double now_s)
{
  for (int64_t i = 0; i < graph->freed_count; i++) { /* flows that ended may have freed capacity on these links */
    Link *link = graph->freed[i];
    link->tight = links_over(link);
    link->freed = false;
  }
  if (graph->bundles > 0)
    return solve_bundles(graph, now_s);
  if (!graph->crowded && graph->freed_count == 0) {
    begin_unlimited(graph, now_s);
    return DONE;
  }
  /* Flows that tight links do not connect are solved apart, which takes less time. */
  int result = DONE;
  for (int64_t i = 0; i < graph->freed_count && result == DONE; i++)
    if (graph->freed[i]->seen != graph->step) {
      int64_t flows = graph->changed_count, links = graph->reached_count;
      links_reach(graph, graph->freed[i]);
      result = solve(graph, flows, links, now_s);
    }
  for (int64_t i = 0; i < graph->begun_flows && result == DONE; i++)
    if (graph->flow[graph->begun_flow[i]].seen != graph->step) {
      int64_t flows = graph->changed_count, links = graph->reached_count;
      change_note(graph, graph->begun_flow[i]);
      result = solve(graph, flows, links, now_s);
    }
  return result;
}
