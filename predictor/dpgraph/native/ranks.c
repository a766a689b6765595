#include "ranks.h"

#include <math.h>

#include "room.h"
#include "starts.h"

enum { AHEAD = 6 }; /* instructions */

static inline double later(double a, double b)
{
  return b > a ? b : a;
}

/* Starts a message at this date.  Returns DONE or NO_MEMORY. */
static int start(Graph *graph, int32_t number, double date_s)
{
  if (graph->starts.size == graph->starts_room && room_for_starts(graph) != DONE)
    return NO_MEMORY;
  starts_push(&graph->starts, date_s, number);
  return DONE;
}

/* Posts the send of a message: starts it if it need not wait for its receive, and wakes a rank that probes for it. */
static int post_send(Graph *graph, int32_t number, double now_s)
{
  Message *message = &graph->input.message[number];
  if (message->sent_s != NEVER)
    return BAD_INPUT;
  message->sent_s = now_s;
  int result = DONE;
  if (message->eager)
    result = start(graph, number, now_s + message->latency_s);
  else if (message->received_s != NEVER)
    result = start(graph, number, later(now_s, message->received_s) + message->latency_s);
  if (message->receiver < NOBODY) {
    int32_t prober = -2 - message->receiver;
    message->receiver = NOBODY;
    ranks_wake(graph, prober, now_s);
  }
  return result;
}

/* Posts the receive of a message; starts it if it has waited for its receive. */
static int post_receive(Graph *graph, int32_t number, double now_s)
{
  Message *message = &graph->input.message[number];
  if (message->received_s != NEVER)
    return BAD_INPUT;
  message->received_s = now_s;
  if (message->sent_s != NEVER && !message->eager)
    return start(graph, number, later(message->sent_s, now_s) + message->latency_s);
  return DONE;
}

/* Returns the date that a rank waits for; if it is not known, notes that the rank waits and returns infinity. */
static inline double awaited_s(Message *message, int code, int32_t rank)
{
  if (code == WAIT_RECEIVED) {
    if (message->done_s == NEVER) {
      message->receiver = rank;
      return INFINITY;
    }
    return message->done_s;
  }
  if (code == WAIT_SENT) {
    if (message->detached)
      return -INFINITY;
    if (message->done_s == NEVER) {
      message->sender = rank;
      return INFINITY;
    }
    return message->done_s;
  }
  if (message->sent_s != NEVER)
    return message->sent_s;
  message->receiver = -2 - rank;
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

/* Asks for memory before it is used; any address will do.  A macro, because GCC drops a function that does only this. */
#define FETCH(array, index) \
  __builtin_prefetch((const void *)((uintptr_t)(array) + (uintptr_t)(index) * sizeof *(array)))

/* Executes the instructions of a rank until it waits or ends. */
static int run(Graph *graph, int32_t number)
{
  const Input *input = &graph->input;
  Rank *rank = &graph->rank[number];
  int64_t i = rank->at, last = rank->last;
  double now_s = rank->clock_s, s_per_flop = rank->s_per_flop;
  int result = DONE;
  bool waits = false;
  for (; i < last; i++) {
    int code = input->code[i];
    int32_t m = input->argument[i];
    switch (code) {
      case COMPUTE:
        now_s += input->value[i] * s_per_flop;
        break;
      case SEND:
        result = post_send(graph, m, now_s);
        break;
      case RECV:
        result = post_receive(graph, m, now_s);
        break;
      case MARK:
        result = mark(graph, number, now_s);
        break;
      case SLEEP:
        now_s += input->value[i];
        break;
      default: {
        double date_s = awaited_s(&input->message[m], code, number);
        waits = date_s == INFINITY;
        if (!waits)
          now_s = later(now_s, date_s);
      }
    }
    if (waits || result != DONE)
      break;
  }
  /* The rank goes on with this, which would else come late from slow memory. */
  int64_t end = i + AHEAD < last ? i + AHEAD : last;
  for (int64_t ahead = i + 1; ahead < end; ahead++)
    FETCH(input->message, input->argument[ahead]);
  FETCH(input->code, i + 64);
  FETCH(input->argument, i + 20);
  FETCH(input->value, i + 16);
  rank->at = i;
  rank->clock_s = now_s;
  return result;
}

int ranks_run(Graph *graph)
{
  int result = DONE;
  while (graph->woken_count > 0 && result == DONE)
    result = run(graph, graph->woken[--graph->woken_count]);
  return result;
}

void ranks_arrive(Graph *graph, int32_t number, double now_s)
{
  Message *message = &graph->input.message[number];
  message->done_s = now_s;
  if (message->sender >= 0)
    ranks_wake(graph, message->sender, now_s);
  if (message->receiver >= 0)
    ranks_wake(graph, message->receiver, now_s);
}
