/* A link that serves its flows in turn, as the queues of Linux do (fq, fq_codel): each flow gets the same share of the
 * rate, and a packet of a flow that sends little does not wait behind those of the others. */
#pragma once
#include "events.h"
#include "fifo.h"

enum { FLOWS = 17 * 17 }; /* from each node to each node */

struct Turns {
  Events waiting;       /* packets by the byte at which they are due in a link that serves all flows at once */
  double begun;         /* that byte of the packet in service */
  double ends[FLOWS];   /* and of the end of each flow's last packet */
  double waiting_bytes;
  bool busy;            /* a turn is to come */
};

/* Puts a packet into the queue; returns false if more than `queue` bytes would wait, or there is no memory. */
bool turns_join(Link *link, int flow, int bytes, double queue, void *packet);

/* Returns the packet whose turn it is, or NULL. */
void *turns_next(Link *link);
