/* The times at which a link forwards packets.  They are computed, so a router that wakes up late does not accumulate
 * errors. */
#pragma once
#include <stdbool.h>

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
