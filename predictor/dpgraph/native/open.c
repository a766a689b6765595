/* Beginning and ending an evaluation. */
#include <stdlib.h>

#include "bundled.h"
#include "check.h"
#include "polls.h"
#include "ranks.h"
#include "room.h"
#include "steps.h"

static void *array(int64_t count, size_t size)
{
  return calloc((size_t)count + 1, size); /* never an empty allocation, which may return NULL */
}

static int allocate(Graph *graph)
{
  const Input *input = &graph->input;
  graph->rank = array(input->ranks, sizeof *graph->rank);
  graph->parts = array(input->ranks, sizeof *graph->parts);
  graph->woken = array(input->ranks, sizeof *graph->woken);
  graph->path = array(input->paths, sizeof *graph->path);
  graph->crossing = array(input->crossings, sizeof *graph->crossing);
  graph->link = array(input->links, sizeof *graph->link);
  graph->reached = array(input->links, sizeof *graph->reached);
  graph->solution = array(1 << SOLUTION_BITS, sizeof *graph->solution);
  if (by_date(input) && polls_allocate(graph) != DONE)
    return NO_MEMORY;
  int result = input->open > 0 ? choices_allocate(graph) : DONE;
  if (result != DONE)
    return result;
  if (!graph->rank || !graph->parts || !graph->woken || !graph->path || !graph->crossing || !graph->link ||
      !graph->reached || !graph->solution)
    return NO_MEMORY;
  return DONE;
}

static void read_paths(Graph *graph)
{
  const Input *input = &graph->input;
  graph->width = 1;
  for (int64_t p = 0; p < input->paths; p++) {
    int64_t first = input->path_first[p], crossings = input->path_first[p + 1] - first;
    double bound = input->bound_Bps[p], penalty = input->penalty[p];
    graph->path[p] = (Path){bound, penalty, bound * penalty, &graph->crossing[first], (int32_t)crossings, NOTHING};
    if (crossings > graph->width)
      graph->width = crossings;
    for (int64_t k = first; k < first + crossings; k++) {
      double weight = input->weight[k];
      graph->crossing[k] = (Crossing){&graph->link[input->link[k]], weight, weight * bound, weight / penalty};
    }
  }
  for (int64_t l = 0; l < input->links; l++) {
    double capacity = input->capacity_Bps[l];
    graph->link[l] = (Link){.limit = capacity * SLACK, .head = NOTHING, .capacity = capacity};
  }
}

/* Returns DONE, NO_MEMORY or BAD_INPUT. */
static int begin(Graph *graph, int64_t hub_paths)
{
  read_paths(graph);
  for (int64_t r = 0; r < graph->input.ranks; r++)
    graph->woken[graph->woken_count++] = (int32_t)r;
  if (room_for_flows(graph) != DONE || bundles_make(graph, hub_paths) != DONE || room_for_copies(graph) != DONE)
    return NO_MEMORY;
  return steps_make(graph);
}

int graph_open(const Input *input, int64_t copies, int64_t fixed, int64_t may_end, int64_t hub_paths, Graph **made)
{
  *made = NULL;
  int result = check(input, copies, fixed);
  if (result != DONE)
    return result;
  Graph *graph = calloc(1, sizeof *graph);
  if (!graph)
    return NO_MEMORY;
  graph->input = *input;
  graph->copies = copies;
  graph->fixed = fixed;
  graph->may_end = by_date(input) ? 0 : may_end;
  result = allocate(graph);
  if (result == DONE)
    result = begin(graph, hub_paths);
  if (result != DONE) {
    graph_close(graph);
    return result;
  }
  *made = graph;
  return DONE;
}

int graph_close(Graph *graph)
{
  if (!graph)
    return DONE;
  free(graph->rank);
  free(graph->parts);
  free(graph->step_of);
  free(graph->value);
  free(graph->posted);
  free(graph->left);
  free(graph->woken);
  free(graph->path);
  free(graph->crossing);
  free(graph->link);
  free(graph->reached);
  free(graph->solution);
  free(graph->starts.event);
  free(graph->starts.heap.event);
  free(graph->ends.event);
  free(graph->ends.heap.event);
  free(graph->flow);
  free(graph->entry);
  free(graph->free);
  free(graph->changed);
  free(graph->pause);
  free(graph->begun);
  free(graph->queue);
  free(graph->next);
  free(graph->poller);
  free(graph->taken);
  free(graph->alias);
  free(graph->differs);
  choices_free(graph);
  repeats_free(graph);
  bundles_free(graph);
  free(graph);
  return DONE;
}
