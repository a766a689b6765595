#include "polls.h"

#include <stdlib.h>

#include "steps.h"

enum { NOTHING_TO_DO = -1 };

int polls_allocate(Graph *graph)
{
  const Input *input = &graph->input;
  size_t ranks = (size_t)input->ranks + 1;
  graph->pause = calloc(ranks, sizeof *graph->pause);
  graph->begun = calloc(ranks, sizeof *graph->begun);
  graph->queue = calloc(ranks, sizeof *graph->queue);
  graph->next = calloc(ranks, sizeof *graph->next);
  graph->poller = calloc(ranks, sizeof *graph->poller);
  graph->taken = calloc((size_t)input->messages + 1, sizeof *graph->taken);
  graph->alias = calloc((size_t)input->messages + 1, sizeof *graph->alias);
  graph->differs = calloc((size_t)input->polls + 1, sizeof *graph->differs);
  if (!graph->pause || !graph->begun || !graph->queue || !graph->next || !graph->poller || !graph->taken ||
      !graph->alias || !graph->differs)
    return NO_MEMORY;
  for (int64_t i = 0; i < input->messages; i++)
    graph->alias[i] = (int32_t)i;
  *input->other = 0;
  for (int k = 0; k < COUNTERS; k++)
    graph->count[k] = 1;
  return DONE;
}

/* --- pauses --- */

static bool earlier(const Pause *a, const Pause *b)
{
  return a->date_s < b->date_s || (a->date_s == b->date_s && a->turn < b->turn);
}

static void push(Graph *graph, Pause pushed)
{
  Pause *heap = graph->pause;
  int64_t i = graph->pauses++;
  pushed.turn = graph->turns++;
  for (; i > 0 && earlier(&pushed, &heap[(i - 1) / 2]); i = (i - 1) / 2)
    heap[i] = heap[(i - 1) / 2];
  heap[i] = pushed;
}

static int32_t pop(Graph *graph)
{
  Pause *heap = graph->pause, moved = heap[--graph->pauses];
  int32_t first = heap[0].rank;
  int64_t i = 0;
  for (int64_t below; (below = 2 * i + 1) < graph->pauses; i = below) {
    if (below + 1 < graph->pauses && earlier(&heap[below + 1], &heap[below]))
      below++;
    if (!earlier(&heap[below], &moved))
      break;
    heap[i] = heap[below];
  }
  heap[i] = moved;
  return first;
}

void polls_pause(Graph *graph, int32_t rank, double takes_s, bool asleep)
{
  graph->begun[graph->begun_count++] = (Pause){.date_s = graph->now_s + takes_s, .rank = rank, .asleep = asleep};
}

/* SimGrid orders the sleeps that begin at a date in reverse, and puts the computations after them. */
void polls_note_pauses(Graph *graph)
{
  for (int64_t i = graph->begun_count - 1; i >= 0; i--)
    if (graph->begun[i].asleep)
      push(graph, graph->begun[i]);
  for (int64_t i = 0; i < graph->begun_count; i++)
    if (!graph->begun[i].asleep)
      push(graph, graph->begun[i]);
  graph->begun_count = 0;
}

/* --- one poll --- */

static int64_t poll_of(const Graph *graph, int32_t rank)
{
  return step_operand(graph->step_of[graph->rank[rank].at]);
}

static int counter_of(const Graph *graph, int64_t poll)
{
  static const int counters[] = {[POLL_EACH] = TESTS, [POLL_ANY] = ANY_TESTS, [POLL_FOR] = PROBES, [POLL_AGAIN] = TESTS};
  return counters[graph->input.style[poll]];
}

static bool is_taken(const Graph *graph, int64_t want)
{
  int32_t wanted = graph->input.want[want];
  return wanted >= 0 && graph->taken[wanted >> 2] >> (wanted & 3) & 1;
}

static int64_t count_taken(const Graph *graph, int64_t poll)
{
  int64_t count = 0;
  for (int64_t i = graph->input.poll_first[poll]; i < graph->input.poll_first[poll + 1]; i++)
    count += is_taken(graph, i);
  return count;
}

