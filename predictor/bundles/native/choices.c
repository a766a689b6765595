#include "choices.h"

#include <stdlib.h>

enum { ANY_LABEL = -1 };

static void clear(int32_t *array, int64_t count)
{
  for (int64_t i = 0; i < count; i++)
    array[i] = NOTHING;
}

static int32_t *numbers(int64_t count)
{
  int32_t *made = malloc((size_t)(count + 1) * sizeof *made);
  if (made)
    clear(made, count);
  return made;
}

static Queue *queues(int64_t count)
{
  Queue *made = malloc((size_t)(count + 1) * sizeof *made);
  for (int64_t i = 0; made && i < count; i++)
    made[i] = (Queue){NOTHING, NOTHING};
  return made;
}

int choices_allocate(Graph *graph)
{
  const Input *input = &graph->input;
  Choosing *state = &graph->choosing;
  state->labels = 1;
  for (int64_t r = 0; r < input->ranks; r++)
    if (input->label[r] >= state->labels)
      state->labels = input->label[r] + 1;
  state->sent = queues(input->ranks * state->labels);
  state->of_pair = queues(2 * input->pairs);
  state->before = numbers(input->open);
  state->after = numbers(input->open);
  state->next = numbers(input->open);
  state->pair = numbers(input->open);
  state->turn = calloc((size_t)input->open + 1, sizeof *state->turn);
  state->any = numbers(input->ranks);
  state->latest = numbers(input->ranks);
  clear(input->took, input->open);
  if (!state->sent || !state->of_pair || !state->before || !state->after || !state->next || !state->pair ||
      !state->turn || !state->any || !state->latest)
    return NO_MEMORY;
  for (int64_t i = 0; i < input->open; i++)
    state->pair[i] = input->pair_of[i];
  return DONE;
}

void choices_free(Graph *graph)
{
  Choosing *state = &graph->choosing;
  free(state->sent);
  free(state->of_pair);
  free(state->before);
  free(state->after);
  free(state->next);
  free(state->pair);
  free(state->turn);
  free(state->any);
  free(state->latest);
}

/* --- the two kinds of lists --- */

static Queue *unreceived_of(Graph *graph, int32_t pair)
{
  return &graph->choosing.of_pair[pair];
}

static Queue *waiting_of(Graph *graph, int32_t pair)
{
  return &graph->choosing.of_pair[graph->input.pairs + pair];
}

static void append_to_pair(Graph *graph, Queue *queue, int32_t number)
{
  if (queue->head == NOTHING)
    queue->head = number;
  else
    graph->choosing.next[queue->tail] = number;
  queue->tail = number;
}

static int32_t take_from_pair(Graph *graph, Queue *queue)
{
  int32_t number = queue->head;
  if (number != NOTHING)
    queue->head = graph->choosing.next[number];
  return number;
}

static int32_t source_of(const Graph *graph, int32_t pair)
{
  return (int32_t)(graph->input.pair[pair] / graph->input.ranks);
}

static int32_t target_of(const Graph *graph, int32_t pair)
{
  return (int32_t)(graph->input.pair[pair] % graph->input.ranks);
}

static Queue *sent_over(Graph *graph, int32_t pair)
{
  int32_t label = graph->input.label[source_of(graph, pair)];
  return &graph->choosing.sent[target_of(graph, pair) * graph->choosing.labels + label];
}

static void append_to_sent(Graph *graph, int32_t number)
{
  Choosing *state = &graph->choosing;
  Queue *queue = sent_over(graph, state->pair[number]);
  state->before[number] = queue->tail;
  if (queue->head == NOTHING)
    queue->head = number;
  else
    state->after[queue->tail] = number;
  queue->tail = number;
}

static void take_from_sent(Graph *graph, int32_t number)
{
  Choosing *state = &graph->choosing;
  Queue *queue = sent_over(graph, state->pair[number]);
  int32_t before = state->before[number], after = state->after[number];
  if (before == NOTHING)
    queue->head = after;
  else
    state->after[before] = after;
  if (after == NOTHING)
    queue->tail = before;
  else
    state->before[after] = before;
}

/* --- sends and receives --- */

/* Returns the pair of two ranks; NOTHING if they never exchange open messages. */
static int32_t find_pair(const Graph *graph, int32_t source, int32_t target)
{
  const int64_t *pair = graph->input.pair;
  int64_t wanted = (int64_t)source * graph->input.ranks + target, low = 0, high = graph->input.pairs;
  while (low < high) {
    int64_t middle = (low + high) / 2;
    if (pair[middle] < wanted)
      low = middle + 1;
    else
      high = middle;
  }
  return low < graph->input.pairs && pair[low] == wanted ? (int32_t)low : NOTHING;
}

bool choices_address(Graph *graph, int32_t rank, int32_t number)
{
  const Input *input = &graph->input;
  int32_t latest = graph->choosing.latest[rank];
  int32_t pair = latest == NOTHING ? NOTHING : find_pair(graph, rank, latest);
  if (pair == NOTHING)
    return false;
  graph->choosing.pair[number] = pair;
  input->kind[number] = input->kind[*input->reply_first + input->asked[number] * input->pairs + pair];
  return true;
}

static void take(Graph *graph, int32_t receive, int32_t sent, int32_t rank)
{
  graph->input.took[receive] = sent;
  if (graph->input.role[receive] == ROLE_ANY)
    graph->choosing.latest[rank] = source_of(graph, graph->choosing.pair[sent]);
}

static bool is_asked(const Graph *graph, int32_t receive, int32_t pair)
{
  int32_t asked = graph->input.asked[receive];
  return asked == ANY_LABEL || asked == graph->input.label[source_of(graph, pair)];
}

int32_t choices_sent(Graph *graph, int32_t number)
{
  Choosing *state = &graph->choosing;
  int32_t pair = state->pair[number], target = target_of(graph, pair);
  int32_t receive = take_from_pair(graph, waiting_of(graph, pair));
  if (receive == NOTHING && state->any[target] != NOTHING && is_asked(graph, state->any[target], pair)) {
    receive = state->any[target];
    state->any[target] = NOTHING;
  }
  if (receive != NOTHING) {
    take(graph, receive, number, target);
    return receive;
  }
  state->turn[number] = state->turns++;
  append_to_pair(graph, unreceived_of(graph, pair), number);
  append_to_sent(graph, number);
  return NOTHING;
}

/* Returns the earliest message to a rank whose sender has the label that the receive accepts; NOTHING: none. */
static int32_t first_sent(const Graph *graph, int32_t rank, int32_t receive)
{
  const Choosing *state = &graph->choosing;
  int32_t asked = graph->input.asked[receive], first = NOTHING;
  for (int64_t label = 0; label < state->labels; label++) {
    int32_t head = state->sent[rank * state->labels + label].head;
    if (head != NOTHING && (asked == ANY_LABEL || asked == label) &&
        (first == NOTHING || state->turn[head] < state->turn[first]))
      first = head;
  }
  return first;
}

int32_t choices_received(Graph *graph, int32_t rank, int32_t number)
{
  Choosing *state = &graph->choosing;
  bool any = graph->input.role[number] == ROLE_ANY;
  int32_t sent = any ? first_sent(graph, rank, number) : unreceived_of(graph, state->pair[number])->head;
  if (sent == NOTHING) {
    if (any)
      state->any[rank] = number;
    else
      append_to_pair(graph, waiting_of(graph, state->pair[number]), number);
    return NOTHING;
  }
  take_from_pair(graph, unreceived_of(graph, state->pair[sent]));
  take_from_sent(graph, sent);
  take(graph, number, sent, rank);
  return sent;
}
