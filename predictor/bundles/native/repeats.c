#include "repeats.h"

#include <math.h>
#include <stdlib.h>

#include "../../dpgraph/native/room.h"
#include "../../dpgraph/native/steps.h"

#define EQUAL_REL 1e-10 /* of the time of a copy: dates that differ by less are equal */
#define MOST_EQUAL 0.1  /* below 1, because numbers of ranks and messages are compared, too */
#define ABSENT 1e300    /* instead of a date */

enum { MOST_BEHIND = 2 }; /* copies between the first rank and the last one */

/* A message in flight. */
typedef struct {
  double message, date_s, rate;
} Flight;

/* Adds a number to a state.  Returns DONE or NO_MEMORY. */
static int put(State *state, double value)
{
  if (state->count == state->room) {
    int64_t room = state->room ? 2 * state->room : 1024;
    double *grown = realloc(state->value, (size_t)room * sizeof *grown);
    if (!grown)
      return NO_MEMORY;
    state->value = grown;
    state->room = room;
  }
  state->value[state->count++] = value;
  return DONE;
}

static int put_date(State *state, double date_s, double now_s)
{
  return put(state, date_s == NEVER ? ABSENT : date_s - now_s);
}

/* Adds the messages of a rank's steps from one up to another. */
static int put_messages(const Graph *graph, State *state, int64_t from, int64_t to, int64_t base, double now_s)
{
  int result = DONE;
  for (int64_t i = from; i < to && result == DONE; i++) {
    int code = step_code(graph->step_of[i]);
    if (code == COMPUTE || code == SLEEP || code == MARK)
      continue;
    const Posted *posted = &graph->posted[base + step_operand(graph->step_of[i])];
    result = put_date(state, posted->sent_s, now_s) | put_date(state, posted->received_s, now_s) |
             put_date(state, posted->done_s, now_s) | put(state, posted->sender) | put(state, posted->receiver);
  }
  return result;
}

/* Adds the ranks, and the messages of all copies before `copy` that they have still to pass. */
static int put_ranks(const Graph *graph, State *state, int64_t copy, double now_s)
{
  int result = DONE;
  for (int64_t r = 0; r < graph->input.ranks && result == DONE; r++) {
    const Rank *rank = &graph->rank[r];
    const Parts *parts = &graph->parts[r];
    result = put(state, (double)rank->at) | put(state, (double)(copy - rank->copy)) |
             put_date(state, rank->clock_s, now_s);
    for (int64_t of = rank->copy; of < copy && result == DONE; of++)
      result = put_messages(graph, state, of == rank->copy ? rank->at : parts->loop_first, parts->loop_last,
                            room_row(graph, of) - graph->fixed, now_s);
  }
  for (int64_t i = 0; i < graph->woken_count && result == DONE; i++)
    result = put(state, graph->woken[i]);
  return result;
}

/* Returns the number of a message relative to those of `copy`; NAN: it is not part of the loop. */
static double relative(const Graph *graph, int64_t copy, int32_t place)
{
  int64_t length = graph->input.messages - graph->fixed, within = place - graph->fixed;
  if (within < 0)
    return NAN;
  int64_t of = graph->oldest + ((within / length - graph->oldest) & (graph->window - 1));
  return (double)((copy - of) * length + within % length);
}

static int by_message(const void *a, const void *b)
{
  double one = ((const Flight *)a)->message, other = ((const Flight *)b)->message;
  return (one > other) - (one < other);
}

/* Lists the messages in flight among some events, from `flight` on; returns the end of the list. */
static Flight *list(const Graph *graph, Flight *flight, const Event *event, int64_t count, int64_t copy, bool starts)
{
  for (int64_t i = 0; i < count; i++) {
    const Flow *flow = &graph->flow[event[i].what];
    if (starts)
      *flight++ = (Flight){relative(graph, copy, event[i].what), event[i].date_s, 0.0};
    else if (event != graph->ends.event + graph->ends.first || !ends_is_void(graph, event[i]))
      *flight++ = (Flight){relative(graph, copy, flow->message), event[i].date_s, flow->rate / flow->path->bound_Bps};
  }
  return flight;
}

/* Adds the messages in flight. */
static int put_flights(const Graph *graph, State *state, int64_t copy, double now_s)
{
  const Events *starts = &graph->starts, *ends = &graph->ends;
  int64_t starting = starts->last - starts->first, ending = ends->last - ends->first;
  Flight *flights = malloc((size_t)(starting + starts->heap.size + ending + ends->heap.size + 1) * sizeof *flights);
  if (!flights)
    return NO_MEMORY;
  Flight *end = list(graph, flights, starts->event + starts->first, starting, copy, true);
  end = list(graph, end, starts->heap.event, starts->heap.size, copy, true);
  end = list(graph, end, ends->event + ends->first, ending, copy, false);
  end = list(graph, end, ends->heap.event, ends->heap.size, copy, false);
  qsort(flights, (size_t)(end - flights), sizeof *flights, by_message);
  int result = DONE;
  for (Flight *flight = flights; flight < end && result == DONE; flight++)
    result = put(state, flight->message) | put_date(state, flight->date_s, now_s) | put(state, flight->rate);
  free(flights);
  return result;
}

/* Returns whether two states are the same; numbers that are NAN are not. */
static bool are_same(const State *a, const State *b, double within)
{
  bool same = a->known && b->known && a->count == b->count;
  for (int64_t i = 0; same && i < a->count; i++)
    same = fabs(a->value[i] - b->value[i]) <= within;
  return same;
}

int repeats_note(Graph *graph, int32_t number)
{
  const Rank *rank = &graph->rank[number];
  if (!graph->repeats && !(graph->repeats = calloc(1, sizeof *graph->repeats)))
    return NO_MEMORY;
  Repeats *repeats = graph->repeats;
  if (rank->copy <= repeats->copy || rank->copy >= graph->copies || graph->bundles > 0)
    return DONE;
  State *state = &repeats->state[rank->copy & 1];
  double copy_s = rank->clock_s - repeats->begin_s;
  repeats->copy = rank->copy;
  repeats->begin_s = rank->clock_s;
  state->count = 0;
  state->known = true;
  for (int64_t r = 0; r < graph->input.ranks; r++)
    state->known &= graph->rank[r].copy >= 0 && graph->rank[r].copy >= rank->copy - MOST_BEHIND;
  if (!state->known)
    return DONE;
  int result = put(state, number) | put_ranks(graph, state, rank->copy, rank->clock_s);
  if (result == DONE)
    result = put_flights(graph, state, rank->copy, rank->clock_s);
  double within = copy_s * EQUAL_REL < MOST_EQUAL ? copy_s * EQUAL_REL : MOST_EQUAL;
  if (result == DONE && rank->copy >= graph->may_end &&
      are_same(state, &repeats->state[(rank->copy + 1) & 1], within)) {
    graph->copies = rank->copy;
    graph->leader = number;
  }
  return result == DONE ? DONE : NO_MEMORY;
}

void repeats_order(Graph *graph)
{
  int32_t *woken = graph->woken;
  for (int64_t i = 1; i < graph->woken_count; i++) {
    int32_t moved = woken[i];
    int64_t k = i;
    for (; k > 0 && woken[k - 1] < moved; k--)
      woken[k] = woken[k - 1];
    woken[k] = moved;
  }
}

void repeats_free(Graph *graph)
{
  if (!graph->repeats)
    return;
  free(graph->repeats->state[0].value);
  free(graph->repeats->state[1].value);
  free(graph->repeats);
}
