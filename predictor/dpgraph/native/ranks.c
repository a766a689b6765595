#include "ranks.h"

#include <math.h>

#include "bundled.h"
#include "heap.h"
#include "polls.h"
#include "room.h"
#include "steps.h"

enum { AHEAD = 6 }; /* steps */

static inline double later(double a, double b)
{
  return b > a ? b : a;
}

/* The message of a step. */
typedef struct {
  Posted *posted;
  const Message *message;
  int32_t place, kind;
} Subject;

static inline Subject subject(const Graph *graph, int64_t base, uint32_t number)
{
  int32_t place = (int32_t)(base + number), kind = graph->input.kind[number];
  return (Subject){&graph->posted[place], &graph->input.message[kind], place, kind};
}

/* Starts a message at this date.  Returns DONE or NO_MEMORY. */
static inline int start(Graph *graph, Subject its, double date_s)
{
  Events *starts = &graph->starts;
  if ((starts->last == starts->room || starts->heap.size == starts->room) && room_for_starts(graph) != DONE)
    return NO_MEMORY;
  Event event = {date_s + its.message->latency_s, its.place, its.kind};
  if (!events_append(starts, event))
    heap_push(&starts->heap, event);
  return DONE;
}

/* Posts a send: starts the message if it need not wait for its receive, and wakes a rank that probes for it. */
static inline int post_send(Graph *graph, Subject its, double now_s)
{
  Posted *posted = its.posted;
  if (posted->sent_s != NEVER)
    return BAD_INPUT;
  posted->sent_s = now_s;
  int result = DONE;
  if (its.message->eager)
    result = start(graph, its, now_s);
  else if (posted->received_s != NEVER)
    result = start(graph, its, later(now_s, posted->received_s));
  if (posted->receiver < NOBODY) {
    int32_t prober = -2 - posted->receiver;
    posted->receiver = NOBODY;
    ranks_wake(graph, prober, now_s);
  }
  return result;
}

/* Posts the receive of a message, and starts the message if its send was waiting for it. */
static inline int post_receive(Graph *graph, Subject its, double now_s)
{
  Posted *posted = its.posted;
  if (posted->received_s != NEVER)
    return BAD_INPUT;
  posted->received_s = now_s;
  if (posted->sent_s != NEVER && !its.message->eager)
    return start(graph, its, later(posted->sent_s, now_s));
  return DONE;
}

/* Returns the date a rank waits for; if it is not known yet, registers the rank as waiting and returns infinity. */
static inline double awaited_s(Posted *posted, int code, int32_t rank)
{
  if (code == PROBE) {
    if (posted->sent_s == NEVER)
      posted->receiver = -2 - rank;
    return posted->sent_s == NEVER ? INFINITY : posted->sent_s;
  }
  if (posted->done_s != NEVER)
    return posted->done_s;
  if (code == WAIT_SENT)
    posted->sender = rank;
  else
    posted->receiver = rank;
  return INFINITY;
}

static int mark(Graph *graph, int32_t number, double now_s)
{
  Rank *rank = &graph->rank[number];
  if (rank->marked == graph->input.marks)
    return BAD_INPUT;
  graph->input.marks_s[number * graph->input.marks + rank->marked++] = now_s;
  return DONE;
}

/* Prefetches memory; the address need not be valid.  A macro, because GCC removes a function that does nothing else. */
#define FETCH(array, index) \
  __builtin_prefetch((const void *)((uintptr_t)(array) + (uintptr_t)(index) * sizeof *(array)))

/* Executes the steps of a rank until it blocks or this part of its steps ends. */
static int run(Graph *graph, int32_t number)
{
  const uint32_t *step_of = graph->step_of;
  Rank *rank = &graph->rank[number];
  int64_t i = rank->at, stop = rank->stop, base = rank->base;
  double now_s = rank->clock_s, s_per_flop = rank->s_per_flop;
  int result = DONE;
  bool waits = false;
  for (; i < stop; i++) {
    int code = step_code(step_of[i]);
    uint32_t operand = step_operand(step_of[i]);
    switch (code) {
      case COMPUTE:
        now_s += graph->value[operand] * s_per_flop;
        break;
      case SEND:
        result = post_send(graph, subject(graph, base, operand), now_s);
        break;
      case RECV:
        result = post_receive(graph, subject(graph, base, operand), now_s);
        break;
      case MARK:
        result = mark(graph, number, now_s);
        break;
      case SLEEP:
        now_s += graph->value[operand];
        break;
      case RECEIVE:
        result = post_receive(graph, subject(graph, base, operand), now_s);
        __attribute__((fallthrough));
      default: {
        double date_s = awaited_s(&graph->posted[base + operand], code, number);
        waits = date_s == INFINITY;
        if (!waits)
          now_s = later(now_s, date_s);
      }
    }
    if (waits || result != DONE)
      break;
  }
  /* Prefetches the data of the rank's next steps: they would arrive late from main memory. */
  int64_t end = i + AHEAD < stop ? i + AHEAD : stop;
  for (int64_t ahead = i + 1; ahead < end; ahead++)
    FETCH(graph->posted, base + step_operand(step_of[ahead]));
  FETCH(step_of, i + 20);
  rank->at = i;
  rank->clock_s = now_s;
  return result;
}

/* Counts a rank that has finished a copy of the loop; when all have, the row of its messages is free again. */
static void leave(Graph *graph, int64_t copy)
{
  int64_t row = copy & (graph->window - 1);
  if (++graph->left[row] < graph->input.ranks)
    return;
  graph->left[row] = 0;
  graph->oldest++;
  int64_t from = room_row(graph, copy);
  room_clear(graph, from, from + graph->input.messages - graph->fixed);
}