/* Returns the message of an operation; for receives and probes, the one received in its place. */
static int32_t message_of(const Graph *graph, int32_t wanted)
{
  return (wanted & 3) == SIDE_SENT ? wanted >> 2 : graph->alias[wanted >> 2];
}

static bool is_complete(const Graph *graph, int32_t wanted)
{
  if (wanted < 0)
    return false;
  int32_t message = message_of(graph, wanted);
  const Posted *posted = &graph->posted[message];
  switch (wanted & 3) {
    case SIDE_FOUND:
      return posted->sent_s != NEVER && posted->sent_s <= graph->now_s + PRECISION_S;
    case SIDE_SENT:
      return graph->input.message[graph->input.kind[message]].detached || posted->done_s != NEVER;
    default:
      return posted->done_s != NEVER;
  }
}

/* Returns the first new complete operation of a poll; NOTHING_TO_DO: none. */
static int64_t first_complete(const Graph *graph, int64_t poll)
{
  for (int64_t i = graph->input.poll_first[poll]; i < graph->input.poll_first[poll + 1]; i++)
    if (!is_taken(graph, i) && is_complete(graph, graph->input.want[i]))
      return i;
  return NOTHING_TO_DO;
}

/* Returns the next operation to test, searching from index `from`; NOTHING_TO_DO: the poll is over. */
static int64_t next_want(const Graph *graph, int64_t poll, int64_t from)
{
  int64_t last = graph->input.poll_first[poll + 1];
  for (int64_t i = from; i < last; i++)
    if (!is_taken(graph, i) || graph->input.style[poll] == POLL_AGAIN)
      return i;
  return NOTHING_TO_DO;
}

static void start_polling(Graph *graph, int32_t rank, int64_t poll, int64_t want)
{
  int counter = counter_of(graph, poll);
  graph->poller[rank] = (Poller){.want = want, .state = POLLING};
  polls_pause(graph, rank, (double)graph->count[counter] * graph->input.poll_s[counter], counter != PROBES);
}

bool polls_begin(Graph *graph, int32_t rank, int64_t poll)
{
  int32_t need = graph->input.need[poll];
  int64_t want = graph->input.poll_first[poll];
  if (graph->input.style[poll] != POLL_FOR) {
    if (need > 0 && count_taken(graph, poll) >= need)
      return false;
    want = next_want(graph, poll, want);
    if (want == NOTHING_TO_DO)
      return false;
  }
  start_polling(graph, rank, poll, want);
  return true;
}

/* --- the result of a poll --- */

/* Counts each poll that differs from the recording once. */
static void note_other(Graph *graph, int64_t poll, bool differs)
{
  if (differs && !graph->differs[poll])
    ++*graph->input.other;
  graph->differs[poll] |= differs;
}

/* Replaces the recorded message of a probe by the one that was sent first, if the rank treats both alike (need 1);
   otherwise counts a difference. */
static void choose_message(Graph *graph, int64_t poll)
{
  int64_t first = graph->input.poll_first[poll], best = first;
  const int32_t *want = graph->input.want;
  for (int64_t i = first; i < graph->input.poll_first[poll + 1]; i++)
    if (is_complete(graph, want[i]) &&
        (!is_complete(graph, want[best]) ||
         graph->posted[message_of(graph, want[i])].sent_s < graph->posted[message_of(graph, want[best])].sent_s))
      best = i;
  if (best == first)
    return;
  if (graph->input.need[poll] != 1) {
    note_other(graph, poll, true);
    return;
  }
  int32_t recorded = want[first] >> 2, earliest = want[best] >> 2, moved = graph->alias[recorded];
  graph->alias[recorded] = graph->alias[earliest];
  graph->alias[earliest] = moved;
}

static bool finds(Graph *graph, int32_t rank)
{
  int64_t poll = poll_of(graph, rank);
  if (graph->input.style[poll] == POLL_FOR)
    choose_message(graph, poll);
  if (graph->input.style[poll] == POLL_ANY)
    return first_complete(graph, poll) != NOTHING_TO_DO;
  int64_t want = graph->poller[rank].want;
  return want < graph->input.poll_first[poll + 1] && is_complete(graph, graph->input.want[want]);
}

