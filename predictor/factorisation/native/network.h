/* The ranks, and the messages between them.
 *
 * A message below the eager size is on its way as soon as it is sent.  One below the detached size waits for its
 * receive, but its sender goes on; the sender of a larger one waits until it has arrived.  The largest share the links of
 * nodes, and the memory of a node, in equal parts. */
#ifndef PREDICTOR_FACTORISATION_NETWORK_H
#define PREDICTOR_FACTORISATION_NETWORK_H

#include "clock.h"
#include "factorisation.h"

typedef struct {
  int64_t partner, key; /* partner -1: there is none */
  double bytes, at;
} Post;

typedef struct {
  int64_t source, key;
  double arrival, seen, bytes; /* a look finds it from `seen` on */
  double after_s;              /* from its receive on, if it has waited for it */
} Letter;

typedef struct {
  double left, rate, bound, since, ends, latency_s; /* of the large message that this rank sends */
  int64_t to;
  int64_t leaving, entering; /* its places in the lists of nodes */
} Flow;

typedef struct {
  Post send, receive, poll; /* of a poll, `bytes` is the time of a chunk of work and `at` its beginning */
  int64_t pending;          /* sends and receives that it waits for */
  double until;             /* it goes on then, once nothing is pending */
  bool waits;
  Letter *letter;           /* messages that it has not received yet and whose sender has gone on */
  int64_t letters, room;
  Flow flow;
} Rank;

typedef struct {
  int64_t *rank; /* senders */
  int64_t count;
} List;

/* The ranks of a process column that factorise a panel, as they arrive. */
typedef struct {
  double *time, *next, *cost;
  int64_t arrived;
} Column;

typedef struct {
  const Problem *problem;
  Clock *clock;
  Rank *rank;
  Column *column;
  int64_t nodes;
  List *leaving, *entering, *within; /* large messages by node */
  bool lacks_memory;
} World;

int world_open(World *world, const Problem *problem, Body *body);
void world_close(World *world);

/* Returns the time of so many bytes on a curve, and its part that does not depend on them. */
double curve_s(const Problem *problem, int curve, double bytes, double *base_s);

/* Begin to send and to receive, and wait for both; the calls are those of rank `me`. */
void post_send(World *world, int64_t me, int64_t to, int64_t key, double bytes);
void post_receive(World *world, int64_t me, int64_t from, int64_t key);
void complete(World *world, int64_t me);

/* Computes for so many seconds. */
void work(World *world, int64_t me, double seconds);

/* Computes in chunks, looking for a message between them; returns the number of chunks done when it is there, or all. */
int64_t work_until_message(World *world, int64_t me, int64_t from, int64_t key, double chunk_s, int64_t chunks);

/* Returns whether a look finds a message. */
bool is_there(const World *world, int64_t me, int64_t from, int64_t key);

static inline double larger(double a, double b) { return b > a ? b : a; }
static inline double smaller(double a, double b) { return b < a ? b : a; }

static inline int wire_between(const Problem *problem, int64_t a, int64_t b)
{
  return problem->node[a] == problem->node[b] ? WITHIN : BETWEEN;
}

#endif
