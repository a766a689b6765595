/* The evaluation of a graph: its input, and its functions.
 *
 * predictor/dpgraph/fluid.py calls the functions and declares the same structures. */
#ifndef PREDICTOR_DPGRAPH_GRAPH_H
#define PREDICTOR_DPGRAPH_GRAPH_H

#include <stdint.h>

enum { COMPUTE, SEND, RECV, WAIT_SENT, WAIT_RECEIVED, PROBE, MARK, SLEEP, POLL, BACK }; /* predictor/dpgraph/instructions.py */

/* Which side of a message completes a polled operation, and the kinds of polls. */
enum { SIDE_SENT, SIDE_RECEIVED, SIDE_FOUND };
enum { POLL_EACH, POLL_ANY, POLL_FOR, POLL_AGAIN };
enum { TESTS, ANY_TESTS, PROBES, COUNTERS }; /* Counter */

/* Messages matched during the evaluation: Choices of predictor/dpgraph/instructions.py. */
enum { ROLE_NONE, ROLE_SEND, ROLE_REPLY, ROLE_RECEIVE, ROLE_ANY };

/* Results of functions; predictor/native/library.py turns those below zero into exceptions. */
enum { DONE = 0, MORE = 1, NO_MEMORY = -1, BAD_INPUT = -2 };

/* A message kind: MESSAGE of predictor/dpgraph/instructions.py. */
typedef struct {
  double amount_bytes, latency_s, factor;
  int32_t path;
  uint8_t detached, eager;
} Message;

typedef struct {
  int64_t ranks, instructions, messages, kinds, paths, crossings, links, marks, dated, polls, wanted;
  int64_t open, pairs, parties;
  const uint8_t *code; /* by instruction; see Instructions of predictor/dpgraph/instructions.py */
  const int32_t *argument;
  const double *value;
  const int64_t *first;
  const int64_t *loop_first, *loop_last; /* by rank: the repeated instructions */
  int32_t *kind;                         /* by message: the index of its kind; the evaluation writes those of replies */
  const Message *message;                /* by kind */
  const double *bound_Bps; /* by path; see Paths of predictor/dpgraph/instructions.py */
  const double *penalty;
  const int64_t *path_first;
  const int32_t *link; /* by crossing of a link by a path */
  const double *weight;
  const double *capacity_Bps;
  const double *s_per_flop; /* by rank */
  const uint8_t *style;     /* by poll: Style; see Looks of predictor/dpgraph/instructions.py */
  const int32_t *need, *skip;
  const int64_t *poll_first;
  const int32_t *want;      /* by wanted operation: its message times 4, plus Side */
  const uint8_t *expected;  /* by wanted operation: 1 if it was complete in the recording when the poll ended */
  const double *poll_s;     /* by Counter: duration of the first poll, s */
  const int64_t *grows;     /* 1: each failed poll makes the next one longer */
  const uint8_t *role;      /* by message, for the first `open` ones: Role; see Choices of instructions.py */
  const int32_t *pair_of, *asked;
  const int64_t *pair;      /* in ascending order: source x ranks + target */
  const int64_t *reply_first;
  const int32_t *label;     /* by rank, if any message is open */
  int32_t *took;            /* by receive, for the first `open` messages: the message it received; -1: none */
  double *marks_s;          /* ranks x marks */
  double *end_s;            /* by rank */
  double *done_s;           /* by message, for the first `dated` ones outside loops: arrival date */
  int64_t *other;           /* number of polls whose result differs from the recording */
} Input;

typedef struct Graph Graph;

/* Begins an evaluation; *made is NULL unless it returns DONE.  The input must stay valid until graph_close().
 *
 * The loops are executed `copies` times.  Messages numbered `fixed` and above belong to the loops: each copy has a set
 * of its own and waits for all of them.  If `may_end` > 0, they end after as many copies or more, as soon as these are
 * known to repeat.  A link that at least `hub_paths` paths cross is a hub (predictor/bundles). */
int graph_open(const Input *input, int64_t copies, int64_t fixed, int64_t may_end, int64_t hub_paths, Graph **made);

/* Advances the evaluation until about `rates` flow rates have been computed.  Returns MORE if events remain, else DONE,
   with all results written. */
int graph_run(Graph *graph, int64_t rates);

/* Returns how many copies of the loops were executed, at most INT_MAX. */
int graph_copies(const Graph *graph);

/* Returns the rank that has begun the copies before all others, where the loops have ended early.  All further copies
   would have taken as long as its last one. */
int graph_leader(const Graph *graph);

/* Frees an evaluation; `graph` may be NULL.  Returns DONE. */
int graph_close(Graph *graph);

#endif
