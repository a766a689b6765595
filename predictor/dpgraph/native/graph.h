/* The evaluation of a graph: its input, and its functions.
 *
 * predictor/dpgraph/fluid.py calls the functions and declares the same structures. */
#ifndef PREDICTOR_DPGRAPH_GRAPH_H
#define PREDICTOR_DPGRAPH_GRAPH_H

#include <stdint.h>

enum { COMPUTE, SEND, RECV, WAIT_SENT, WAIT_RECEIVED, PROBE, MARK, SLEEP, LOOK, BACK }; /* predictor/dpgraph/instructions.py */

/* How an operation of a look is complete, and how a look is made. */
enum { SIDE_SENT, SIDE_RECEIVED, SIDE_FOUND };
enum { LOOK_EACH, LOOK_ANY, LOOK_FOR, LOOK_AGAIN };
enum { TESTS, ANY_TESTS, PROBES, COUNTERS }; /* Counter */

/* Messages whose two ends are found during the evaluation: Choices of predictor/dpgraph/instructions.py. */
enum { ROLE_NONE, ROLE_SEND, ROLE_REPLY, ROLE_RECEIVE, ROLE_ANY };

/* The results of functions; predictor/native/library.py makes exceptions of those below zero. */
enum { DONE = 0, MORE = 1, NO_MEMORY = -1, BAD_INPUT = -2 };

/* A kind of messages: MESSAGE of predictor/dpgraph/instructions.py. */
typedef struct {
  double amount_bytes, latency_s, factor;
  int32_t path;
  uint8_t detached, eager;
} Message;

typedef struct {
  int64_t ranks, instructions, messages, kinds, paths, crossings, links, marks, dated, looks, wanted;
  int64_t open, pairs, parties;
  const uint8_t *code; /* by instruction; see Instructions of predictor/dpgraph/instructions.py */
  const int32_t *argument;
  const double *value;
  const int64_t *first;
  const int64_t *loop_first, *loop_last; /* by rank: the instructions that are repeated */
  int32_t *kind;                         /* by message: the index of its kind; that of a reply is written */
  const Message *message;                /* by kind */
  const double *bound_Bps; /* by path; see Paths of predictor/dpgraph/instructions.py */
  const double *penalty;
  const int64_t *path_first;
  const int32_t *link; /* by crossing of a link by a path */
  const double *weight;
  const double *capacity_Bps;
  const double *s_per_flop; /* by rank */
  const uint8_t *style;     /* by look: Style; see Looks of predictor/dpgraph/instructions.py */
  const int32_t *need, *skip;
  const int64_t *look_first;
  const int32_t *want;      /* by wanted operation: its message times 4, plus Side */
  const uint8_t *expected;  /* by wanted operation: 1 if the recording has found it when the look is over */
  const double *look_s;     /* by Counter: time of the first look, s */
  const int64_t *grows;     /* 1: a look takes longer after each one in vain */
  const uint8_t *role;      /* by message, for the first `open`: Role; see Choices of predictor/dpgraph/instructions.py */
  const int32_t *pair_of, *asked;
  const int64_t *pair;      /* in ascending order: source x ranks + target */
  const int64_t *reply_first;
  const int32_t *label;     /* by rank, if any message is open */
  int32_t *took;            /* by receive, for the first `open` messages: the message that it took; -1: none */
  double *marks_s;          /* ranks x marks */
  double *end_s;            /* by rank */
  double *done_s;           /* by message, for the first `dated` outside of loops: when it arrives */
  int64_t *other;           /* the number of looks that find other operations than in the recording */
} Input;

typedef struct Graph Graph;

/* Begins an evaluation; *made is NULL unless it returns DONE.  The input has to stay until graph_close().
 *
 * The loops are executed `copies` times.  Messages from number `fixed` on are those of the loops: each copy has its own,
 * and waits for all of them.  A link that at least `hub_paths` paths cross is a hub (predictor/bundles). */
int graph_open(const Input *input, int64_t copies, int64_t fixed, int64_t hub_paths, Graph **made);

/* Evaluates dates until about so many rates of flows have been found; returns MORE if events remain, else DONE, with all
 * results written. */
int graph_run(Graph *graph, int64_t rates);

/* Ends an evaluation, if there is one; returns DONE. */
int graph_close(Graph *graph);

#endif
