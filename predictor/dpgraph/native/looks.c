#include "looks.h"

#include <stdlib.h>

#include "steps.h"

enum { NOTHING_TO_DO = -1 };

int looks_allocate(Graph *graph)
{
  const Input *input = &graph->input;
  size_t ranks = (size_t)input->ranks + 1;
  graph->pause = calloc(ranks, sizeof *graph->pause);
  graph->begun = calloc(ranks, sizeof *graph->begun);
  graph->queue = calloc(ranks, sizeof *graph->queue);
  graph->next = calloc(ranks, sizeof *graph->next);
  graph->looking = calloc(ranks, sizeof *graph->looking);
  graph->taken = calloc((size_t)input->messages + 1, sizeof *graph->taken);
  graph->alias = calloc((size_t)input->messages + 1, sizeof *graph->alias);
  graph->differs = calloc((size_t)input->looks + 1, sizeof *graph->differs);
  if (!graph->pause || !graph->begun || !graph->queue || !graph->next || !graph->looking || !graph->taken ||
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

void looks_pause(Graph *graph, int32_t rank, double takes_s, bool asleep)
{
  graph->begun[graph->begun_count++] = (Pause){.date_s = graph->now_s + takes_s, .rank = rank, .asleep = asleep};
}

/* SimGrid notes the sleeps that begin at a date in reverse, then the computations. */
void looks_note_pauses(Graph *graph)
{
  for (int64_t i = graph->begun_count - 1; i >= 0; i--)
    if (graph->begun[i].asleep)
      push(graph, graph->begun[i]);
  for (int64_t i = 0; i < graph->begun_count; i++)
    if (!graph->begun[i].asleep)
      push(graph, graph->begun[i]);
  graph->begun_count = 0;
}

/* --- one look --- */

static int64_t look_of(const Graph *graph, int32_t rank)
{
  return step_operand(graph->step_of[graph->rank[rank].at]);
}

static int counter_of(const Graph *graph, int64_t look)
{
  static const int counters[] = {[LOOK_EACH] = TESTS, [LOOK_ANY] = ANY_TESTS, [LOOK_FOR] = PROBES, [LOOK_AGAIN] = TESTS};
  return counters[graph->input.style[look]];
}

static bool is_taken(const Graph *graph, int64_t want)
{
  int32_t wanted = graph->input.want[want];
  return wanted >= 0 && graph->taken[wanted >> 2] >> (wanted & 3) & 1;
}

static int64_t count_taken(const Graph *graph, int64_t look)
{
  int64_t count = 0;
  for (int64_t i = graph->input.look_first[look]; i < graph->input.look_first[look + 1]; i++)
    count += is_taken(graph, i);
  return count;
}

/* Returns the number of a wanted message. */
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

/* Returns the first operation of a look of any that has come, `at` being the look; NOTHING_TO_DO: none. */
static int64_t first_complete(const Graph *graph, int64_t look)
{
  for (int64_t i = graph->input.look_first[look]; i < graph->input.look_first[look + 1]; i++)
    if (!is_taken(graph, i) && is_complete(graph, graph->input.want[i]))
      return i;
  return NOTHING_TO_DO;
}

/* Returns the operation at which a rank looks next, from one on; NOTHING_TO_DO: the look is over. */
static int64_t next_want(const Graph *graph, int64_t look, int64_t from)
{
  int64_t last = graph->input.look_first[look + 1];
  for (int64_t i = from; i < last; i++)
    if (!is_taken(graph, i) || graph->input.style[look] == LOOK_AGAIN)
      return i;
  return NOTHING_TO_DO;
}

static void start_looking(Graph *graph, int32_t rank, int64_t look, int64_t want)
{
  int counter = counter_of(graph, look);
  graph->looking[rank] = (Looking){.want = want, .state = LOOKS};
  looks_pause(graph, rank, (double)graph->count[counter] * graph->input.look_s[counter], counter != PROBES);
}

bool looks_begin(Graph *graph, int32_t rank, int64_t look)
{
  int32_t need = graph->input.need[look];
  int64_t want = graph->input.look_first[look];
  if (graph->input.style[look] != LOOK_FOR) {
    if (need > 0 && count_taken(graph, look) >= need)
      return false;
    want = next_want(graph, look, want);
    if (want == NOTHING_TO_DO)
      return false;
  }
  start_looking(graph, rank, look, want);
  return true;
}

/* --- what it finds --- */

/* Counts the looks that differ from the recording. */
static void note_other(Graph *graph, int64_t look, bool differs)
{
  if (differs && !graph->differs[look])
    ++*graph->input.other;
  graph->differs[look] |= differs;
}

/* Puts the message that was sent first among those that a rank looks for in the place of the recorded one, if what it
 * does with each is alike (need 1). */
static void choose_message(Graph *graph, int64_t look)
{
  int64_t first = graph->input.look_first[look], best = first;
  const int32_t *want = graph->input.want;
  for (int64_t i = first; i < graph->input.look_first[look + 1]; i++)
    if (is_complete(graph, want[i]) &&
        (!is_complete(graph, want[best]) ||
         graph->posted[message_of(graph, want[i])].sent_s < graph->posted[message_of(graph, want[best])].sent_s))
      best = i;
  if (best == first)
    return;
  if (graph->input.need[look] != 1) {
    note_other(graph, look, true);
    return;
  }
  int32_t one = want[first] >> 2, another = want[best] >> 2, moved = graph->alias[one];
  graph->alias[one] = graph->alias[another];
  graph->alias[another] = moved;
}

static bool finds(Graph *graph, int32_t rank)
{
  int64_t look = look_of(graph, rank);
  if (graph->input.style[look] == LOOK_FOR)
    choose_message(graph, look);
  if (graph->input.style[look] == LOOK_ANY)
    return first_complete(graph, look) != NOTHING_TO_DO;
  int64_t want = graph->looking[rank].want;
  return want < graph->input.look_first[look + 1] && is_complete(graph, graph->input.want[want]);
}

static void take(Graph *graph, int64_t want)
{
  int32_t wanted = graph->input.want[want];
  graph->taken[wanted >> 2] |= (uint8_t)(1 << (wanted & 3));
}

/* Counts what a look has found: SimGrid looks again at what it has found of a collective, and at the collective itself. */
static void count_look(Graph *graph, int64_t look, const Looking *own)
{
  int style = graph->input.style[look];
  int64_t *count = &graph->count[counter_of(graph, look)];
  if (style == LOOK_AGAIN && (graph->input.want[own->want] < 0 || is_taken(graph, own->want)))
    return;
  if (own->found && style != LOOK_FOR)
    take(graph, style == LOOK_ANY ? first_complete(graph, look) : own->want);
  graph->vain = own->found ? 0 : graph->vain + 1;
  *count = own->found ? 1 : *count + (*graph->input.grows || style == LOOK_ANY);
}

/* Returns whether a look that is over has found other operations than in the recording. */
static bool is_other(const Graph *graph, int64_t look, const Looking *own)
{
  if (graph->input.style[look] == LOOK_FOR)
    return own->found && graph->input.need[look] == 0;
  for (int64_t i = graph->input.look_first[look]; i < graph->input.look_first[look + 1]; i++)
    if (is_taken(graph, i) != graph->input.expected[i] && graph->input.want[i] >= 0)
      return true;
  return false;
}

/* Lets a rank that knows what its look has found go on; returns false if it looks at the next operation. */
static bool learn(Graph *graph, int32_t rank)
{
  Looking *own = &graph->looking[rank];
  int64_t look = look_of(graph, rank);
  int style = graph->input.style[look];
  count_look(graph, look, own);
  bool has_more = style == LOOK_EACH || style == LOOK_AGAIN;
  int64_t next = has_more ? next_want(graph, look, own->want + 1) : NOTHING_TO_DO;
  if (next != NOTHING_TO_DO) {
    start_looking(graph, rank, look, next);
    return false;
  }
  int32_t need = graph->input.need[look];
  bool enough = style == LOOK_FOR ? own->found : count_taken(graph, look) >= need;
  if (style == LOOK_AGAIN)
    graph->count[TESTS] = enough ? 1 : graph->count[TESTS] + *graph->input.grows;
  if (enough || need == 0)
    note_other(graph, look, is_other(graph, look, own));
  graph->rank[rank].at += enough || need == 0 ? graph->input.skip[look] : 1;
  own->state = NOT_LOOKING;
  return true;
}

/* Returns whether MPI knows without the simulator what a look finds. */
static bool is_known(const Graph *graph, int32_t rank)
{
  int64_t look = look_of(graph, rank), want = graph->looking[rank].want;
  int style = graph->input.style[look];
  if (style == LOOK_ANY || style == LOOK_FOR)
    return false;
  int32_t wanted = graph->input.want[want];
  if (style == LOOK_AGAIN && (wanted < 0 || is_taken(graph, want)))
    return true;
  return wanted >= 0 && (wanted & 3) == SIDE_SENT && graph->input.message[graph->input.kind[wanted >> 2]].detached;
}

bool looks_step(Graph *graph, int32_t rank)
{
  Looking *own = &graph->looking[rank];
  if (own->state == LOOKS) {
    own->found = finds(graph, rank);
    own->state = KNOWS;
    if (!is_known(graph, rank)) {
      looks_queue(graph, rank);
      return false;
    }
  }
  return own->state != KNOWS || learn(graph, rank);
}

void looks_due(Graph *graph, double now_s)
{
  graph->now_s = now_s;
  while (graph->pauses > 0 && graph->pause[0].date_s <= now_s + PRECISION_S)
    looks_queue(graph, pop(graph));
}
