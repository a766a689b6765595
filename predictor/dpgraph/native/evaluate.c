/* The loop over the dates of an evaluation. */
#include <limits.h>
#include <math.h>

#include "bundled.h"
#include "change.h"
#include "ends.h"
#include "links.h"
#include "polls.h"
#include "ranks.h"
#include "room.h"
#include "rounds.h"

/* Returns the date of the next event; infinity if there is none. */
static double next_date_s(Graph *graph)
{
  double end_s, start_s = events_date_s(&graph->starts);
  ends_first(graph, &end_s);
  return start_s < end_s ? start_s : end_s;
}

static void end_flows(Graph *graph, double now_s)
{
  double date_s;
  for (int32_t first; (first = ends_first(graph, &date_s)), date_s <= now_s + PRECISION_S;) {
    bool member = first < graph->bundles;
    int32_t slot = first;
    if (member)
      slot = bundles_pop(graph, first);
    else if (graph->flow[slot].place == IN_ORDER)
      graph->ends.first++;
    else
      ends_pop(&graph->ends.heap, graph->flow);
    graph->flow[slot].place = NOTHING;
    graph->free[graph->free_count++] = slot;
    ranks_arrive(graph, graph->flow[slot].message, now_s);
    links_leave(graph, slot, member);
  }
}

/* Returns DONE or NO_MEMORY. */
static int start_flows(Graph *graph, double now_s)
{
  while (events_date_s(&graph->starts) <= now_s + PRECISION_S) {
    int32_t slot = room_take_slot(graph);
    Event started = events_pop(&graph->starts);
    if (slot == NOTHING)
      return NO_MEMORY;
    const Message *message = &graph->input.message[started.kind];
    Flow *flow = &graph->flow[slot];
    flow->message = started.what;
    flow->path = &graph->path[message->path];
    flow->factor = message->factor;
    flow->remaining = message->amount_bytes;
    flow->since_s = now_s;
    flow->rate = 0.0;
    if (graph->bundles == 0) {
      links_note(graph, slot);
      links_join(graph, slot);
    } else if (bundles_join(graph, slot, now_s) != DONE) {
      return NO_MEMORY;
    }
  }
  return DONE;
}

static void write_ends(const Graph *graph)
{
  for (int64_t r = 0; r < graph->input.ranks; r++) {
    const Rank *rank = &graph->rank[r];
    graph->input.end_s[r] = rank->copy == graph->copies && rank->at == rank->stop ? rank->clock_s : NAN;
  }
}

/* Handles all events of a date. */
static int pass_date(Graph *graph, double now_s)
{
  graph->step++;
  graph->changed_count = graph->reached_count = 0;
  graph->crowded = false;
  end_flows(graph, now_s);
  int result = start_flows(graph, now_s);
  return result == DONE ? change_rates(graph, now_s) : result;
}

/* Like graph_run, but in rounds: no rank runs ahead of the network's date. */
static int run_by_date(Graph *graph, int64_t rates)
{
  while (rates > 0) {
    int result = rounds_run(graph);
    if (result != DONE)
      return result;
    double network_s = next_date_s(graph), ranks_s = polls_date_s(graph);
    double now_s = network_s < ranks_s ? network_s : ranks_s;
    if (now_s == INFINITY || polls_are_stuck(graph, network_s)) {
      write_ends(graph);
      return DONE;
    }
    now_s = graph->now_s + (now_s - graph->now_s); /* rounded as in SimGrid: equal dates may differ */
    polls_due(graph, now_s);
    if (network_s <= now_s + PRECISION_S)
      result = pass_date(graph, now_s);
    if (result != DONE)
      return result;
    rates -= 1 + graph->changed_count;
  }
  return MORE;
}

int graph_copies(const Graph *graph)
{
  return graph->copies < INT_MAX ? (int)graph->copies : INT_MAX;
}

int graph_leader(const Graph *graph)
{
  return graph->leader;
}

int graph_run(Graph *graph, int64_t rates)
{
  if (by_date(&graph->input))
    return run_by_date(graph, rates);
  while (rates > 0) {
    /* Ranks run until they block; their clocks may be ahead of the network's date. */
    if (graph->may_end > 0)
      repeats_order(graph);
    int result = ranks_run(graph);
    if (result != DONE)
      return result;
    double now_s = next_date_s(graph);
    if (now_s == INFINITY) {
      write_ends(graph);
      return DONE;
    }
    result = pass_date(graph, now_s);
    if (result != DONE)
      return result;
    rates -= 1 + graph->changed_count;
  }
  return MORE;
}
