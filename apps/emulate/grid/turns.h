/* A link that serves its flows in turn, like the queues of Linux (fq, fq_codel): each flow gets the same share of the
 * rate, and a packet of a flow that sends little does not wait behind those of other flows. */
#pragma once
#include "events.h"
#include "fifo.h"

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
