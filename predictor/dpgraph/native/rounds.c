#include "rounds.h"

#include "polls.h"
#include "ranks.h"

/* Queues the ranks that messages have woken. */
static void queue_woken(Graph *graph)
{
  for (int64_t i = 0; i < graph->woken_count; i++)
    polls_queue(graph, graph->woken[i]);
  graph->woken_count = 0;
}

int rounds_run(Graph *graph)
{
  queue_woken(graph);
  while (graph->queued > 0) {
    int32_t *queue = graph->next;
    int64_t count = graph->queued;
    graph->next = graph->queue;
    graph->queue = queue;
    graph->queued = 0;
    for (int64_t i = 0; i < count; i++) {
      int result = polls_step(graph, queue[i]) ? ranks_act(graph, queue[i], graph->now_s) : DONE;
      if (result != DONE)
        return result;
      queue_woken(graph);
    }
  }
  polls_note_pauses(graph);
  return DONE;
}
