/* The state of an evaluation.
 *
 * A message begins when both its send and its receive are posted (an eager message when its send is posted).  It is
 * delayed by its latency and is then a flow in a slot: it crosses links and progresses at `factor` times the rate that
 * the links give it.
 *
 * Data that are used together lie together, because most of the time of an evaluation goes into fetching them. */
#ifndef PREDICTOR_DPGRAPH_STATE_H
#define PREDICTOR_DPGRAPH_STATE_H

#include <stdbool.h>
#include <stddef.h>

#include "graph.h"

#define SLACK (1 + 1e-9) /* relative: tolerance for the rounding of sums of bounds */
#define SAME 1e-12       /* relative: rates that differ by less are equal */
#define NEVER (-1.0)     /* date of an event that has not happened */
#define PRECISION_S 1e-9 /* events at most this far apart are simultaneous: PRECISION_S of fluid.py */
#define NOBODY (-1)      /* instead of a rank */
#define NOTHING (-1)     /* instead of a slot or an index */

typedef struct {
  double clock_s; /* date that the rank has reached */
  double s_per_flop;
  int64_t at, stop; /* next step, and the end of this part of the steps */
  int64_t copy;     /* of the loop; -1 before it, `copies` behind it */
  int64_t marked;   /* number of marks so far */
  int32_t base;     /* place of a message of this part, less its number */
} Rank;

/* The steps of a rank: the loop is from `loop_first` to `loop_last`. */
typedef struct {
  int64_t loop_first, loop_last, last;
} Parts;

/* A message between its first and its last use. */
typedef struct {
  double sent_s;     /* date at which the send was posted */
  double received_s; /* date at which the receive was posted */
  double done_s;     /* date at which the message arrived */
  int32_t sender;    /* rank that waits until the message is sent; NOBODY */
  int32_t receiver;  /* rank that waits until the message arrives; -2 - rank if that rank probes for it; NOBODY */
} Posted;

typedef struct Bundle Bundle; /* predictor/bundles */

typedef struct {
  double demand;    /* sum over its flows of the most that they use */
  double limit;     /* the capacity, with tolerance */
  int64_t seen;     /* step in which the link was last reached */
  int32_t head;     /* entry of its latest flow; NOTHING: none */
  double shares;    /* sum over its flows of weight / penalty; of others than hubs, as all that predictor/bundles needs: */
  double alarm_share; /* share of a bundle from which on its flows may overrun the link: the latest that was noted */
  int32_t alarm_bundle, alarm_epoch, flows, members; /* its bundle; flows, and of them those in a bundle */
  bool tight;       /* it took part in the latest solution; so after each date if its flows could exceed its capacity */
  bool hub;         /* many paths cross it */
  double capacity;
  double remaining; /* capacity that the solution has not assigned yet */
  double usage;     /* sum over its flows without a rate of weight / penalty */
} Link;

/* A link on a path. */
typedef struct {
  Link *link;
  double weight; /* capacity that a flow uses, per rate */
  double amount; /* weight * bound: the most that a flow uses */
  double share;  /* weight / penalty */
} Crossing;

typedef struct {
  double bound_Bps, penalty;
  double wish; /* bound * penalty */
  Crossing *crossing;
  int32_t crossings;
  int32_t bundle; /* of its flows that nothing but hubs limits; NOTHING: each is on its own */
} Path;

/* Entry slot * width + k of the links' lists: the flow of the slot, on the k-th link of its path. */
typedef struct {
  int32_t before, after; /* entries; NOTHING: none */
  int32_t slot;
} Entry;

typedef struct {
  double remaining; /* bytes that remain at the date `since_s` */
  double since_s;   /* date of the latest change of the rate */
  double rate;      /* -1 while the solution has not found it */
  double factor;    /* progress per rate */
  const Path *path;
  int64_t seen; /* step in which the flow was last reached */
  int32_t message; /* its place */
  int32_t place; /* in the heap of ends, or in that of its bundle; NOTHING: not there */
  int32_t bundle; /* that it is in; NOTHING: it has its own rate */
} Flow;

typedef struct {
  double date_s;
  int32_t what; /* the place of a message that starts, or the slot of a flow that ends */
  int32_t kind; /* of a message that starts */
} Event;