/* Moves a rank to the next copy of its loop, or past the loop.  Returns DONE or NO_MEMORY. */
static int go_on(Graph *graph, int32_t number)
{
  Rank *rank = &graph->rank[number];
  const Parts *parts = &graph->parts[number];
  if (rank->copy >= 0)
    leave(graph, rank->copy);
  rank->copy++;
  if (graph->may_end > 0 && repeats_note(graph, number) != DONE)
    return NO_MEMORY;
  if (rank->copy >= graph->copies) {
    rank->at = parts->loop_last;
    rank->stop = parts->last;
    rank->base = 0;
    return DONE;
  }
  if (rank->copy == graph->oldest + graph->window && room_for_copies(graph) != DONE)
    return NO_MEMORY;
  rank->at = parts->loop_first;
  rank->stop = parts->loop_last;
  rank->base = (int32_t)(room_row(graph, rank->copy) - graph->fixed);
  return DONE;
}

int ranks_run(Graph *graph)
{
  int result = DONE;
  while (graph->woken_count > 0 && result == DONE) {
    int32_t number = graph->woken[--graph->woken_count];
    const Rank *rank = &graph->rank[number];
    result = run(graph, number);
    while (result == DONE && rank->at == rank->stop && rank->copy < graph->copies) {
      result = go_on(graph, number);
      if (result == DONE)
        result = run(graph, number);
    }
  }
  return result;
}

/* Matches an open receive with a message.  Returns DONE, NO_MEMORY or BAD_INPUT. */
static int meet(Graph *graph, int32_t receive, int32_t sent, double now_s)
{
  Posted *posted = &graph->posted[sent];
  int32_t waiting = graph->posted[receive].receiver;
  int result = post_receive(graph, subject(graph, 0, (uint32_t)sent), now_s);
  if (waiting == NOBODY)
    return result;
  if (posted->done_s != NEVER)
    ranks_wake(graph, waiting, now_s);
  else
    posted->receiver = waiting;
  return result;
}

static int send(Graph *graph, int32_t rank, int32_t number, double now_s)
{
  int role = choices_role(graph, number);
  if (role == ROLE_REPLY && !choices_address(graph, rank, number))
    return BAD_INPUT;
  int result = post_send(graph, subject(graph, graph->rank[rank].base, (uint32_t)number), now_s);
  if (result != DONE || (role != ROLE_SEND && role != ROLE_REPLY))
    return result;
  int32_t receive = choices_sent(graph, number);
  return receive == NOTHING ? DONE : meet(graph, receive, number, now_s);
}

static int receive(Graph *graph, int32_t rank, int32_t number, double now_s)
{
  int role = choices_role(graph, number);
  if (role != ROLE_RECEIVE && role != ROLE_ANY)
    return post_receive(graph, subject(graph, graph->rank[rank].base, (uint32_t)graph->alias[number]), now_s);
  Posted *posted = &graph->posted[number];
  if (posted->received_s != NEVER || (role == ROLE_ANY && graph->choosing.any[rank] != NOTHING))
    return BAD_INPUT;
  posted->received_s = now_s;
  int32_t sent = choices_received(graph, rank, number);
  return sent == NOTHING ? DONE : meet(graph, number, sent, now_s);
}

/* Returns the message that a receive has taken; if none yet, registers the rank as waiting and returns NOTHING. */
static int32_t received_as(Graph *graph, int32_t rank, int32_t number)
{
  int role = choices_role(graph, number);
  if (role != ROLE_RECEIVE && role != ROLE_ANY)
    return graph->alias[number];
  if (graph->input.took[number] == NOTHING)
    graph->posted[number].receiver = rank;
  return graph->input.took[number];
}

int ranks_act(Graph *graph, int32_t number, double now_s)
{
  Rank *rank = &graph->rank[number];
  rank->clock_s = now_s;
  while (true) {
    while (rank->at == rank->stop) {
      if (rank->copy == graph->copies)
        return DONE;
      int result = go_on(graph, number);
      if (result != DONE)
        return result;
    }
    uint32_t step = graph->step_of[rank->at], operand = step_operand(step);
    int code = step_code(step), result = DONE;
    switch (code) {
      case POLL:
        if (polls_begin(graph, number, operand))
          return DONE;
        rank->at += graph->input.skip[operand];
        continue;
      case BACK:
        rank->at -= operand;
        continue;
      case MARK:
        result = mark(graph, number, now_s);
        rank->at++;
        if (result != DONE)
          return result;
        continue;
      case COMPUTE:
      case SLEEP: {
        double takes_s = graph->value[operand] / (code == COMPUTE ? 1 / rank->s_per_flop : 1.0);
        rank->at++;
        if (takes_s <= 0.0)
          continue;
        polls_pause(graph, number, takes_s, code == SLEEP);
        return DONE;
      }
      case SEND:
        result = send(graph, number, (int32_t)operand, now_s);
        break;
      case RECV:
        result = receive(graph, number, (int32_t)operand, now_s);
        break;
      default: {
        int32_t awaited = code == WAIT_SENT ? (int32_t)operand : received_as(graph, number, (int32_t)operand);
        if (awaited == NOTHING || awaited_s(&graph->posted[rank->base + awaited], code, number) == INFINITY)
          return DONE;
      }
    }
    rank->at++;
    polls_queue(graph, number);
    return result;
  }
}

void ranks_arrive(Graph *graph, int32_t place, double now_s)
{
  Posted *posted = &graph->posted[place];
  posted->done_s = now_s;
  if (place < graph->input.dated && place < graph->fixed)
    graph->input.done_s[place] = now_s;
  if (posted->sender >= 0)
    ranks_wake(graph, posted->sender, now_s);
  if (posted->receiver >= 0)
    ranks_wake(graph, posted->receiver, now_s);
}
