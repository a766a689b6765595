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
      links_note(graph, slot);
  }
}

/* Adds all flows whose rates may change: those connected by tight links to a flow of the change. */
static void spread(Graph *graph)
{
  int64_t flows = 0, links = 0;
  while (flows < graph->changed_count || links < graph->reached_count)
    if (links < graph->reached_count)
      note_sharers(graph, graph->reached[links++]);
    else
      links_of_path(graph, graph->flow[graph->changed[flows++].slot].path);
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

/* Returns whether any link limits the flows of the change. */
static bool is_limited(const Graph *graph)
{
  for (int64_t i = 0; i < graph->reached_count; i++)
    if (graph->reached[i]->tight)
      return true;
  return false;
}

static void give_bounds(Graph *graph)
{
  for (int64_t i = 0; i < graph->changed_count; i++) {
    Flow *flow = &graph->flow[graph->changed[i].slot];
    flow->rate = flow->path->bound_Bps;
  }
}

/* Computes the rates of the flows in the change. */
static int solve(Graph *graph)
{
  bundles_forget_empty(graph);
  if (graph->crowded || graph->reached_count > 0)
    spread(graph);
  if (is_limited(graph))
    return share(graph);
  give_bounds(graph);
  return DONE;
}

/* Gives new flows that no link limits their bounds. */
static void begin_unlimited(Graph *graph, double now_s)
{
  for (int64_t i = 0; i < graph->changed_count; i++) {
    int32_t slot = graph->changed[i].slot;
    Flow *flow = &graph->flow[slot];
    flow->rate = flow->path->bound_Bps;
    ends_set(graph, slot, now_s + flow->remaining / (flow->rate * flow->factor));
  }
}

int change_rates(Graph *graph, double now_s)
{
  if (!graph->crowded && graph->reached_count == 0 && graph->bundles == 0) {
    begin_unlimited(graph, now_s);
    return DONE;
  }
  for (int64_t i = 0; i < graph->reached_count; i++) { /* flows that ended may have freed capacity on these links */
    Link *link = graph->reached[i];
    link->tight = links_over(link);
  }
  int result = solve(graph);
  while (result == DONE && graph->bundles > 0 && bundles_overrun(graph, now_s))
    result = solve(graph);
  for (int64_t i = 0; i < graph->changed_count; i++)
    reschedule(graph, graph->changed[i], now_s);
  return result;
}