static void take(Graph *graph, int64_t want)
{
  int32_t wanted = graph->input.want[want];
  graph->taken[wanted >> 2] |= (uint8_t)(1 << (wanted & 3));
}

/* Updates the counters after a test.  SimGrid's repeated tests of a collective and its operations do not count. */
static void count_poll(Graph *graph, int64_t poll, const Poller *poller)
{
  int style = graph->input.style[poll];
  int64_t *count = &graph->count[counter_of(graph, poll)];
  if (style == POLL_AGAIN && (graph->input.want[poller->want] < 0 || is_taken(graph, poller->want)))
    return;
  if (poller->found && style != POLL_FOR)
    take(graph, style == POLL_ANY ? first_complete(graph, poll) : poller->want);
  graph->failed_polls = poller->found ? 0 : graph->failed_polls + 1;
  *count = poller->found ? 1 : *count + (*graph->input.grows || style == POLL_ANY);
}

/* Returns whether the result of a finished poll differs from the recording. */
static bool is_other(const Graph *graph, int64_t poll, const Poller *poller)
{
  if (graph->input.style[poll] == POLL_FOR)
    return poller->found && graph->input.need[poll] == 0;
  for (int64_t i = graph->input.poll_first[poll]; i < graph->input.poll_first[poll + 1]; i++)
    if (is_taken(graph, i) != graph->input.expected[i] && graph->input.want[i] >= 0)
      return true;
  return false;
}

/* Acts on the result of a test; returns false if the poll continues with the next operation. */
static bool learn(Graph *graph, int32_t rank)
{
  Poller *poller = &graph->poller[rank];
  int64_t poll = poll_of(graph, rank);
  int style = graph->input.style[poll];
  count_poll(graph, poll, poller);
  bool has_more = style == POLL_EACH || style == POLL_AGAIN;
  int64_t next = has_more ? next_want(graph, poll, poller->want + 1) : NOTHING_TO_DO;
  if (next != NOTHING_TO_DO) {
    start_polling(graph, rank, poll, next);
    return false;
  }
  int32_t need = graph->input.need[poll];
  bool enough = style == POLL_FOR ? poller->found : count_taken(graph, poll) >= need;
  if (style == POLL_AGAIN)
    graph->count[TESTS] = enough ? 1 : graph->count[TESTS] + *graph->input.grows;
  if (enough || need == 0)
    note_other(graph, poll, is_other(graph, poll, poller));
  graph->rank[rank].at += enough || need == 0 ? graph->input.skip[poll] : 1;
  poller->state = NOT_POLLING;
  return true;
}

/* Returns whether MPI knows the result of a test without calling the simulator. */
static bool is_known(const Graph *graph, int32_t rank)
{
  int64_t poll = poll_of(graph, rank), want = graph->poller[rank].want;
  int style = graph->input.style[poll];
  if (style == POLL_ANY || style == POLL_FOR)
    return false;
  int32_t wanted = graph->input.want[want];
  if (style == POLL_AGAIN && (wanted < 0 || is_taken(graph, want)))
    return true;
  return wanted >= 0 && (wanted & 3) == SIDE_SENT && graph->input.message[graph->input.kind[wanted >> 2]].detached;
}

bool polls_step(Graph *graph, int32_t rank)
{
  Poller *poller = &graph->poller[rank];
  if (poller->state == POLLING) {
    poller->found = finds(graph, rank);
    poller->state = POLLED;
    if (!is_known(graph, rank)) {
      polls_queue(graph, rank);
      return false;
    }
  }
  return poller->state != POLLED || learn(graph, rank);
}

void polls_due(Graph *graph, double now_s)
{
  graph->now_s = now_s;
  while (graph->pauses > 0 && graph->pause[0].date_s <= now_s + PRECISION_S)
    polls_queue(graph, pop(graph));
}
