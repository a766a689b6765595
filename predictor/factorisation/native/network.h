/* The ranks, and the messages between them.
 *
 * A message below the eager size starts when it is sent.  One below the detached size waits for its receive, but its
 * sender continues; the sender of a larger one waits until it has arrived.  The largest messages share the links of
 * nodes, and the memory of a node, equally. */
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
  double arrival, seen, bytes; /* a poll finds it from `seen` on */
  double after_s;              /* time after its receive, if it waited for the receive */
} Letter;

typedef struct {
  double left, rate, bound, since, ends, latency_s; /* of the large message sent by this rank */
  int64_t to;
  int64_t leaving, entering; /* its indices in the lists of nodes */
} Flow;

typedef struct {
  Post send, receive, poll; /* in `poll`, `bytes` is the time of a chunk of work and `at` its beginning */
  int64_t pending;          /* number of incomplete sends and receives */
  double until;             /* it continues at this date, if nothing is pending */
  bool waits;
  Letter *letter;           /* messages not received yet whose senders have continued */
  int64_t letters, room;
  Flow flow;
} Rank;

typedef struct {
  int64_t *rank; /* senders */
  int64_t count;
} List;

/* The ranks of a process column that factorise a panel, in order of arrival. */
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

/* Returns the time of a message on a curve; *base_s is the part that does not depend on its size. */
double curve_s(const Problem *problem, int curve, double bytes, double *base_s);

/* Begin to send and to receive, and wait for both; the calls are those of rank `me`. */
void post_send(World *world, int64_t me, int64_t to, int64_t key, double bytes);
void post_receive(World *world, int64_t me, int64_t from, int64_t key);
void complete(World *world, int64_t me);

/* Computes for a number of seconds. */
void work(World *world, int64_t me, double seconds);

/* Computes in chunks and polls for a message between them; returns the number of chunks done when it is found, or
 * all. */
int64_t work_until_message(World *world, int64_t me, int64_t from, int64_t key, double chunk_s, int64_t chunks);

/* Returns whether a poll finds a message. */
bool is_there(const World *world, int64_t me, int64_t from, int64_t key);

static inline double larger(double a, double b) { return b > a ? b : a; }
static inline double smaller(double a, double b) { return b < a ? b : a; }

static inline int wire_between(const Problem *problem, int64_t a, int64_t b)
{
  return problem->node[a] == problem->node[b] ? WITHIN : BETWEEN;
}

#endif