/* A rank that pauses until a date: it looks for messages, sleeps or computes. */
typedef struct {
  double date_s;
  int64_t turn; /* among those of the same date */
  int32_t rank;
  bool asleep;
} Pause;

/* The looking of a rank (looks.h). */
typedef struct {
  int64_t want; /* index of the operation that it looks at */
  enum { NOT_LOOKING, LOOKS, KNOWS } state;
  bool found;
} Looking;

/* Events as a binary heap by date. */
typedef struct {
  Event *event;
  int64_t size;
} Heap;

typedef struct {
  int32_t slot;
  double before_Bps; /* the flow's rate before the change */
} Changed;

/* A list of messages, by the first and the last; NOTHING: it is empty. */
typedef struct {
  int32_t head, tail;
} Queue;

/* The messages whose ends are not known beforehand (choices.h). */
typedef struct {
  int64_t labels;
  Queue *sent;     /* by target and label of the source: messages that nobody has received, in the order of their sends */
  Queue *of_pair;  /* by pair: the same messages, then by pair: receives of this source that wait for a message */
  int32_t *before, *after; /* by message: its neighbours in `sent` */
  int32_t *next;           /* by message or receive: the next one of the pair */
  int32_t *pair;           /* by message: its pair */
  int64_t *turn;           /* by message: its place in the order of all sends */
  int64_t turns;
  int32_t *any;    /* by rank: the receive from any that waits; NOTHING */
  int32_t *latest; /* by rank: the source of the latest receive from any; NOBODY */
} Choosing;

struct Graph {
  Input input;
  uint32_t *step_of; /* the instructions as steps (steps.h), and the values of those that have one */
  double *value;
  Parts *parts; /* by rank */
  int64_t copies, fixed; /* of the loops; messages outside of them */
  /* By place: the messages outside of loops, then those of the copies from `oldest` on, of which each has a row.  The row
   * of copy c is number c modulo `window`. */
  Posted *posted;
  int64_t oldest, window;
  int64_t *left; /* by row: ranks that have left the copy */
  Rank *rank;
  int32_t *woken; /* stack of the ranks that can go on */
  int64_t woken_count;
  Path *path;
  Crossing *crossing;
  Link *link;
  int64_t width;       /* most links of a path */
  Heap starts, ends;   /* messages that are delayed by their latency; flows by the date of their end */
  int64_t starts_room; /* for this many events */
  Flow *flow;          /* by slot, as the heap of ends, free and changed */
  Entry *entry;
  int64_t slots;      /* for which there is room */
  int64_t used_slots; /* slots from this one on have never had a flow */
  Bundle *bundle;     /* of which bundle i is in slot i as if it were a flow */
  int64_t bundles;
  Crossing *bundled;  /* the crossings of all bundles, and those of one flow of each */
  int32_t *free;      /* stack of the slots below used_slots without a flow */
  int64_t free_count;
  /* The flows and links that the events of one date concern. */
  /* Where ranks look for messages (looks.h). */
  double now_s;
  Pause *pause; /* binary heap by date and turn, with room for one of each rank */
  int64_t pauses;
  Pause *begun; /* those that begin at this date */
  int64_t begun_count;
  int32_t *queue, *next; /* ranks that act at this date, in their order; and once more */
  int64_t queued;        /* in `next` */
  Looking *looking;      /* by rank */
  int32_t *alias;      /* by message: the one that is received in its place */
  bool *differs;       /* by look: it finds another operation than in the recording */
  uint8_t *taken;      /* by message: bits 1 << Side of the operations that looks have completed */
  int64_t count[COUNTERS]; /* a look takes so many times the time of the first one: SimGrid's ranks share the counters */
  Choosing choosing;
  int64_t turns, vain; /* vain: looks in vain since a rank went on */
  int64_t step;     /* number of the date */
  Changed *changed; /* flows whose rates may change */
  int64_t changed_count;
  Link **reached;   /* links that limit these flows, or did so before */
  int64_t reached_count;
  bool crowded; /* a flow that started crosses a link that limits its flows now or did so before */
};

#endif
