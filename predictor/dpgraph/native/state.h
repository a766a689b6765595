/* The state of an evaluation.
 *
 * A message begins when both its send and its receive are posted (an eager message when its send is posted).  After its
 * latency it becomes a flow in a slot: it crosses links and progresses at `factor` times the rate of the links.
 *
 * Data used together are stored together, because an evaluation spends most of its time on memory accesses. */
#ifndef PREDICTOR_DPGRAPH_STATE_H
#define PREDICTOR_DPGRAPH_STATE_H

#include <stddef.h>

#include "../../network/native/rates.h"
#include "graph.h"

#define NEVER (-1.0)     /* date of an event that has not happened */
#define PRECISION_S 1e-9 /* events at most this far apart are simultaneous: PRECISION_S of fluid.py */
#define NOBODY (-1)      /* instead of a rank */
#define IN_ORDER (-2)    /* instead of a place in a heap: among the ordered events of a queue */

typedef struct {
  double clock_s; /* date the rank has reached */
  double s_per_flop;
  int64_t at, stop; /* next step, and the end of the current part */
  int64_t copy;     /* of the loop; -1 before it, `copies` after it */
  int64_t marked;   /* number of marks so far */
  int32_t base;     /* place of a message of this part minus its number */
} Rank;

/* The steps of a rank; the loop spans `loop_first` to `loop_last`. */
typedef struct {
  int64_t loop_first, loop_last, last;
} Parts;

/* A message between its first and its last use. */
typedef struct {
  double sent_s;     /* date at which the send was posted */
  double received_s; /* date at which the receive was posted */
  double done_s;     /* date at which the message arrived */
  int32_t sender;    /* rank blocked until the message is sent; NOBODY */
  int32_t receiver;  /* rank blocked until the message arrives; -2 - rank if that rank probes for it; NOBODY */
} Posted;

typedef struct Bundle Bundle; /* predictor/bundles */
typedef struct Repeats Repeats;

typedef struct {
  double date_s;
  int32_t what; /* place of a starting message, or slot of an ending flow */
  int32_t kind; /* of a starting message; turn of an ending flow */
} Event;

/* A rank that pauses until a date: it polls for messages, sleeps or computes. */
typedef struct {
  double date_s;
  int64_t turn; /* order among pauses of the same date */
  int32_t rank;
  bool asleep;
} Pause;

/* The state of a rank's poll (polls.h). */
typedef struct {
  int64_t want; /* index of the operation that it polls at */
  enum { NOT_POLLING, POLLING, POLLED } state;
  bool found;
} Poller;

/* Events as a binary heap by date. */
typedef struct {
  Event *event;
  int64_t size;
} Heap;

/* Events by date.  Those from `first` up to `last` are in order; the others, which were earlier than many of them, are in
   a heap. */
typedef struct {
  Event *event;
  int64_t first, last, room; /* `room` events, in order and in the heap each */
  Heap heap;
} Events;

enum { SOLUTION_FLOWS = 24, SOLUTION_BITS = 9 };

/* The rates of flows on these paths, which tight links connect to no others. */
typedef struct {
  int64_t count;
  const Path *path[SOLUTION_FLOWS];
  double rate[SOLUTION_FLOWS];
} Solution;

/* A list of messages, given by its first and last; NOTHING: it is empty. */
typedef struct {
  int32_t head, tail;
} Queue;

/* Messages that are matched during the evaluation (predictor/bundles). */
typedef struct {
  int64_t labels;
  Queue *sent;     /* by target and label of the source: messages not received yet, in send order */
  Queue *of_pair;  /* by pair: the same messages; then, by pair: receives from this source that wait */
  int32_t *before, *after; /* by message: its neighbours in `sent` */
  int32_t *next;           /* by message or receive: the next one of the pair */
  int32_t *pair;           /* by message: its pair */
  int64_t *turn;           /* by message: its position in the order of all sends */
  int64_t turns;
  int32_t *any;    /* by rank: the pending receive from any source; NOTHING */
  int32_t *latest; /* by rank: the source of the latest receive from any source; NOBODY */
} Choosing;

struct Graph {
  Input input;
  uint32_t *step_of; /* the instructions as steps (steps.h), and their values */
  double *value;
  Parts *parts; /* by rank */
  int64_t copies, fixed; /* of the loops; messages outside of them */
  int64_t may_end; /* after as many copies the loops end as soon as they are known to repeat; 0: never */
  int32_t leader; /* the rank that then begins a copy before all others */
  Repeats *repeats;
  /* By place: the messages outside loops, then one row of messages per copy, from copy `oldest` on.  Copy c has row c
     modulo `window`. */
  Posted *posted;
  int64_t oldest, window;
  int64_t *left; /* by row: number of ranks that have finished the copy */
  Rank *rank;
  int32_t *woken; /* stack of the ranks that can continue */
  int64_t woken_count;
  Path *path;
  Crossing *crossing;
  Link *link;
  int64_t width;       /* largest number of links on a path */
  Events starts, ends; /* messages waiting for their latency to pass; flows by end date */
  Flow *flow;          /* by slot, like `free` and `changed` */
  Entry *entry;
  int64_t slots;      /* allocated slots */
  int64_t used_slots; /* slots from here on have never held a flow */
  Bundle *bundle;     /* bundle i occupies slot i as if it were a flow */
  int64_t bundles;
  Crossing *bundled;  /* crossings of all bundles, and those of one flow of each */
  int32_t *free;      /* stack of the slots below used_slots without a flow */
  int64_t free_count;
  /* The flows and links affected by the events of one date are in `changed` and `reached` below. */
  /* Where ranks poll for messages (polls.h). */
  double now_s;
  Pause *pause; /* binary heap by date and turn, one entry per rank at most */
  int64_t pauses;
  Pause *begun; /* pauses that begin at this date */
  int64_t begun_count;
  int32_t *queue, *next; /* ranks that act in this round, in order; and in the next one */
  int64_t queued;        /* in `next` */
  Poller *poller;      /* by rank */
  int32_t *alias;      /* by message: the one received in its place */
  bool *differs;       /* by poll: its result differs from the recording */
  uint8_t *taken;      /* by message: bits 1 << Side of the operations completed by polls */
  int64_t count[COUNTERS]; /* duration of a poll, in first polls; shared by all ranks, as in SimGrid */
  Choosing choosing;
  int64_t turns, failed_polls; /* failed polls since any rank last progressed */
  int64_t step;     /* number of the date */
  Changed *changed; /* flows whose rates may change */
  int64_t changed_count;
  Link **reached;   /* links that limit these flows, or did before this date */
  int64_t reached_count;
  Solution *solution; /* by hash of the paths */
  bool crowded; /* a new flow crosses a link that limits its flows, now or before this date */
};

/* Programs that poll (polls.h) or receive from any source (predictor/bundles) run in rounds (rounds.h): no rank may run ahead of
   the network's date. */
static inline bool by_date(const Input *input)
{
  return input->polls > 0 || input->open > 0;
}

#endif
