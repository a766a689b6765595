/* The rates depend on the paths of the flows alone.  Programs repeat themselves, so that most solutions are known. */
#include "share.h"

static int solve(Graph *graph)
{
  Sharing sharing = {graph->flow,          graph->entry,   graph->changed,
                     graph->changed_count, graph->reached, graph->reached_count};
  return rates_share(&sharing) ? DONE : BAD_INPUT;
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
