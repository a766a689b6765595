/* A link that serves its flows in turn, like the queues of Linux (fq, fq_codel): each flow gets the same share of the
 * rate, and a packet of a flow that sends little does not wait behind those of other flows. */
#pragma once

#include <stdbool.h>

/* A queue of packets, ordered by the times of their next events. */
typedef struct {
  double time;
  unsigned long order; /* of two simultaneous events, the older comes first */
  void *what;
} Event;

typedef struct {
  Event *heap;
  long size, room;
  unsigned long order;
} Events;

bool events_add(Events *events, double time, void *what); /* false: no memory */
Event events_take(Events *events);                         /* the first one; there must be one */

/* The times at which a link forwards packets.  They are computed, so a router that wakes up late does not accumulate
 * errors. */
typedef struct Turns Turns;

typedef struct {
  char name[160];
  double rate;    /* bit/s */
  double delay;   /* s, one way */
  double free_at; /* s: end of the transmissions so far */
  double most_waiting; /* bytes */
  long packets, dropped;
  Turns *turns;   /* NULL: packets are served first come, first served */
} Link;

/* The times, s, at which the first and the last bit of a packet leave the links crossed so far. */
typedef struct {
  double first, last;
} Span;

/* Sends a packet over the link after all earlier packets; returns false if it would wait behind more than `queue` bytes
 * and is dropped.  Transmission begins when the packet's first bit arrives (cut-through) and takes bits / rate; the
 * last bit leaves after that, but not before it has arrived. */
bool fifo_carry(Link *link, Span *span, int bytes, double queue);

/* Sends a packet whose turn it is. */
void fifo_pass(Link *link, Span *span, int bytes);

enum { FLOWS = 17 * 17 }; /* from each node to each node */

struct Turns {
  Events waiting;       /* packets by virtual finish time, in bytes of a link that serves all flows at once */
  double begun;         /* virtual time of the packet in service */
  double ends[FLOWS];   /* virtual end of each flow's last packet */
  double waiting_bytes;
  bool busy;            /* a turn is scheduled */
};

/* Queues a packet; returns false if more than `queue` bytes would wait, or memory runs out. */
bool turns_join(Link *link, int flow, int bytes, double queue, void *packet);

/* Returns the packet whose turn it is, or NULL. */
void *turns_next(Link *link);
