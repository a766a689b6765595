/* The times at which a link passes on packets; they are computed, so a router that wakes up late adds up no error. */
#pragma once
#include <stdbool.h>

typedef struct Turns Turns;

typedef struct {
  char name[160];
  double rate;    /* bit/s */
  double delay;   /* s, one way */
  double free_at; /* s: the end of what it has to send so far */
  double most_waiting; /* bytes */
  long packets, dropped;
  Turns *turns;   /* NULL: packets are served first come, first served */
} Link;

/* The times, s, at which the first and the last bit of a packet reach the end of what it has crossed so far. */
typedef struct {
  double first, last;
} Span;

/* Sends a packet over the link, behind all packets that came before; returns false if it would have to wait behind more
 * than `queue` bytes, and is dropped.  The link begins with a packet when its first bit is there (cut-through), and
 * works on it for bits / rate; its last bit leaves after that, and not before it has come. */
bool fifo_carry(Link *link, Span *span, int bytes, double queue);

/* Sends a packet whose turn it is. */
void fifo_pass(Link *link, Span *span, int bytes);
